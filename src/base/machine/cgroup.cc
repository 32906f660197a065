#include "base/machine/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>

#include "base/files/descriptor.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

/// No file of /proc or /sys that is of interest here is longer.
constexpr std::size_t kMaxText = std::size_t{16} << 20;

bool interrupted(ssize_t got) { return got < 0 && errno == EINTR; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool lists(std::string_view commas, std::string_view item) {
  for (const std::string_view part : split(commas, ',')) {
    if (part == item) return true;
  }
  return false;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{}) return std::nullopt;
  return value;
}

/// mountinfo writes a blank as \040.
std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ec == std::errc{}) {
      result += static_cast<char>(code);
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

struct Mount {
  std::string group;  ///< the group that is seen at `point`
  fs::path point;
  int version = 0;
};

/// Returns the mounts of `controller`: those of version 1 that have it, and all of version 2.
std::vector<Mount> mounts(const fs::path& root, std::string_view controller) {
  std::vector<Mount> result;
  const std::string text = read_text(root / "proc/self/mountinfo").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    // id parent device group point options [tags...] - type source options
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const bool first = after[0] == "cgroup" && lists(after[2], controller);
    if (!first && after[0] != "cgroup2") continue;
    result.push_back({unescape(before[3]), fs::path(unescape(before[4])), first ? 1 : 2});
  }
  return result;
}

/// Returns the path of this process's group in the hierarchy of `controller`, as in
/// /proc/self/cgroup.
std::optional<std::string> group_of(const fs::path& root, std::string_view controller,
                                    int version) {
  const std::string text = read_text(root / "proc/self/cgroup").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    // id:controllers:path, and 0::path for version 2
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool found = version == 2 ? line.substr(0, first) == "0" && controllers.empty()
                                    : lists(controllers, controller);
    if (found) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

/// Returns `group` relative to the group that a mount shows; empty if it is outside (a container
/// that sees only its own group).
std::string below(const std::string& group, const std::string& shown) {
  const std::string prefix = shown == "/" ? "" : shown;
  if (group.compare(0, prefix.size(), prefix) != 0) return "";
  std::string rest = group.substr(prefix.size());
  if (!rest.empty() && rest[0] != '/') return "";
  rest.erase(0, rest.find_first_not_of('/'));
  // Outside of a namespace the path climbs: such a group is not below the mount.
  for (const std::string_view part : split(rest, '/')) {
    if (part == "..") return "";
  }
  return rest;
}

}  // namespace

std::optional<std::string> read_text(const fs::path& path) {
  // Not a stream: these files are read while a model runs, and a stream needs twice as long.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::string text;
  char part[4096];
  ssize_t got = 0;
  while (text.size() < kMaxText &&
         ((got = ::read(file.get(), part, sizeof part)) > 0 || interrupted(got)))
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<std::int64_t> read_integer(const fs::path& path) {
  const auto text = read_text(path);
  return text ? parse_integer(*text) : std::nullopt;
}

std::optional<std::int64_t> integer_of_key(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.substr(0, key.size()) != key) continue;
    const std::string_view rest = line.substr(key.size());
    if (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t')) return parse_integer(rest);
  }
  return std::nullopt;
}

std::vector<Cgroup> cgroups(const fs::path& root, std::string_view controller) {
  std::vector<Cgroup> result;
  for (const Mount& mount : mounts(root, controller)) {
    const auto group = group_of(root, controller, mount.version);
    if (!group) continue;
    const fs::path top = root / mount.point.relative_path();
    fs::path relative = below(*group, mount.group);
    for (; !relative.empty(); relative = relative.parent_path()) {
      result.push_back({top / relative, mount.version});
    }
    result.push_back({top, mount.version});
  }
  return result;
}

}  // namespace parallax
