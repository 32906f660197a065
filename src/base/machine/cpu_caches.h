// Sizes of the data caches of a core, for tile sizes of kernels. Thread-safe: reads system files.
#pragma once

#include <cstdint>
#include <filesystem>

namespace parallax {

/// Sizes in bytes. Defaults, used for sizes that the system does not report, are those of a Zen 4
/// core. Reported sizes are limited to between a sixteenth and a thousand times the default; the
/// last level is at least as large as the second.
struct CpuCaches {
  std::int64_t l1 = 32 << 10;      ///< first level
  std::int64_t l1_way = 4 << 10;   ///< distance of addresses that map to the same set of the first
                                   ///< level
  std::int64_t l2 = 1 << 20;       ///< second level; the share of one core if several cores use it
  std::int64_t last = 32LL << 20;  ///< last level; shared by all cores that use it

  bool operator==(const CpuCaches&) const = default;
};

/// Returns the caches of the first CPU, so that the result is the same on every core. Reads files
/// below `root`, "/" or a test's; `ask`, like sysconf(), provides sizes that they lack. Files are
/// those of cpu0 in sys/devices/system/cpu; at most 16 caches are looked at, caches of instructions
/// are passed over. A first level that several threads of a core share counts for the core.
CpuCaches cpu_caches(const std::filesystem::path& root, long (*ask)(int name));
/// Returns the caches of this machine. Files take precedence, because in a virtual machine
/// sysconf() reports the last level of the host.
CpuCaches cpu_caches();

}  // namespace parallax
