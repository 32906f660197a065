// A file that several processes and threads read and append to: one of them at a time, whatever
// path or object each uses for it. The lock is advisory: it only excludes users of this class.
// Thread-safety: each object belongs to one thread; objects for the same file exclude each other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/descriptor.h"
#include "parallax/result.h"

namespace parallax {

/// An open regular file and a lock on it (flock). The destructor releases the lock. A thread that
/// opens a file twice, once or more for writing, waits for itself.
class LockedFile {
 public:
  /// kRead: shared with other readers. kWrite: exclusive; creates the file if it is missing.
  enum class Access { kRead, kWrite };
  /// Blocks until others have released the file. Readers do without a lock on file systems that
  /// have none. Errors: kIo with the system's reason, also if it is not a regular file. Waits
  /// without a time limit. The new file has mode 0666 less the umask; folders are not created.
  /// Stage kFiles.
  static Result<LockedFile> open(const std::filesystem::path& path, Access access);
  LockedFile(LockedFile&&) noexcept = default;
  LockedFile& operator=(LockedFile&&) = delete;
  /// Unlocks explicitly: a child of fork() may share the open file, and closing alone would keep it
  /// locked.
  ~LockedFile();

  /// Returns the bytes of the file when it was opened or last written through this object.
  std::size_t size() const { return size_; }
  /// Returns the first `max_bytes` bytes, or all if there are fewer. Errors: kIo. Fewer bytes come
  /// back if another program has cut the file.
  Result<std::string> read(std::size_t max_bytes) const;
  /// Replaces all bytes after the first `keep` by `text`. Errors: kIo; only the first `keep` bytes
  /// remain then. REQUIRES: kWrite, keep <= size(). Appends if keep == size(). Not flushed to the
  /// disk. After an error size() is unchanged, so the object should not be used further.
  Status replace_after(std::size_t keep, std::string_view text);

 private:
  /// The caller has opened the file; open() locks it.
  LockedFile(std::filesystem::path path, Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;  ///< for messages
  Descriptor file_;
  std::size_t size_ = 0;  ///< bytes, as last seen by this object
};

}  // namespace parallax
