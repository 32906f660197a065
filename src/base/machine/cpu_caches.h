// The data caches of a core. Thread-safety: pure functions over the system's state.
#pragma once

#include <cstdint>
#include <filesystem>

namespace parallax {

/// Bytes. What the system does not tell is as here, which is what a core of a Zen 4 has. What it
/// tells counts as a sixteenth of that at least and a thousand times it at most; the last level as
/// no less than the second.
struct CpuCaches {
  std::int64_t l1 = 32 << 10;      ///< first level
  std::int64_t l1_way = 4 << 10;   ///< from one address to the next that wants the same set of it
  std::int64_t l2 = 1 << 20;       ///< second level; a core's share where several have one
  std::int64_t last = 32LL << 20;  ///< last level, of all cores that share it

  bool operator==(const CpuCaches&) const = default;
};

/// Of the first CPU: always the same where cores differ. Files are read below `root`; for sizes
/// that they lack, `ask` is asked.
CpuCaches cpu_caches(const std::filesystem::path& root, long (*ask)(int name));
/// Of this machine: files first, because sysconf() tells a virtual machine the last level of its
/// host.
CpuCaches cpu_caches();

}  // namespace parallax
