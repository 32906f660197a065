// Classifies refusals of regions; the class decides for how long the CPU runs the region.
// Thread-safety: pure functions, but for RetryPause.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/result.h"

namespace parallax {

/// The scope of a refusal.
enum class Refusal : std::uint8_t {
  kSizes,   ///< one combination of sizes, which bind rejects
  kMoment,  ///< one combination of sizes, for which memory is short: retried after a pause
  kRegion,  ///< the whole region: it does not compile, or a run of it failed
  kDevice,  ///< the whole device, which does not answer
};
inline constexpr std::size_t kRefusals = 4;  ///< number of enumerators of Refusal

/// Classifies an error of bind: kBudgetExceeded is kMoment, kIo and kInternal are kRegion, others
/// are kSizes.
Refusal refusal_of_bind(ErrorCode code);
/// Classifies an error of a run or of its copies: lack of memory is kMoment, others are kRegion.
Refusal refusal_of_run(ErrorCode code);
/// Returns the text that precedes the reason in messages, such as "with some sizes: "; empty for
/// kRegion and kDevice. The text lives as long as the process.
std::string_view scope_of(Refusal refusal);

/// Nodes that a delegate refuses to run.
struct RefusedRegion {
  int delegate = 0;                 ///< Delegation::delegate
  std::vector<std::string> nodes;   ///< names in the model; empty: all nodes
  Refusal kind = Refusal::kRegion;  ///< the scope; decides for how long the CPU runs the nodes
  std::string why;                  ///< text of the error, for reports
};

/// Decides when to retry after a lack of memory: after kFirst runs, and after twice as many each
/// time that it fails again within as many runs, so that a lasting shortage costs one failure in
/// kLongest runs. Counts runs, not time. Thread-compatible.
class RetryPause {
 public:
  static constexpr int kFirst = 16, kLongest = 1024;  ///< runs

  /// Starts a pause, after a failure.
  void begin() {
    pause_ = since_ < pause_ ? std::min(2 * pause_, kLongest) : kFirst;
    left_ = pause_;
    since_ = 0;
  }
  /// Returns whether the CPU still runs the region.
  bool is_on() const { return left_ > 0; }
  /// Counts a run. Returns true if a pause ends with it: the next run may try again.
  bool count() {
    if (is_on()) return --left_ == 0;
    since_ = std::min(since_ + 1, kLongest);
    return false;
  }

 private:
  int pause_ = kFirst;    ///< runs of the last pause
  int left_ = 0;          ///< runs that are left of it
  int since_ = kLongest;  ///< runs after it, up to kLongest
};

}  // namespace parallax
