#include "base/files/replace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>
#include <vector>

#include "base/files/descriptor.h"
#include "base/files/without_file_size_signal.h"
#include "base/status.h"

namespace parallax {
namespace {

tl::unexpected<Error> cannot_write(const std::filesystem::path& path, int code) {
  return tl::unexpected(Error{Stage::kFiles,
                              ErrorCode::kIo,
                              {},
                              "cannot write '" + path.string() + "': " +
                                  std::error_code(code, std::generic_category()).message()});
}

/// Locks the file that `path` names now: another writer may have renamed the opened one. Returns
/// false if another process has the lock.
Result<bool> lock(const Descriptor& file, const std::filesystem::path& path) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    return cannot_write(path, errno);
  }
  struct stat opened = {};
  struct stat named = {};
  if (::fstat(file.get(), &opened) != 0) return cannot_write(path, errno);
  // Links would let another user choose what is overwritten.
  if (!S_ISREG(opened.st_mode) || opened.st_nlink > 1) return cannot_write(path, EEXIST);
  if (::lstat(path.c_str(), &named) != 0)
    return errno == ENOENT ? Result<bool>(false) : cannot_write(path, errno);
  return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Writes many parts in one call: the page cache then uses large pages if the file system supports
/// them. Returns 0 or the system's error.
int write_all(int file, std::span<const std::span<const std::byte>> parts) {
  constexpr std::size_t kParts = 1024,
                        kBytes = std::size_t{1} << 30;  // Linux writes no more per call
  std::size_t done = 0;                                 // bytes of parts[0]
  while (!parts.empty()) {
    std::vector<iovec> now;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < std::min(parts.size(), kParts) && bytes < kBytes; ++i) {
      const auto rest = parts[i].subspan(i == 0 ? done : 0);
      const std::size_t size = std::min(rest.size(), kBytes - bytes);
      now.push_back({const_cast<std::byte*>(rest.data()), size});
      bytes += size;
    }
    const ssize_t written = ::writev(file, now.data(), static_cast<int>(now.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    done += static_cast<std::size_t>(written);
    while (!parts.empty() && done >= parts[0].size()) {
      done -= parts[0].size();
      parts = parts.subspan(1);
    }
  }
  return 0;
}

int fill(int file, std::span<const std::span<const std::byte>> parts, std::int64_t modified) {
  const WithoutFileSizeSignal without_signal;
  if (::ftruncate(file, 0) != 0) return errno;
  if (const int code = write_all(file, parts); code != 0) return code;
  const std::array<timespec, 2> times = {{{0, UTIME_OMIT}, {modified, 0}}};
  return ::futimens(file, times.data()) != 0 || ::fsync(file) != 0 ? errno : 0;
}

/// Flushes the folder, so that the new name survives a power failure. If that fails, the old file
/// may reappear.
void flush_folder(const std::filesystem::path& folder) {
  const Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() >= 0) (void)::fsync(at.get());
}

}  // namespace

std::int64_t seal_time() { return static_cast<std::int64_t>(std::time(nullptr)) - 2; }

Result<bool> replace_file(const std::filesystem::path& path,
                          std::span<const std::span<const std::byte>> parts,
                          std::int64_t modified) {
  std::error_code code;
  std::filesystem::create_directories(path.parent_path(), code);
  if (code) return cannot_write(path, code.value());
  // One name for all writers: what a killed one leaves behind is the next one's to overwrite.
  std::filesystem::path partial = path;
  partial += ".tmp";
  const Descriptor file(
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (file.get() < 0) return cannot_write(partial, errno);
  PX_ASSIGN(const bool ours, lock(file, partial));
  if (!ours) return false;
  int failure = fill(file.get(), parts, modified);
  if (failure == 0 && ::rename(partial.c_str(), path.c_str()) != 0) failure = errno;
  if (failure != 0) {
    (void)::unlink(partial.c_str());
    return cannot_write(path, failure);
  }
  // Processes map it: a program that writes into it instead of replacing it gets an error.
  (void)::fchmod(file.get(), 0400);
  flush_folder(path.parent_path());
  return true;
}

}  // namespace parallax
