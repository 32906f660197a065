// A file that several processes and threads read and add to: one of them at a time, whatever path
// or object each has for it. The lock is advisory; it binds those who open the file by this class.
//
// Thread-safety: each object is one thread's; objects for one file exclude each other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/descriptor.h"
#include "parallax/result.h"

namespace parallax {

class LockedFile {
 public:
  /// kRead: alone with other readers. kWrite: alone; creates the file if it is missing.
  enum class Access { kRead, kWrite };
  /// Waits until others have closed the file. Errors: kIo with the system's reason, also for what
  /// is not a regular file.
  static Result<LockedFile> open(const std::filesystem::path& path, Access access);
  LockedFile(LockedFile&&) noexcept = default;
  LockedFile& operator=(LockedFile&&) = delete;
  ~LockedFile();

  std::size_t size() const { return size_; }
  /// The first `max_bytes` bytes, or all. Errors: kIo.
  Result<std::string> read(std::size_t max_bytes) const;
  /// Replaces what follows the first `keep` bytes by `text`. Errors: kIo, with only these bytes
  /// left. REQUIRES: kWrite, keep <= size().
  Status replace_after(std::size_t keep, std::string_view text);

 private:
  LockedFile(std::filesystem::path path, Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  Descriptor file_;
  std::size_t size_ = 0;
};

}  // namespace parallax
