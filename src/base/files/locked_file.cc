#include "base/files/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/files/without_file_size_signal.h"
#include "base/status.h"

namespace parallax {
namespace {

tl::unexpected<Error> refuse_file(const std::filesystem::path& path, const char* what,
                                  const std::string& why) {
  return tl::unexpected(Error{
      Stage::kFiles, ErrorCode::kIo, {}, std::string(what) + " '" + path.string() + "': " + why});
}

std::string system_reason(int code) {
  return std::error_code(code, std::generic_category()).message();
}

/// Writes all of `text`. Returns 0 or the system's error.
int write_at(int file, std::size_t offset, std::string_view text) {
  const WithoutFileSizeSignal without_signal;
  while (!text.empty()) {
    const ssize_t written = ::pwrite(file, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    offset += static_cast<std::size_t>(written);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Result<LockedFile> LockedFile::open(const std::filesystem::path& path, Access access) {
  const bool writes = access == Access::kWrite;
  const char* const what = writes ? "cannot write" : "cannot read";
  const int flags = writes ? O_RDWR | O_CREAT : O_RDONLY;
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  LockedFile result(path, Descriptor(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC, 0666)));
  const int file = result.file_.get();
  if (file < 0) return refuse_file(path, what, system_reason(errno));
  struct stat status = {};
  while (::flock(file, writes ? LOCK_EX : LOCK_SH) != 0) {
    if (errno == EINTR) continue;
    // Some file systems have no locks. Readers do without.
    if (writes) return refuse_file(path, what, system_reason(errno));
    break;
  }
  if (::fstat(file, &status) != 0) return refuse_file(path, what, system_reason(errno));
  if (!S_ISREG(status.st_mode)) return refuse_file(path, what, "not a regular file");
  result.size_ = static_cast<std::size_t>(status.st_size);
  return result;
}

// A child of fork() may have the same open file, which closing alone would leave locked.
LockedFile::~LockedFile() {
  if (file_.get() >= 0) (void)::flock(file_.get(), LOCK_UN);
}

Result<std::string> LockedFile::read(std::size_t max_bytes) const {
  std::string text(std::min(size_, max_bytes), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got =
        ::pread(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse_file(path_, "cannot read", system_reason(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

Status LockedFile::replace_after(std::size_t keep, std::string_view text) {
  int code = 0;
  if (keep < size_ && ::ftruncate(file_.get(), static_cast<off_t>(keep)) != 0) code = errno;
  if (code == 0) code = write_at(file_.get(), keep, text);
  if (code != 0) {
    (void)!::ftruncate(file_.get(), static_cast<off_t>(keep));
    return refuse_file(path_, "cannot write", system_reason(code));
  }
  size_ = keep + text.size();
  return {};
}

}  // namespace parallax
