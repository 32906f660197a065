// Tensors whose bytes lie in files beside the model. A file is opened only if every component of
// its path is a plain name inside the model's folder: no absolute path, no "..", no symbolic link,
// no second hard link, nothing but a regular file. Thread-safety: not thread-safe; one per load.
#pragma once

#include <cstddef>
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

namespace parallax {

class ExternalData {
 public:
  /// `folder` is the model's; empty: every external tensor is refused.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The `size` bytes that `entries` (location, offset, length) point at; each file is mapped once.
  /// Errors: kInvalidModel for entries that contradict themselves, the file or `size`, and for
  /// paths that may leave the folder; kUnsupported where there is no folder; kIo.
  Result<SharedBytes> read(std::span<const OnnxEntry> entries, std::int64_t size);
  /// All that were opened.
  std::vector<NamedFile> files() const;

 private:
  std::filesystem::path folder_;
  std::map<std::vector<std::string>, std::shared_ptr<const MappedFile>> files_;
};

/// The file of that name, which lies inside `folder`. Errors: as ExternalData::read.
Result<std::shared_ptr<const MappedFile>> open_external(const std::filesystem::path& folder,
                                                        std::string_view name);

}  // namespace parallax
