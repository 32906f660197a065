// How many CPUs this process may use. Thread-safety: pure functions over the system's state.
#pragma once

#include <filesystem>
#include <optional>

namespace parallax {

/// The CPU quota of the tightest control group, in CPUs, rounded up; nothing where no group has a
/// quota. Paths are read below `root`.
std::optional<int> cpu_quota(const std::filesystem::path& root = "/");

/// The CPUs of the affinity mask, at most the quota; at least 1.
int usable_cpus(const std::filesystem::path& root = "/");

}  // namespace parallax
