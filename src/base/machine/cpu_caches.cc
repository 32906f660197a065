#include "base/machine/cpu_caches.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "base/machine/cgroup.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxCaches = 16;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMaxListedCpus = 1 << 16;

struct Cache {
  std::int64_t level = 0, bytes = 0;
  std::int64_t ways = 0;     ///< 0: not known
  std::int64_t sharers = 1;  ///< CPUs
};

/// Removes the number at the start of `text` and returns it; -1 if it starts otherwise.
std::int64_t take_number(std::string_view& text) {
  std::int64_t number = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{}) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Returns the number of CPUs in a list such as "0-3,8"; 1 if it is not a list.
std::int64_t count_cpus(std::string_view list) {
  std::int64_t count = 0;
  while (count < kMaxListedCpus) {
    const std::int64_t first = take_number(list);
    std::int64_t last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = take_number(list);
    }
    if (first < 0 || last < first || last >= kMaxListedCpus) return 1;
    count += last - first + 1;
    if (!list.starts_with(',')) break;
    list.remove_prefix(1);
  }
  return count;
}

/// Reads a cache that holds data from its folder.
Cache read_cache(const fs::path& folder) {
  const auto level = read_integer(folder / "level");
  const auto kibibytes = read_integer(folder / "size");  // "32K"
  if (!level || !kibibytes || *kibibytes <= 0) return {};
  Cache cache;
  cache.level = *level;
  cache.bytes = std::min(*kibibytes, kMaxBytes >> 10) << 10;
  cache.ways = read_integer(folder / "ways_of_associativity").value_or(0);
  cache.sharers = count_cpus(read_text(folder / "shared_cpu_list").value_or(""));
  return cache;
}

/// Near what is usual.
std::int64_t plausible(std::int64_t bytes, std::int64_t usual) {
  return std::clamp(bytes, usual / 16, usual * 1024);
}

}  // namespace

CpuCaches cpu_caches(const fs::path& root, long (*ask)(int name)) {
  Cache l1, l2, last;
  const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache";
  for (int i = 0; i < kMaxCaches; ++i) {
    const fs::path files = folder / ("index" + std::to_string(i));
    const auto type = read_text(files / "type");
    if (!type) break;
    if (type->starts_with("Instruction")) continue;
    const Cache cache = read_cache(files);
    if (cache.level == 1) l1 = cache;
    if (cache.level == 2) l2 = cache;
    if (cache.level > last.level) last = cache;
  }
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (l1.bytes == 0) l1.bytes = ask(_SC_LEVEL1_DCACHE_SIZE);
  if (l2.bytes == 0) l2.bytes = ask(_SC_LEVEL2_CACHE_SIZE);
  if (last.bytes == 0)
    last.bytes = std::max(ask(_SC_LEVEL3_CACHE_SIZE), ask(_SC_LEVEL2_CACHE_SIZE));
#endif
  const CpuCaches usual;
  CpuCaches caches;
  if (l1.bytes > 0) caches.l1 = plausible(l1.bytes, usual.l1);
  // The threads of a core share its first level.
  const std::int64_t cores = std::max<std::int64_t>(l2.sharers / l1.sharers, 1);
  if (l2.bytes > 0) caches.l2 = plausible(l2.bytes / cores, usual.l2);
  if (last.bytes > 0) caches.last = std::clamp(last.bytes, caches.l2, usual.last * 1024);
  if (l1.ways > 0) caches.l1_way = plausible(caches.l1 / l1.ways, usual.l1_way);
  return caches;
}

CpuCaches cpu_caches() {
  return cpu_caches("/", [](int name) { return ::sysconf(name); });
}

}  // namespace parallax
