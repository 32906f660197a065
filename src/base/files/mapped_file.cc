#include "base/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <system_error>

#include "base/files/descriptor.h"
#include "base/mutex.h"

namespace parallax {
namespace {

/// The existing maps: dropping pages of any other memory would lose its contents.
struct Maps {
  Mutex mutex;
  std::map<std::uintptr_t, const MappedFile*> file_at PX_GUARDED_BY(mutex);

  /// Returns the file whose map contains all of [begin, begin + size); null if no map does.
  const MappedFile* holding(std::uintptr_t begin, std::size_t size) const PX_REQUIRES(mutex) {
    auto map = file_at.upper_bound(begin);
    if (map == file_at.begin()) return nullptr;
    --map;
    const std::uintptr_t offset = begin - map->first;
    const std::size_t bytes = map->second->bytes().size();
    return offset < bytes && size <= bytes - offset ? map->second : nullptr;
  }
};

Maps& maps() {
  static auto* const kMaps = new Maps;
  return *kMaps;
}

std::uintptr_t address(std::span<const std::byte> bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data());
}

tl::unexpected<Error> error(const std::filesystem::path& path, const std::string& reason,
                            ErrorCode code = ErrorCode::kIo) {
  return tl::unexpected(
      Error{Stage::kFiles, code, "", "cannot read '" + path.string() + "': " + reason});
}

tl::unexpected<Error> system_error(const std::filesystem::path& path, int code) {
  return error(path, std::error_code(code, std::generic_category()).message(),
               code == ENOMEM ? ErrorCode::kOutOfMemory : ErrorCode::kIo);
}

FileIdentity identity_of(const struct stat& status) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {status.st_dev, status.st_ino, status.st_size,
          status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec,
          status.st_ctim.tv_sec * kSecond + status.st_ctim.tv_nsec};
}

}  // namespace

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  {
    const MutexLock lock(maps().mutex);
    maps().file_at.erase(address(bytes_));
  }
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0) return system_error(path, errno);
  return map(file, path);
}

Result<std::shared_ptr<MappedFile>> MappedFile::map(const Descriptor& file,
                                                    const std::filesystem::path& path) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return system_error(path, errno);
  if (S_ISDIR(status.st_mode)) return system_error(path, EISDIR);
  if (!S_ISREG(status.st_mode)) return error(path, "not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  // Made first: from then on it owns the map.
  std::shared_ptr<MappedFile> mapped(new MappedFile(identity_of(status)));
  if (size > 0) {
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory == MAP_FAILED) return system_error(path, errno);
    mapped->bytes_ = {static_cast<const std::byte*>(memory), size};
    const MutexLock lock(maps().mutex);
    maps().file_at[address(mapped->bytes_)] = mapped.get();
  }
  return mapped;
}

std::optional<MappedPlace> mapped_place(const std::byte* byte) {
  const MutexLock lock(maps().mutex);
  const MappedFile* const file = maps().holding(reinterpret_cast<std::uintptr_t>(byte), 1);
  if (file == nullptr) return std::nullopt;
  return MappedPlace{file->identity(), file->bytes(), byte - file->bytes().data()};
}

void release_pages(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (address(bytes) + page - 1) / page * page;
  const std::uintptr_t end = (address(bytes) + bytes.size()) / page * page;
  if (begin >= end) return;
  // Held throughout: the map must not go away, and its addresses to other memory, in between.
  const MutexLock lock(maps().mutex);
  if (maps().holding(address(bytes), bytes.size()) == nullptr) return;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace parallax
