#include "load/external_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/files/descriptor.h"
#include "base/files/mapped_file.h"
#include "base/status.h"
#include "ir/charge.h"
#include "load/foreign_file.h"
#include "load/names.h"

namespace parallax {
namespace {

tl::unexpected<Error> not_inside(std::string_view name, std::string_view why) {
  return invalid_model(fmt::format(
      "external file {} {}; external data must lie in the model's folder", quote(name), why));
}

/// The names between the slashes: any but "..". Colons and backslashes are plain characters.
Result<std::vector<std::string>> split_path(std::string_view path) {
  if (path.front() == '/') return not_inside(path, "is an absolute path");
  std::vector<std::string> components;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view component = path.substr(begin, end - begin);
    if (component == "..") return not_inside(path, "has '..' in its path");
    if (!component.empty() && component != ".") components.emplace_back(component);
    begin = end + 1;
  }
  if (components.empty()) return not_inside(path, "is a folder");
  return components;
}

tl::unexpected<Error> open_error(const std::string& name, int error) {
  if (error == ELOOP || error == ENOTDIR || error == EISDIR) {
    return invalid_model(
        fmt::format("external file {} is not a regular file in the model's folder", quote(name)));
  }
  const bool windows = error == ENOENT && name.find('\\') != std::string::npos;
  return tl::unexpected(load_error(
      ErrorCode::kIo, fmt::format("cannot open external file {}: {}{}", quote(name),
                                  std::error_code(error, std::generic_category()).message(),
                                  windows ? " (folders are separated by '/', not by '\\')" : "")));
}

/// The names between slashes, as one.
std::string joined(const std::vector<std::string>& components) {
  return fmt::format("{}", fmt::join(components, "/"));
}

struct Opened {
  std::shared_ptr<const MappedFile> mapped;
  std::int64_t stored = 0;
};

/// Bytes of a file of `size` that are not in holes; all where the file system does not tell.
std::int64_t stored_bytes(int file, std::int64_t size) {
  std::int64_t stored = 0;
  for (std::int64_t end = 0; end < size;) {
    const std::int64_t begin = ::lseek(file, end, SEEK_DATA);
    if (begin < 0) return errno == ENXIO ? stored : size;  // ENXIO: a hole to the end
    end = ::lseek(file, begin, SEEK_HOLE);
    if (end <= begin) return size;
    stored += end - begin;
  }
  return stored;
}

/// Opens a file inside `folder` one component at a time without following links: what was checked
/// is what is opened. Fails with errno.
template <class Components>
tl::expected<Descriptor, int> open_plain(const std::filesystem::path& folder,
                                         const Components& components) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (auto name = components.begin(); at.get() >= 0 && name != components.end(); ++name) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    const bool last = std::next(name) == components.end();
    at = Descriptor(
        ::openat(at.get(), name->c_str(), kFlags | (last ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY)));
  }
  if (at.get() < 0) return tl::unexpected(errno);
  struct stat status = {};
  if (::fstat(at.get(), &status) != 0) return tl::unexpected(errno);
  if (!S_ISREG(status.st_mode)) return tl::unexpected(EISDIR);
  return at;
}

/// Opens the file that links in the path of `name` lead to.
Result<Descriptor> open_linked(const ExternalFolders& folders, const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path own = fs::canonical(folders.own, error);
  if (error) return open_error(name, error.value());
  const fs::path file = fs::canonical(own / name, error);
  if (error) return open_error(name, error.value());
  fs::path folder = own, inside = file.lexically_relative(own);
  if (*inside.begin() == "..") {
    if (!folders.linked.empty()) folder = fs::canonical(folders.linked, error);
    if (error || folders.linked.empty() || file.parent_path() != folder) {
      return not_inside(name,
                        "is a link that leads elsewhere (a copy of the file, or a hard link "
                        "to it, can be read)");
    }
    inside = file.filename();
  }
  auto opened = open_plain(folder, inside);
  if (!opened) return open_error(name, opened.error());
  return *std::move(opened);
}

Result<Opened> open_inside(const ExternalFolders& folders,
                           const std::vector<std::string>& components) {
  const std::string name = joined(components);
  auto opened = open_plain(folders.own, components);
  // A link: ELOOP where it is the last component, ENOTDIR elsewhere.
  const bool link = !opened && (opened.error() == ELOOP || opened.error() == ENOTDIR);
  if (!opened && !link) return open_error(name, opened.error());
  if (link) {
    PX_ASSIGN(opened, open_linked(folders, name));
  }
  auto mapped = MappedFile::map(*opened, components.back());
  if (mapped) {
    const std::int64_t size = (*mapped)->identity().size;
    return Opened{*std::move(mapped), stored_bytes(opened->get(), size)};
  }
  return tl::unexpected(load_error(
      ErrorCode::kIo, fmt::format("external file {}: {}", quote(name), mapped.error().message)));
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> open_external(const ExternalFolders& folders,
                                                        std::string_view name) {
  if (name.empty()) return invalid_model("an external file without a name");
  PX_ASSIGN(const auto components, split_path(name));
  PX_ASSIGN(Opened opened, open_inside(folders, components));
  return std::move(opened.mapped);
}

std::int64_t NamedBytes::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return 0;
  std::uint64_t fresh = end - begin;
  std::pair whole(begin, end);
  auto next = end_of_.upper_bound(begin);
  if (next != end_of_.begin() && std::prev(next)->second >= begin) --next;
  // Each one that is met becomes part of the new one.
  while (next != end_of_.end() && next->first <= end) {
    fresh -= std::min(end, next->second) - std::max(begin, next->first);
    whole.first = std::min(whole.first, next->first);
    whole.second = std::max(whole.second, next->second);
    next = end_of_.erase(next);
  }
  end_of_.insert(whole);
  return static_cast<std::int64_t>(fresh);
}

std::vector<NamedFile> ExternalFiles::files() const {
  std::vector<NamedFile> result;
  for (const auto& [components, open] : files_) result.push_back({joined(components), open.file});
  return result;
}

Result<ExternalFiles::OpenFile*> ExternalFiles::open(std::vector<std::string> components) {
  const auto known = files_.find(components);
  if (known != files_.end()) return &known->second;
  PX_ASSIGN(Opened opened, open_inside(folders_, components));
  const FileIdentity& id = opened.mapped->identity();
  const FileKey key(id.device, id.inode, id.size, id.modified_ns);
  Account& account = accounts_.try_emplace(key, Account{opened.stored}).first->second;
  const auto owner = weights_outside(opened.mapped);
  OpenFile file{std::move(opened.mapped), owner, &account};
  return &files_.try_emplace(std::move(components), std::move(file)).first->second;
}

Result<SharedBytes> ExternalFiles::read(const ExternalLocation& location, std::int64_t size) {
  PX_ASSIGN(auto components, split_path(location.path));
  if (folders_.own.empty()) return unsupported("external data, and no folder is given for it");
  if (location.length && *location.length != size) {
    return invalid_model(
        fmt::format("needs {} bytes but its external data has {}", size, *location.length));
  }
  PX_ASSIGN(const OpenFile* const file, open(std::move(components)));
  const std::span<const std::byte> bytes = file->file->bytes();
  const auto offset = static_cast<std::uint64_t>(location.offset);
  const auto count = static_cast<std::uint64_t>(size);
  if (offset > bytes.size() || count > bytes.size() - offset) {
    const auto foreign = foreign_file(bytes);
    return invalid_model(fmt::format("external bytes {} at {} lie beyond the {} bytes of file {}{}",
                                     count, offset, bytes.size(), quote(location.path),
                                     foreign ? fmt::format(", which is {}", *foreign) : ""));
  }
  Account& account = *file->account;
  const std::int64_t counted =
      std::min(account.named.add(offset, offset + count), account.not_counted);
  account.not_counted -= counted;
  quota_.allow_weights(counted);
  return SharedBytes{bytes.subspan(offset, count), file->owner};
}

}  // namespace parallax
