// Files read through memory maps: bytes are read from the file when they are touched, and their
// pages can be released. The file must not be truncated while it is mapped (the system would raise
// SIGBUS). Thread-safety: a MappedFile is immutable; all functions may be called from any thread.
//
// Used for models, their external files and cached weights. Maps are private and read-only; a
// process-wide table of them, under a lock of its own, tells which addresses may be released.
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

/// Identifies the contents of a file. Changes when the file is written to or replaced, but for
/// writes within one clock tick of the system, a few milliseconds, which leave the times unchanged.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;           ///< as in struct stat
  std::int64_t size = 0;                         ///< bytes
  std::int64_t modified_ns = 0, changed_ns = 0;  ///< nanoseconds since 1970
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A whole regular file, mapped read-only while the object lives. An empty file has empty bytes().
class MappedFile {
 public:
  /// Opens and maps the file at `path`, following links. Errors, of stage kFiles: kIo with the
  /// system's reason, also if it is not a regular file; kOutOfMemory if there is no address space
  /// for the map. Never waits: a FIFO is refused. Memory is used only for pages that are touched.
  static Result<std::shared_ptr<MappedFile>> open(const std::filesystem::path& path);
  /// Maps a file that is open for reading; the descriptor may be closed afterwards. `path` names
  /// the file in messages only. Errors: as open.
  static Result<std::shared_ptr<MappedFile>> map(const Descriptor& file,
                                                 const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  /// Unmaps the file: spans into it, and places from mapped_place(), become invalid.
  ~MappedFile();

  /// Returns the contents, page-aligned; valid while this object lives.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Returns the file's identity when it was mapped.
  const FileIdentity& identity() const { return identity_; }

 private:
  /// map() sets the bytes after a successful mmap().
  explicit MappedFile(const FileIdentity& identity) : identity_(identity) {}
  std::span<const std::byte> bytes_;
  FileIdentity identity_;
};

/// A mapped file and the name that a model uses for it. `file` keeps the map alive.
struct NamedFile {
  std::string name;  ///< a path relative to the model's folder, as the model has it
  std::shared_ptr<const MappedFile> file;
};

/// The file that a byte comes from, and the byte's offset in it. Identifies weights by file and
/// offset, whatever their address.
struct MappedPlace {
  FileIdentity identity;
  std::span<const std::byte> file;  ///< the whole file; valid while the MappedFile lives
  std::int64_t offset = 0;          ///< bytes from the start of the file
};
/// Returns the place of `byte`; nullopt if it is outside every existing MappedFile. O(log n) in the
/// number of maps, under their lock.
std::optional<MappedPlace> mapped_place(const std::byte* byte);

/// Releases the memory of pages that are entirely inside `bytes`; the system reads them from the
/// file again when they are touched. Does nothing for bytes outside every existing MappedFile, so
/// callers need not know where bytes come from. Also does nothing unless one map holds all of
/// `bytes`. Contents stay as they are, since maps are read-only; other threads may read them
/// meanwhile.
void release_pages(std::span<const std::byte> bytes);

}  // namespace parallax
