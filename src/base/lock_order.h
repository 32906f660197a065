// Defines the order in which a thread locks mutexes; no other file does.
//
// A thread that holds a lock only takes locks further down the list, so that two threads cannot
// wait for each other. Give a lock its order where it is defined; the default is kInnermost, under
// which a thread takes no other lock.
//
// The first ones are turns: the holder does work, possibly slow, that other threads would otherwise
// repeat. Hold only turns while foreign code runs (functions of a delegate, or the user's log,
// allocator or thread pool) and while a plan is destroyed, which calls its delegate. Under other
// locks, move evicted objects out and destroy them after unlocking.
//
// Builds with assertions check these rules at each lock, through Mutex (base/mutex.h), and at each
// call of foreign code, through expect_only_turns(). To add a lock, insert it above all locks that
// its holder takes.
//
// Thread-safety: HeldLocks belongs to one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

/// The position of a lock in the order. The first group are turns, the rest are plain locks. Two
/// locks of one order are never held together, except those of is_nested().
enum class LockOrder : std::uint8_t {
  // Turns.
  kState,            ///< State: one run or change at a time
  kOpening,          ///< Delegates: a delegate is loaded and opened once
  kPlanning,         ///< PlanCache: a binding is planned once
  kMeasuring,        ///< DelegateRates: one thread times a device
  kAsking,           ///< OpenDelegate: a device is asked about one node at a time
  kPreparing,        ///< DelegateDevice: regions of a plan are prepared once
  kBindingRegion,    ///< RunTimeRegion: sizes that become known during a run are bound once
  kCompiling,        ///< RegionState: a region is compiled once
  kCalling,          ///< CompiledRegion: a delegate gets one call about a region at a time
  kTuning,           ///< OpenCL: a device is tuned once
  kBuilding,         ///< OpenCL: a program is built once
  kStaging,          ///< OpenCL: pinned memory is allocated once
  kPacking,          ///< PlanCache: one thread packs weights, with the help of the pool
  kRewriting,        ///< GraphVariants: a form of the graph is created once
  kBinding,          ///< Bound: bind() runs once
  kDeferred,         ///< deferred constants: computed once, after their sources
  kFilling,          ///< PackedWeights: a block is filled once
  kListOfPrefaults,  ///< WeightPrefault: starts and joins threads, which a child of fork() lacks
  kPrefaulting,      ///< WeightMemory: one thread touches pages, or promotes them to large ones
  kGrowing,          ///< WeightMemory: one thread allocates more

  // Locks whose holder takes others.
  kRuntime,       ///< the shared runtime
  kAccount,       ///< MemoryAccount
  kPlans,         ///< PlanCache
  kSteps,         ///< AsyncSteps
  kRegions,       ///< RegionStore
  kBoundRegions,  ///< RunTimeRegion
  kObjects,       ///< ObjectAccount
  kAsyncRuns,     ///< AsyncRuns
  kWorkers,       ///< Workers
  kStarting,      ///< WorkerPool: threads are started
  kGuest,         ///< WorkerPool::Guest
  kCommands,      ///< ClContext
  kWeights,       ///< PackedWeights, ConstantStore
  kWeightCache,   ///< WeightCache

  kInnermost,
};

/// Returns whether foreign code may run under locks of this order.
constexpr bool is_turn(LockOrder order) { return order <= LockOrder::kGrowing; }
/// Returns whether a thread may hold several locks of this order: sources of deferred constants may
/// be deferred too.
constexpr bool is_nested(LockOrder order) { return order == LockOrder::kDeferred; }

/// Whether locks are checked: in builds with assertions only. Other builds do not record locks.
#ifdef NDEBUG
inline constexpr bool kLocksAreChecked = false;
#else
inline constexpr bool kLocksAreChecked = true;
#endif

/// The locks that a thread holds, at most 32. More than 32 would fail an assertion; no path holds
/// nearly that many. Locks may be released in any order.
class HeldLocks {
 public:
  /// Returns the locks of the calling thread; always empty in builds that do not check them.
  static HeldLocks& mine() noexcept {
    static thread_local HeldLocks held;
    return held;
  }

  /// Returns whether the thread may wait for a lock of this order without violating the order.
  /// Looks at all locks that the thread holds, not only at the last one.
  bool may_take(LockOrder order) const noexcept {
    return std::ranges::all_of(held(), [order](const Held& each) {
      return each.order < order || (each.order == order && is_nested(order));
    });
  }
  /// Returns whether the thread holds no locks but turns.
  bool are_turns() const noexcept { return may_wait_with(nullptr); }
  /// Returns whether the thread may wait on a condition that `lock` guards: all its other locks are
  /// turns.
  bool may_wait_with(const void* lock) const noexcept {
    return std::ranges::all_of(
        held(), [lock](const Held& each) { return each.lock == lock || is_turn(each.order); });
  }

  /// Records a lock, identified by its address, that the thread has just taken.
  void add(const void* lock, LockOrder order) noexcept {
    assert(count_ < held_.size());
    held_[count_++] = {lock, order};
  }
  /// Removes a lock that the thread is about to release. REQUIRES: it was added.
  void remove(const void* lock) noexcept {
    const auto all = std::span(held_).first(count_);
    const auto found = std::ranges::find(all, lock, &Held::lock);
    assert(found != all.end());
    std::move(found + 1, all.end(), found);
    --count_;
  }

 private:
  /// A lock that the thread holds, identified by its address.
  struct Held {
    const void* lock = nullptr;
    LockOrder order = LockOrder::kInnermost;
  };
  /// Returns the locks in the order in which they were taken.
  std::span<const Held> held() const noexcept { return std::span(held_).first(count_); }

  std::array<Held, 32> held_{};
  std::size_t count_ = 0;
};

/// Asserts that this thread holds no lock other than turns. Call it before foreign code and in
/// destructors of plans.
inline void expect_only_turns() noexcept { assert(HeldLocks::mine().are_turns()); }

}  // namespace parallax
