// A placement that a user pins: the nodes that a delegate runs, as TOML.
//
//     delegate = "opencl"
//     model = 8231      # its structure; other numbers belong to another model
//     [[plans]]
//     sizes = 412       # the model's structure with the sizes of one binding
//     regions = [["conv1", "relu1"], ["softmax"]]
//
// The text grows by plans at its end. Of several plans for the same sizes the last one applies.
//
// Input is not trusted; no text makes the reader crash, hang or allocate without bound.
// Thread-safety: pure functions over text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/result.h"

namespace parallax {

struct PinnedPlans {
  using Regions = std::vector<std::vector<std::string>>;  ///< names of each region's nodes
  std::string delegate;                                   ///< name of the delegate, without options
  std::uint64_t model = 0;
  std::map<std::uint64_t, Regions> plans;  ///< indexed by the hash of the model's structure with
                                           ///< its sizes
};

/// Maximum length of a text in bytes.
inline constexpr std::size_t kMaxPinBytes = std::size_t{16} << 20;

/// Parses a text. `file` is for messages only. Errors: kInvalidInput (stage kPartition), with file
/// and line.
Result<PinnedPlans> parse_pins(std::string_view text, std::string_view file);
/// Returns the start of a text: everything but the plans.
std::string pins_head(const PinnedPlans& plans);
/// Returns a plan to be appended to a text. parse_pins() rejects names that TOML cannot contain.
std::string pins_entry(std::uint64_t sizes, const PinnedPlans::Regions& regions);
/// Returns the position of the last entry if only a part of it was written; text.size() if it is
/// complete.
std::size_t incomplete_pins_entry(std::string_view text);

}  // namespace parallax
