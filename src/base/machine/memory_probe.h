// Measures how much more memory this process could use, and whether the system is short of it.
//
// Used for automatic budgets (base/machine/budget.h), and by packed weights to stop touching pages
// ahead of need when memory becomes short.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/cgroup.h"
#include "base/mutex.h"

namespace parallax {

/// Memory pressure as reported by the kernel's pressure stall information (PSI): the share of the
/// last ten seconds in which tasks were stalled waiting for memory.
enum class MemoryPressure : std::uint8_t {
  kNone,     ///< below both thresholds, or the kernel does not say
  kSome,     ///< some task was stalled for kSomeStalledPercent of the time
  kStalled,  ///< all tasks were stalled at the same time for kAllStalledPercent of the time
};
/// Thresholds in per cent. At a tenth of the time, reclaim costs more than running branches
/// concurrently can gain on the models of the paper (1.09 to 1.45 times). Android's low memory
/// killer acts at 7 to 20 % of `some` and at 70 % of `full`, systemd-oomd at 60 % of `full`. Both
/// kill processes; Parallax reduces its memory use before that.
inline constexpr double kSomeStalledPercent = 10;
inline constexpr double kAllStalledPercent = 10;

/// The state of memory at one moment.
struct MemoryState {
  /// The minimum of: the system's available memory, the remainder in each control group above this
  /// process (idle page cache counts as free), and the remainder of the address space under
  /// RLIMIT_AS. Bytes, >= 0; nullopt if none of these can be read.
  std::optional<std::int64_t> free;
  /// The worst of the system's pressure and that of each version 2 control group above this
  /// process.
  MemoryPressure pressure = MemoryPressure::kNone;

  friend bool operator==(const MemoryState&, const MemoryState&) = default;
};

/// Returns whether RLIMIT_AS or RLIMIT_DATA limits the addresses that this process may map. Asks
/// the system at each call. Pages of weights are not touched ahead of need then.
bool addresses_are_limited();

/// Reads the state of memory; all paths are below `root`, "/" except in tests. A reading needs 78
/// us (three control groups of version 1, one of version 2; 8 to 17 us per file), or 240 us when
/// the groups must be looked up. Thread-safe.
class MemoryProbe {
 public:
  /// `root`: "/" except in tests.
  explicit MemoryProbe(std::filesystem::path root = "/") : root_(std::move(root)) {}
  /// Returns the current state. Files that cannot be read are ignored. May throw std::bad_alloc.
  MemoryState read();

 private:
  /// Returns the memory groups of this process, looked up again if it has moved. Locks mutex_ after
  /// it has read the file of memberships.
  std::vector<Cgroup> groups();

  const std::filesystem::path root_;
  Mutex mutex_;
  // Looked up again if the process has moved to another group.
  std::optional<std::string> membership_ PX_GUARDED_BY(mutex_);
  std::vector<Cgroup> groups_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
