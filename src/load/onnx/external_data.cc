#include "load/onnx/external_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/mapped_file.h"
#include "base/status.h"
#include "load/onnx/names.h"
#include "ops/payment.h"

namespace parallax {
namespace {

/// What the entries of one tensor say.
struct Location {
  std::optional<std::string_view> path;
  std::optional<std::int64_t> offset, length;
};

Result<std::int64_t> parse_count(std::string_view key, std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [p, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || p != end || value < 0) {
    return invalid_model(fmt::format("external data has a bad {}", key));
  }
  return value;
}

Result<Location> parse_location(std::span<const OnnxEntry> entries) {
  Location location;
  for (const OnnxEntry& entry : entries) {
    if (entry.key == "location" && !location.path) {
      PX_RETURN_IF_ERROR(check_name("an external file", entry.value));
      location.path = entry.value;
    } else if (entry.key == "offset" && !location.offset) {
      PX_ASSIGN(location.offset, parse_count(entry.key, entry.value));
    } else if (entry.key == "length" && !location.length) {
      PX_ASSIGN(location.length, parse_count(entry.key, entry.value));
    } else if (entry.key !=
               "checksum") {  // optional, and weights are not read before they are used
      PX_RETURN_IF_ERROR(check_name("an entry of external data", entry.key));
      return invalid_model(
          fmt::format("external data has an unknown or repeated entry {}", quote(entry.key)));
    }
  }
  if (!location.path || location.path->empty()) {
    return invalid_model("external data has no location");
  }
  return location;
}

/// The names between the slashes. Backslashes and drive letters are refused too: they mean a path
/// elsewhere, and no exporter writes them.
Result<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> components;
  bool plain = path.front() != '/' && path.find_first_of("\\:") == std::string_view::npos;
  for (std::size_t begin = 0; plain && begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view component = path.substr(begin, end - begin);
    if (component == "..") plain = false;
    if (!component.empty() && component != ".") components.emplace_back(component);
    begin = end + 1;
  }
  if (!plain || components.empty()) {
    return invalid_model(
        fmt::format("external file {} is not inside the model's folder", quote(path)));
  }
  return components;
}

tl::unexpected<Error> open_error(const std::string& name, int error) {
  if (error == ELOOP || error == ENOTDIR) {
    return invalid_model(
        fmt::format("external file {} is not a plain file in the model's folder", quote(name)));
  }
  return tl::unexpected(load_error(
      ErrorCode::kIo, fmt::format("cannot open external file {}: {}", quote(name),
                                  std::error_code(error, std::generic_category()).message())));
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

Result<Opened> open_inside(const std::filesystem::path& folder,
                           const std::vector<std::string>& components) {
  const std::string name = joined(components);
  // One component at a time and without following links: what is checked is what is opened.
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; at.get() >= 0 && i + 1 < components.size(); ++i) {
    at = Descriptor(
        ::openat(at.get(), components[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (at.get() < 0) return open_error(name, errno);
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(::openat(at.get(), components.back().c_str(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0) return open_error(name, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return open_error(name, errno);
  if (!S_ISREG(status.st_mode)) return open_error(name, ELOOP);
  if (status.st_nlink != 1) {
    return invalid_model(fmt::format(
        "external file {} has a second name (a hard link), which may lie outside the model's "
        "folder; a copy of it can be read",
        quote(name)));
  }
  auto mapped = MappedFile::open(fmt::format("/proc/self/fd/{}", file.get()));
  if (mapped) return Opened{*std::move(mapped), stored_bytes(file.get(), status.st_size)};
  return tl::unexpected(load_error(
      ErrorCode::kIo, fmt::format("external file {}: {}", quote(name), mapped.error().message)));
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> open_external(const std::filesystem::path& folder,
                                                        std::string_view name) {
  if (name.empty()) return invalid_model("an external file without a name");
  PX_ASSIGN(const auto components, split_path(name));
  PX_ASSIGN(Opened opened, open_inside(folder, components));
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

std::vector<NamedFile> ExternalData::files() const {
  std::vector<NamedFile> result;
  for (const auto& [components, open] : files_) result.push_back({joined(components), open.file});
  return result;
}

Result<SharedBytes> ExternalData::read(std::span<const OnnxEntry> entries, std::int64_t size) {
  PX_ASSIGN(const Location location, parse_location(entries));
  PX_ASSIGN(auto components, split_path(*location.path));
  if (folder_.empty()) return unsupported("external data, and no folder is given for it");
  if (location.length && *location.length != size) {
    return invalid_model(
        fmt::format("needs {} bytes but its external data has {}", size, *location.length));
  }
  auto known = files_.find(components);
  if (known == files_.end()) {
    PX_ASSIGN(Opened opened, open_inside(folder_, components));
    const auto owner = weights_outside(opened.mapped);
    known = files_
                .try_emplace(std::move(components),
                             OpenFile{std::move(opened.mapped), owner, opened.stored})
                .first;
  }
  OpenFile& open = known->second;
  const std::span<const std::byte> bytes = open.file->bytes();
  const auto offset = static_cast<std::uint64_t>(location.offset.value_or(0));
  const auto count = static_cast<std::uint64_t>(size);
  if (offset > bytes.size() || count > bytes.size() - offset) {
    return invalid_model(fmt::format("external bytes {} at {} lie beyond the {} bytes of file {}",
                                     count, offset, bytes.size(), quote(*location.path)));
  }
  const std::int64_t counted = std::min(open.named.add(offset, offset + count), open.not_counted);
  open.not_counted -= counted;
  budget_.allow_weights(counted);
  return SharedBytes{bytes.subspan(offset, count), open.owner};
}

}  // namespace parallax
