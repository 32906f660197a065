// How much memory this process could still take, and whether the system is short of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/cgroup.h"
#include "base/mutex.h"

namespace parallax {

/// What the kernel's pressure stall information (PSI) says about memory: the share of the last ten
/// seconds in which tasks stood still because they waited for memory.
enum class MemoryPressure : std::uint8_t {
  kNone,     ///< below both thresholds, or the kernel does not say
  kSome,     ///< some task stood still for kSomeStalledPercent of the time
  kStalled,  ///< all tasks did at once for kAllStalledPercent of the time
};
/// A tenth of the time: reclaim costs more than what running branches at once can gain on the
/// models of the paper (1.09 to 1.45 times). Android's low memory killer acts at 7 to 20 % of
/// `some` and at 70 % of `full`, systemd-oomd at 60 % of `full`. Both kill processes; Parallax
/// steps back before that.
inline constexpr double kSomeStalledPercent = 10;
inline constexpr double kAllStalledPercent = 10;

struct MemoryState {
  /// The least of: the system's available memory, what each control group above this process still
  /// grants (idle page cache counts as free), and what RLIMIT_AS leaves of the address space. In
  /// bytes, >= 0; nothing where none of these can be read.
  std::optional<std::int64_t> free;
  /// The worst of the system's and of each control group of version 2 above this process.
  MemoryPressure pressure = MemoryPressure::kNone;

  friend bool operator==(const MemoryState&, const MemoryState&) = default;
};

/// Whether RLIMIT_AS or RLIMIT_DATA limits the addresses that this process may map.
bool addresses_are_limited();

/// Reads the state of memory; all paths lie below `root`, "/" except in tests. A reading takes 78
/// us (three control groups of version 1, one of version 2; 8 to 17 us a file), 240 before the
/// groups were kept. Thread-safe.
class MemoryProbe {
 public:
  explicit MemoryProbe(std::filesystem::path root = "/") : root_(std::move(root)) {}
  MemoryState read();

 private:
  std::vector<Cgroup> groups();

  const std::filesystem::path root_;
  Mutex mutex_;
  // Looked up again when the process has moved.
  std::optional<std::string> membership_ PX_GUARDED_BY(mutex_);
  std::vector<Cgroup> groups_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
