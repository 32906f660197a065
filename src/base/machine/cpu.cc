#include "base/machine/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>
#include <vector>

#include "base/machine/cgroup.h"

namespace parallax {
namespace {

constexpr int kMaxCpus = 1 << 16;

int affinity_cpus() {
  // The mask's size is the kernel's choice: grow until it fits.
  for (int cpus = 1024; cpus <= kMaxCpus; cpus *= 2) {
    std::vector<cpu_set_t> mask((static_cast<std::size_t>(cpus) + 1023) / 1024);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
    if (errno != EINVAL) break;
  }
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

struct Quota {
  std::int64_t time = -1, period = 0;  ///< microseconds; negative time = no limit
};

Quota quota_of(const Cgroup& group) {
  Quota quota;
  if (group.version == 1) {
    quota.time = read_integer(group.folder / "cpu.cfs_quota_us").value_or(-1);
    quota.period = read_integer(group.folder / "cpu.cfs_period_us").value_or(0);
    return quota;
  }
  // "200000 100000", or "max 100000" for no limit
  const std::string text = read_text(group.folder / "cpu.max").value_or("max 0");
  const char* const end = text.data() + text.size();
  const auto [space, code] = std::from_chars(text.data(), end, quota.time);
  if (code != std::errc{} || space == end || *space != ' ') return {};
  if (std::from_chars(space + 1, end, quota.period).ec != std::errc{}) return {};
  return quota;
}

}  // namespace

std::optional<int> cpu_quota(const std::filesystem::path& root) {
  std::optional<int> tightest;
  for (const Cgroup& group : cgroups(root, "cpu")) {
    const Quota quota = quota_of(group);
    if (quota.time <= 0 || quota.period <= 0) continue;
    const std::int64_t cpus = (quota.time - 1) / quota.period + 1;
    const int limit = static_cast<int>(std::min<std::int64_t>(cpus, kMaxCpus));
    tightest = std::min(tightest.value_or(limit), limit);
  }
  return tightest;
}

int usable_cpus(const std::filesystem::path& root) {
  const int cpus = std::max(1, affinity_cpus());
  return std::min(cpus, cpu_quota(root).value_or(cpus));
}

}  // namespace parallax
