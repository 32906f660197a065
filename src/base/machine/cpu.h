// Counts the CPUs that this process may use. Thread-safety: pure functions over the system's state.
#pragma once

#include <filesystem>
#include <optional>

namespace parallax {

/// Returns the CPU quota of the tightest control group, in CPUs, rounded up; nullopt if no group
/// has a quota. Paths are read below `root`.
std::optional<int> cpu_quota(const std::filesystem::path& root = "/");

/// Returns the number of CPUs in the affinity mask of the calling thread, limited by the quota; at
/// least 1.
int usable_cpus(const std::filesystem::path& root = "/");

}  // namespace parallax
