// Tensors whose bytes lie in files beside the model. A file is opened only if every component of
// its path is a plain name inside the model's folder: no absolute path, no "..", no symbolic link,
// no second hard link, nothing but a regular file. Thread-safety: not thread-safe; one per load.
//
// The account of the load grows by the bytes that tensors name, each byte once, and for each file
// by at most what the system stores of it: a file may be far larger than what a model uses of it,
// and sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/shared_bytes.h"
#include "load/onnx/proto.h"
#include "ops/load_budget.h"

namespace parallax {

/// Which bytes of a file tensors name.
class NamedBytes {
 public:
  /// How many of [begin, end) none named before. O(log n) on average.
  std::int64_t add(std::uint64_t begin, std::uint64_t end);

 private:
  std::map<std::uint64_t, std::uint64_t> end_of_;  ///< by begin; apart from each other
};

class ExternalData {
 public:
  /// `folder` is the model's; empty: every external tensor is refused. `budget` outlives this.
  ExternalData(std::filesystem::path folder, LoadBudget& budget)
      : folder_(std::move(folder)), budget_(budget) {}

  /// The `size` bytes that `entries` (location, offset, length) point at; each file is mapped once.
  /// Errors: kInvalidModel for entries that contradict themselves, the file or `size`, and for
  /// paths that may leave the folder; kUnsupported where there is no folder; kIo.
  Result<SharedBytes> read(std::span<const OnnxEntry> entries, std::int64_t size);
  /// All that were opened.
  std::vector<NamedFile> files() const;

 private:
  struct OpenFile {
    std::shared_ptr<const MappedFile> file;
    std::shared_ptr<const void> owner;  ///< of the file, marked as weights
    std::int64_t not_counted = 0;       ///< of the bytes that are stored; holes are not
    NamedBytes named = {};
  };

  std::filesystem::path folder_;
  LoadBudget& budget_;
  std::map<std::vector<std::string>, OpenFile> files_;
};

/// The file of that name, which lies inside `folder`. Errors: as ExternalData::read.
Result<std::shared_ptr<const MappedFile>> open_external(const std::filesystem::path& folder,
                                                        std::string_view name);

}  // namespace parallax
