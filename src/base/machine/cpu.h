// Counts the CPUs that this process may use. Thread-safety: pure functions over the system's state.
//
// Used for default thread counts, by pools, and to find out whether a CPU is left for prefaulting
// weights or timing cores. Each call asks the system again. May throw std::bad_alloc.
#pragma once

#include <filesystem>
#include <optional>

namespace parallax {

/// Returns the CPU quota of the tightest control group, in CPUs, rounded up; nullopt if no group
/// has a quota. Paths are read below `root`. Reads cpu.max of version 2, cpu.cfs_quota_us and
/// cpu.cfs_period_us of version 1. At most 65,536.
std::optional<int> cpu_quota(const std::filesystem::path& root = "/");

/// Returns the number of CPUs in the affinity mask of the calling thread, limited by the quota; at
/// least 1. If the mask cannot be read, it counts all CPUs of the system.
int usable_cpus(const std::filesystem::path& root = "/");

}  // namespace parallax
