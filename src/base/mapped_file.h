// Files read through memory maps: bytes come in from the file as they are touched, and can be given
// back. The file must not be cut short while it is mapped (the system would raise SIGBUS).
// Thread-safety: a MappedFile is immutable; release_pages may be called from any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "parallax/result.h"

namespace parallax {

/// A whole regular file, mapped read-only for as long as the object lives.
class MappedFile {
 public:
  /// Follows links. Errors: stage kIo, code kIo with the system's reason, also for what is not a
  /// regular file.
  static Result<std::shared_ptr<MappedFile>> open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes);
  std::span<const std::byte> bytes_;
};

/// Gives the memory of the pages that lie wholly inside `bytes` back to the system; they are read
/// from the file again when touched. Does nothing for bytes that are not of a living MappedFile, so
/// that callers need not know where bytes come from.
void release_pages(std::span<const std::byte> bytes);

}  // namespace parallax
