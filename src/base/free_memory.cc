#include "base/free_memory.h"

#include <unistd.h>

#include <algorithm>

#include "base/cgroup.h"
#include "base/checked.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;
using Bytes = std::optional<std::int64_t>;

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

/// limit - used, where pages of files that nobody used lately are not counted as used.
Bytes headroom(const Cgroup& group) {
  const bool first = group.version == 1;
  const Bytes limit = first ? read_integer(group.folder / "memory.limit_in_bytes")
                            : least(read_integer(group.folder / "memory.max"),
                                    read_integer(group.folder / "memory.high"));
  const Bytes used =
      read_integer(group.folder / (first ? "memory.usage_in_bytes" : "memory.current"));
  if (!limit || !used) return std::nullopt;
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
  const auto pages = read_integer(root / "proc/self/statm");
  if (!limit || !pages) return std::nullopt;
  const auto taken = checked_mul(*pages, ::sysconf(_SC_PAGESIZE));
  return taken ? Bytes(std::max<std::int64_t>(0, *limit - *taken)) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> free_memory(const fs::path& root) {
  Bytes result = least(available_memory(root), address_space(root));
  for (const Cgroup& group : cgroups(root, "memory")) result = least(result, headroom(group));
  return result;
}

}  // namespace parallax
