// A placement that a user keeps: which nodes a delegate runs, as TOML.
//
//     delegate = "opencl"
//     model = 8231      # its structure; other numbers belong to another model
//     [[plans]]
//     sizes = 412       # the model's structure with the sizes of one binding
//     regions = [["conv1", "relu1"], ["softmax"]]
//
// Files may hold anything; nothing in them makes the reader crash, hang or allocate without bound.
// Thread-safety: pure functions over text and files.
#pragma once

#include <cstdint>
#include <filesystem>
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

/// `file` is for messages only. Errors: stage kPartition, code kInvalidInput, with file and line.
Result<PinnedPlans> parse_pins(std::string_view text, std::string_view file);
/// Errors: kInvalidInput for a name that TOML cannot hold.
Result<std::string> pins_text(const PinnedPlans& plans);

/// Errors: kIo too.
Result<PinnedPlans> load_pins(const std::filesystem::path& path);
Status save_pins(const std::filesystem::path& path, const PinnedPlans& plans);

}  // namespace parallax
