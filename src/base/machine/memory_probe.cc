#include "base/machine/memory_probe.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/checked.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;
using Bytes = std::optional<std::int64_t>;

/// Version 1 writes "no limit" as the largest number of pages.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;

Bytes least(Bytes a, Bytes b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

Bytes available_memory(const fs::path& root) {
  const auto text = read_text(root / "proc/meminfo");
  if (!text) return std::nullopt;
  const auto kib = integer_of_key(*text, "MemAvailable:");
  return kib ? checked_mul(*kib, 1024) : std::nullopt;
}

/// limit - used, where pages of files that were not read lately do not count as used.
Bytes headroom(const Cgroup& group) {
  const bool first = group.version == 1;
  const Bytes limit = first ? read_integer(group.folder / "memory.limit_in_bytes")
                            : least(read_integer(group.folder / "memory.max"),
                                    read_integer(group.folder / "memory.high"));
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  const Bytes used =
      read_integer(group.folder / (first ? "memory.usage_in_bytes" : "memory.current"));
  if (!used) return std::nullopt;
  const std::string statistics = read_text(group.folder / "memory.stat").value_or("");
  const std::int64_t cache =
      integer_of_key(statistics, first ? "total_inactive_file" : "inactive_file").value_or(0);
  const std::int64_t held =
      std::max<std::int64_t>(0, *used - std::clamp<std::int64_t>(cache, 0, *used));
  return std::max<std::int64_t>(0, *limit - held);
}

Bytes address_space(const fs::path& root) {
  const auto limits = read_text(root / "proc/self/limits");
  if (!limits) return std::nullopt;
  const auto limit = integer_of_key(*limits, "Max address space");
  const auto pages = limit ? read_integer(root / "proc/self/statm") : std::nullopt;
  if (!pages) return std::nullopt;
  const auto taken = checked_mul(*pages, ::sysconf(_SC_PAGESIZE));
  return taken ? Bytes(std::max<std::int64_t>(0, *limit - *taken)) : std::nullopt;
}

/// Returns the per cent after "avg10=" in the line that starts with `who`; 0 without such a line.
double stalled_percent(std::string_view text, std::string_view who) {
  const std::size_t line = text.starts_with(who) ? 0 : text.find("\n" + std::string(who));
  if (line == std::string_view::npos) return 0;
  constexpr std::string_view kKey = " avg10=";
  const std::size_t end = text.find('\n', line + 1);
  const std::string_view rest = text.substr(line, end - line);
  const std::size_t key = rest.find(kKey);
  if (key == std::string_view::npos) return 0;
  double percent = 0;
  const char* const begin = rest.data() + key + kKey.size();
  const auto [after, code] = std::from_chars(begin, rest.data() + rest.size(), percent);
  return code == std::errc{} ? percent : 0;
}

MemoryPressure pressure(const fs::path& file) {
  const auto text = read_text(file);
  if (!text) return MemoryPressure::kNone;
  if (stalled_percent(*text, "full ") >= kAllStalledPercent) return MemoryPressure::kStalled;
  return stalled_percent(*text, "some ") >= kSomeStalledPercent ? MemoryPressure::kSome
                                                                : MemoryPressure::kNone;
}

}  // namespace

bool addresses_are_limited() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

std::vector<Cgroup> MemoryProbe::groups() {
  auto membership = read_text(root_ / "proc/self/cgroup");
  const MutexLock lock(mutex_);
  if (membership != membership_) {
    groups_ = cgroups(root_, "memory");
    membership_ = std::move(membership);
  }
  return groups_;
}

MemoryState MemoryProbe::read() {
  MemoryState state{least(available_memory(root_), address_space(root_)),
                    pressure(root_ / "proc/pressure/memory")};
  for (const Cgroup& group : groups()) {
    state.free = least(state.free, headroom(group));
    if (group.version == 2)
      state.pressure = std::max(state.pressure, pressure(group.folder / "memory.pressure"));
  }
  return state;
}

}  // namespace parallax
