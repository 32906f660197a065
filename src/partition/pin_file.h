// A placement that a user keeps: which nodes a delegate runs, as TOML.
//
//     delegate = "opencl"
//     model = 8231      # its structure; other numbers belong to another model
//     [[plans]]
//     sizes = 412       # the model's structure with the sizes of one binding
//     regions = [["conv1", "relu1"], ["softmax"]]
//
// The text grows by plans at its end. Of several with the same sizes the last one counts.
//
// Texts may hold anything; nothing in them makes the reader crash, hang or allocate without bound.
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
  std::string delegate;                                   ///< its name, without a text
  std::uint64_t model = 0;
  std::map<std::uint64_t, Regions> plans;  ///< by the model's structure with its sizes
};

/// Longer texts are refused.
inline constexpr std::size_t kMaxPinBytes = std::size_t{16} << 20;

/// `file` is for messages only. Errors: stage kPartition, code kInvalidInput, with file and line.
Result<PinnedPlans> parse_pins(std::string_view text, std::string_view file);
/// The beginning of a text: all but the plans.
std::string pins_head(const PinnedPlans& plans);
/// One more plan for the end of a text. parse_pins() refuses names that TOML cannot hold.
std::string pins_entry(std::uint64_t sizes, const PinnedPlans::Regions& regions);
/// Where the last entry begins if only a part of it was written; text.size() if it is complete.
std::size_t incomplete_pins_entry(std::string_view text);

}  // namespace parallax
