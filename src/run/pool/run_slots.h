// Slots for concurrent runs in a pool. A run that finds no free slot waits, first come, first
// served. A run also gets a range of workers that may help it: consecutive, so that an index in the
// range identifies its threads, and the least loaded by other runs.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/mutex.h"

namespace parallax {

/// A range of workers: `first` to `first` + `width` - 2, which are `width` threads with the caller.
/// Workers are numbered from 1; 0 is a caller. `width` of 1: only the caller.
struct WorkerRange {
  std::uint32_t first = 1, width = 1;

  /// Whether the range contains a worker; false for a caller. The unsigned difference also rejects
  /// numbers below `first`.
  bool has(int worker) const { return static_cast<std::uint32_t>(worker) - first < width - 1; }
  /// The index of a thread in the run: 0 for the caller, 1 to width - 1 for workers of the range.
  int index(int worker) const { return worker == 0 ? 0 : worker - static_cast<int>(first) + 1; }
};

/// The slots of one pool.
class RunSlots {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};  ///< the index of no slot
  /// A slot and its workers.
  struct Slot {
    std::size_t index = kNone;  ///< kNone: no slot was free
    WorkerRange workers;
  };

  /// `slots`: the number of slots; `workers`: the most workers that there will be. Allocates for
  /// both numbers here, so that slots need no memory later, except for the list of waiting runs.
  RunSlots(std::size_t slots, int workers);

  /// The number of slots.
  std::size_t count() const { return count_; }
  /// Blocks until there is a slot for a run of `width` threads, up to `deadline`; returns kNone if
  /// that passes. `workers`: the workers that exist now. A stop request ends the wait, too. A run
  /// gets fewer threads than `width` if fewer workers exist.
  Slot wait_for(int width, int workers, const Deadline& deadline);
  /// Non-blocking variant; returns kNone if no slot is free or other runs wait. Does not overtake a
  /// waiting run.
  Slot take_free(int width, int workers);
  /// Frees a slot. REQUIRES: the slot was returned by one of the above and not freed since. Wakes
  /// waiting runs.
  void leave(const Slot& slot);

  /// An upper bound: no run has this slot or a later one.
  std::size_t end() const { return end_.load(); }
  /// Number of runs that wait; for tests.
  std::size_t waiting() const;

 private:
  bool is_free() const PX_REQUIRES(mutex_);
  Slot take(int width, int workers) PX_REQUIRES(mutex_);
  /// Returns the number of the first of `helpers` consecutive workers.
  std::uint32_t least_busy(std::uint32_t helpers, std::uint32_t workers) const PX_REQUIRES(mutex_);
  void find_end() PX_REQUIRES(mutex_);

  const std::size_t count_;
  std::atomic<std::size_t> end_{0};
  mutable Mutex mutex_;
  Condition changed_;
  std::vector<bool> taken_ PX_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> runs_of_ PX_GUARDED_BY(mutex_);  // runs of worker i + 1
  // The waiting runs in order of arrival, each identified by a unique address.
  std::vector<const void*> waiting_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
