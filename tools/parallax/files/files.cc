#include "files/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;

Error io_error(std::string_view what, const fs::path& path, int code) {
  return {Stage::kFiles,
          ErrorCode::kIo,
          {},
          fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(code))};
}

}  // namespace

Error cannot_read(const fs::path& path, int code) { return io_error("cannot read", path, code); }
Error cannot_write(const fs::path& path, int code) { return io_error("cannot write", path, code); }

Result<File> open_to_read(const fs::path& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return tl::unexpected(cannot_read(path, errno));
  File file(::fdopen(descriptor, "rb"));
  if (file == nullptr) {
    const int code = errno;
    ::close(descriptor);
    return tl::unexpected(cannot_read(path, code));
  }
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return tl::unexpected(cannot_read(path, errno));
  if (S_ISDIR(status.st_mode)) return tl::unexpected(cannot_read(path, EISDIR));
  if (S_ISREG(status.st_mode)) return file;
  return tl::unexpected(Error{
      Stage::kFiles, ErrorCode::kIo, {}, "cannot read " + path.string() + ": no regular file"});
}

Status write_file(const fs::path& path, std::initializer_list<std::string_view> parts) {
  File file(std::fopen(path.c_str(), "wbe"));
  if (file == nullptr) return tl::unexpected(cannot_write(path, errno));
  int code = 0;
  for (const std::string_view part : parts) {
    if (code == 0 && std::fwrite(part.data(), 1, part.size(), file.get()) != part.size())
      code = errno;
  }
  if (std::fclose(file.release()) != 0 && code == 0) code = errno;
  if (code == 0) return {};
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) fs::remove(path, ignored);
  return tl::unexpected(cannot_write(path, code));
}

Status check_writable(const fs::path& path) {
  if (::access(path.c_str(), W_OK) == 0) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return tl::unexpected(cannot_write(path, EISDIR));
    return {};
  }
  if (errno != ENOENT) return tl::unexpected(cannot_write(path, errno));
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return tl::unexpected(cannot_write(path, errno));
}

Status finish_standard_output() {
  const bool failed = std::ferror(stdout) != 0;  // an earlier write failed
  if (std::fflush(stdout) == 0 && !failed) return {};
  return tl::unexpected(cannot_write("standard output", failed ? EIO : errno));
}

}  // namespace parallax::cli
