// Where a thread of a pool offers work, and what it does while it waits. Internal to run/.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "run/pool/idle.h"
#include "run/pool/worker_pool.h"

namespace parallax {

/// How long a thread looks for the next node before it parks: during a run, where the next node
/// that has tiles is seldom further away, and after one, because the next run may follow at once.
/// On two Zen 4 cores of a virtual machine waking a thread takes 10 microseconds of the thread that
/// wakes it, and it runs 40 microseconds later.
inline constexpr std::chrono::microseconds kSpinInRun{200}, kSpinAfterRun{50};

/// Where a participant offers work. A helper announces itself in `users` before it looks at `work`,
/// and the owner takes `work` away before it waits for `users` to reach 0 (all sequentially
/// consistent): so a helper never touches work whose owner has gone on.
struct WorkerPool::Slot {
  alignas(64) std::atomic<SharedWork*> work{nullptr};
  std::atomic<const void*> team{nullptr};
  std::atomic<WorkerRow> row{};                     // of the team
  std::atomic<std::int64_t> all{0};                 // indices offered
  alignas(64) std::atomic<std::uint64_t> range{0};  // indices left: first in the low half, then end
  alignas(64) std::atomic<int> users{0};
  std::atomic<bool> owner_parks{false};
  std::atomic<bool> owner_waits{false};  // among parked_, for `users`

  void open(std::int64_t count, const void* whose, WorkerRow helpers, SharedWork& what) {
    all.store(count, std::memory_order_relaxed);
    range.store(static_cast<std::uint64_t>(count) << 32, std::memory_order_relaxed);
    team.store(whose, std::memory_order_relaxed);
    row.store(helpers, std::memory_order_relaxed);
    work.store(&what);
  }

  /// Takes the work away and waits for those who still do some of it.
  void close() {
    work.store(nullptr);
    for (Idle idle; users.load() != 0;) {
      if (idle.spin(kSpinInRun)) continue;
      owner_parks.store(true);
      if (const int left = users.load(); left != 0) users.wait(left);
      owner_parks.store(false);
    }
  }

  /// Whether the owner is to be woken.
  bool leave() {
    const bool last = users.fetch_sub(1) == 1;
    if (owner_parks.load()) users.notify_all();
    return last && owner_waits.load();
  }

  static std::uint32_t first(std::uint64_t range) { return static_cast<std::uint32_t>(range); }
  static std::uint32_t end(std::uint64_t range) { return static_cast<std::uint32_t>(range >> 32); }

  bool has_work() const {
    const std::uint64_t left = range.load();
    return first(left) < end(left) && work.load() != nullptr;
  }

  /// Whether a worker may help, or, where it works for `whose`, that is who offers this work.
  bool takes(int worker, const void* whose) const {
    return whose == nullptr ? row.load(std::memory_order_relaxed).has(worker)
                            : whose == team.load(std::memory_order_relaxed);
  }

  /// The next index, -1 where none is left. Of tiles the owner takes the front and helpers the
  /// back: over the nodes of a branch each thread mostly works where it worked before, which is
  /// what its cache holds. tile() then lets helpers go upwards too, as kernels prefetch.
  std::int64_t take(bool front) {
    std::uint64_t left = range.load(std::memory_order_relaxed);
    while (first(left) < end(left)) {
      const std::uint64_t rest = front ? left + 1 : left - (std::uint64_t{1} << 32);
      if (range.compare_exchange_weak(left, rest, std::memory_order_relaxed))
        return front ? first(left) : end(left) - 1;
    }
    return -1;
  }

  /// The second half in reverse.
  std::int64_t tile(std::int64_t index) const {
    const std::int64_t count = all.load(std::memory_order_relaxed), half = count / 2;
    return index < half ? index : half + (count - 1 - index);
  }
};

}  // namespace parallax
