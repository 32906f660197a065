// Files read through memory maps: bytes come in from the file as they are touched, and can be given
// back. The file must not be truncated while it is mapped (the system would raise SIGBUS).
// Thread-safety: a MappedFile is immutable; release_pages may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/files/descriptor.h"
#include "parallax/result.h"

namespace parallax {

/// Changes when a file is written to or replaced, as far as the system can tell: writes within one
/// clock tick, a few milliseconds, leave the same times.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A whole regular file, mapped read-only for as long as the object lives.
class MappedFile {
 public:
  /// Follows links. Errors: stage kIo, code kIo with the system's reason, also for what is not a
  /// regular file; kOutOfMemory where there is no room for the map.
  static Result<std::shared_ptr<MappedFile>> open(const std::filesystem::path& path);
  /// Maps a file that is open for reading; it may be closed afterwards. `path` is its name in
  /// messages. Errors: as open.
  static Result<std::shared_ptr<MappedFile>> map(const Descriptor& file,
                                                 const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  /// The file's identity when it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  explicit MappedFile(const FileIdentity& identity) : identity_(identity) {}
  std::span<const std::byte> bytes_;
  FileIdentity identity_;
};

/// A file and the name that a model has for it.
struct NamedFile {
  std::string name;
  std::shared_ptr<const MappedFile> file;
};

/// The file that a byte comes from, and where it lies there.
struct MappedPlace {
  FileIdentity identity;
  std::span<const std::byte> file;  ///< all of it; lives as long as the MappedFile
  std::int64_t offset = 0;
};
/// Nothing for bytes outside every living MappedFile.
std::optional<MappedPlace> mapped_place(const std::byte* byte);

/// Gives the memory of pages that lie wholly inside `bytes` back to the system, which reads them
/// from the file again when they are touched. Does nothing for bytes outside every living
/// MappedFile, so that callers need not know where bytes come from.
void release_pages(std::span<const std::byte> bytes);

}  // namespace parallax
