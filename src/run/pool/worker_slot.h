// A slot in which a thread of a pool offers work. Internal to run/.
//
// The pool has one slot for branches and one for tiles per run, and one for tiles per worker. The
// owner opens and closes it; all other functions are for any thread. Everything is lock-free,
// except for the sleep in close().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "run/pool/idle.h"
#include "run/pool/worker_pool.h"

namespace parallax {

/// The time that a thread looks for work before it parks: during a run, because the next node with
/// tiles is seldom further away; and after a run, because the next may follow immediately. On two
/// Zen 4 cores of a virtual machine, waking a thread costs the waking thread 10 microseconds, and
/// the other runs 40 microseconds later.
inline constexpr std::chrono::microseconds kSpinInRun{200}, kSpinAfterRun{50};

/// The work that a participant offers. A helper announces itself in `users` before it reads `work`,
/// and the owner removes `work` before it waits for `users` to reach 0 (all sequentially
/// consistent): so a helper never accesses work whose owner has continued.
struct WorkerPool::Slot {
  alignas(64) std::atomic<SharedWork*> work{nullptr};  // null: nothing is offered
  std::atomic<const void*> team{nullptr};              // the run that offers it
  std::atomic<WorkerRange> workers{};                  // the workers of that run
  std::atomic<std::int64_t> all{0};                    // indices offered
  alignas(64) std::atomic<std::uint64_t> range{0};  // indices left: first in the low half, then end
  alignas(64) std::atomic<int> users{0};
  std::atomic<bool> owner_parks{false};
  std::atomic<bool> owner_waits{false};  // in parked_, for `users`

  /// Offers `count` indices of `what`, of the run `whose`, to the workers `helpers`. REQUIRES:
  /// count < 2^32, and the slot is closed. `what` must live until close() returns.
  void open(std::int64_t count, const void* whose, WorkerRange helpers, SharedWork& what) {
    all.store(count, std::memory_order_relaxed);
    range.store(static_cast<std::uint64_t>(count) << 32, std::memory_order_relaxed);
    team.store(whose, std::memory_order_relaxed);
    workers.store(helpers, std::memory_order_relaxed);
    work.store(&what);
  }

  /// Removes the work, and blocks until no helper runs any of it. Spins for kSpinInRun, then sleeps
  /// until the last helper leaves.
  void close() {
    work.store(nullptr);
    for (Idle idle; users.load() != 0;) {
      if (idle.spin(kSpinInRun)) continue;
      owner_parks.store(true);
      if (const int left = users.load(); left != 0) users.wait(left);
      owner_parks.store(false);
    }
  }

  /// Ends the help of a thread. Returns whether the owner must be woken. The helper must not access
  /// the work after it.
  bool leave() {
    const bool last = users.fetch_sub(1) == 1;
    if (owner_parks.load()) users.notify_all();
    return last && owner_waits.load();
  }

  /// The two halves of `range`: the first index that is left, and the end.
  static std::uint32_t first(std::uint64_t range) { return static_cast<std::uint32_t>(range); }
  static std::uint32_t end(std::uint64_t range) { return static_cast<std::uint32_t>(range >> 32); }

  /// May be outdated when it returns: take() decides.
  bool has_work() const {
    const std::uint64_t left = range.load();
    return first(left) < end(left) && work.load() != nullptr;
  }

  /// Whether a worker may help; for a thread that works for the run `whose`, whether that offers
  /// this work.
  bool takes(int worker, const void* whose) const {
    return whose == nullptr ? workers.load(std::memory_order_relaxed).has(worker)
                            : whose == team.load(std::memory_order_relaxed);
  }

  /// Takes the next index; -1 if none is left. The owner takes tiles from the front and helpers
  /// from the back: over the nodes of a branch each thread mostly works on the part that it worked
  /// on before, which is in its cache. tile() makes helpers ascend too, because kernels prefetch.
  /// Each index is given to one thread.
  std::int64_t take(bool front) {
    std::uint64_t left = range.load(std::memory_order_relaxed);
    while (first(left) < end(left)) {
      const std::uint64_t rest = front ? left + 1 : left - (std::uint64_t{1} << 32);
      if (range.compare_exchange_weak(left, rest, std::memory_order_relaxed))
        return front ? first(left) : end(left) - 1;
    }
    return -1;
  }

  /// Returns the tile of an index: the second half is reversed.
  std::int64_t tile(std::int64_t index) const {
    const std::int64_t count = all.load(std::memory_order_relaxed), half = count / 2;
    return index < half ? index : half + (count - 1 - index);
  }
};

}  // namespace parallax
