// The order in which a thread takes locks. It is written down here and nowhere else.
//
// A thread that holds a lock takes only those further down the list, so that no two threads wait
// for each other. A lock is kInnermost unless it says otherwise: its holder takes no other.
//
// The first ones are turns: the holder does work, possibly slow, that other threads would otherwise
// repeat. Only turns may be held while foreign code runs (a delegate's functions, a log, allocator
// or thread pool that the user gave) or a plan is destroyed, which calls its delegate. Under any
// other lock, evicted objects are moved out and destroyed after it is released.
//
// Builds with assertions check these rules at each lock and at each call of foreign code.
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

enum class LockOrder : std::uint8_t {
  // Turns.
  kState,            ///< State: one run or change at a time
  kOpening,          ///< Delegates: a delegate is loaded and opened once
  kPlanning,         ///< PlanCache: a binding is planned once
  kMeasuring,        ///< DelegateRates: one thread times a device
  kPreparing,        ///< DelegateDevice: regions of a plan are prepared once
  kBindingRegion,    ///< RunTimeRegion: sizes that running has told are bound once
  kCompiling,        ///< RegionState: a region is compiled once
  kCalling,          ///< CompiledRegion: a delegate gets one call about a region at a time
  kTuning,           ///< OpenCL: a device is tuned once
  kBuilding,         ///< OpenCL: a program is built once
  kStaging,          ///< OpenCL: pinned memory is allocated once
  kPacking,          ///< PlanCache: one thread packs weights, with the help of the pool
  kRewriting,        ///< GraphForms: a form of the graph is made once
  kBinding,          ///< Bound: bind() is done once
  kDeferred,         ///< deferred constants: computed once, after their sources
  kFilling,          ///< PackedWeights: a block is filled once
  kListOfPrefaults,  ///< WeightPrefault: threads that fork() ends begin and end
  kPrefaulting,      ///< WeightMemory: one thread touches pages, or makes them large
  kGrowing,          ///< WeightMemory: one thread asks for more

  // Locks whose holder takes others.
  kRuntime,       ///< the shared runtime
  kAccount,       ///< MemoryAccount
  kPlans,         ///< PlanCache
  kSteps,         ///< OutsideSteps
  kRegions,       ///< RegionStore
  kBoundRegions,  ///< RunTimeRegion
  kObjects,       ///< ObjectAccount
  kAsyncRuns,     ///< AsyncRuns
  kWorkers,       ///< Workers
  kStarting,      ///< WorkerPool: threads begin
  kGuest,         ///< WorkerPool::Guest
  kCommands,      ///< ClContext
  kWeights,       ///< PackedWeights, ConstantStore
  kWeightCache,   ///< WeightCache

  kInnermost,
};

constexpr bool is_turn(LockOrder order) { return order <= LockOrder::kGrowing; }
/// A thread may hold several of this order: sources of deferred constants may be deferred too.
constexpr bool is_nested(LockOrder order) { return order == LockOrder::kDeferred; }

#ifdef NDEBUG
inline constexpr bool kLocksAreChecked = false;
#else
inline constexpr bool kLocksAreChecked = true;
#endif

/// The locks that a thread holds.
class HeldLocks {
 public:
  /// The locks of the calling thread; empty in builds that do not check them.
  static HeldLocks& mine() noexcept {
    static thread_local HeldLocks held;
    return held;
  }

  bool may_take(LockOrder order) const noexcept {
    return std::ranges::all_of(held(), [order](const Held& each) {
      return each.order < order || (each.order == order && is_nested(order));
    });
  }
  bool are_turns() const noexcept { return may_wait_with(nullptr); }
  /// Whether the thread may wait until another one changes what `lock` guards.
  bool may_wait_with(const void* lock) const noexcept {
    return std::ranges::all_of(
        held(), [lock](const Held& each) { return each.lock == lock || is_turn(each.order); });
  }

  void add(const void* lock, LockOrder order) noexcept {
    assert(count_ < held_.size());
    held_[count_++] = {lock, order};
  }
  void remove(const void* lock) noexcept {
    const auto all = std::span(held_).first(count_);
    const auto found = std::ranges::find(all, lock, &Held::lock);
    assert(found != all.end());
    std::move(found + 1, all.end(), found);
    --count_;
  }

 private:
  struct Held {
    const void* lock = nullptr;
    LockOrder order = LockOrder::kInnermost;
  };
  std::span<const Held> held() const noexcept { return std::span(held_).first(count_); }

  std::array<Held, 32> held_{};
  std::size_t count_ = 0;
};

/// REQUIRES: this thread holds no lock but turns. Called before foreign code and by destructors of
/// plans.
inline void expect_unlocked() noexcept { assert(HeldLocks::mine().are_turns()); }

}  // namespace parallax
