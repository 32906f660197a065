// Says what the refusal of a region is about, which decides how long the CPU runs the region.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/result.h"

namespace parallax {

/// The subject of a refusal.
enum class Refusal : std::uint8_t {
  kSizes,   ///< one combination of sizes: bind does not want it
  kMoment,  ///< memory that is short, for one combination of sizes: tried again after a pause
  kRegion,  ///< the region: it does not compile, or a run of it failed
  kDevice,  ///< the device, which does not answer
};
inline constexpr std::size_t kRefusals = 4;

/// Errors of bind. Those that it may not have are the region's.
Refusal refusal_of_bind(ErrorCode code);
/// Errors of a run, copies included.
Refusal refusal_of_run(ErrorCode code);
/// "with some sizes: ", in front of a reason; empty for kRegion and kDevice.
std::string_view scope_of(Refusal refusal);

/// Nodes that a delegate does not run any more.
struct RefusedRegion {
  int delegate = 0;                ///< Delegation::delegate
  std::vector<std::string> nodes;  ///< names in the model; without any, all nodes are meant
  Refusal kind = Refusal::kRegion;
  std::string why;
};

/// Says when to try again what found no memory: after kFirst runs, and after twice as many each
/// time that it fails again within as many, so that of a lasting shortage only one run in kLongest
/// notices. Counts runs, not time. Thread-compatible.
class RetryPause {
 public:
  static constexpr int kFirst = 16, kLongest = 1024;

  void begin() {
    pause_ = since_ < pause_ ? std::min(2 * pause_, kLongest) : kFirst;
    left_ = pause_;
    since_ = 0;
  }
  bool is_on() const { return left_ > 0; }
  /// Counts a run. True if a pause ends with it.
  bool count() {
    if (is_on()) return --left_ == 0;
    since_ = std::min(since_ + 1, kLongest);
    return false;
  }

 private:
  int pause_ = kFirst;    ///< runs of the last pause
  int left_ = 0;          ///< of these
  int since_ = kLongest;  ///< runs after it
};

}  // namespace parallax
