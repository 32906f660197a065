// The regions that plans of a session leave to the CPU because a delegate refused them: in all
// plans, in those for one binding, or in those for a number of runs. A plan made after a refusal
// uses the CPU's own fusions and layouts for these nodes, which the fallback of a region lacks.
// Internal to session/.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "delegate_host/refusal.h"
#include "ir/graph.h"

namespace parallax {

/// The refusals of one session.
class Refusals {
  using Key = std::vector<std::optional<std::int64_t>>;  // Binding::symbols

 public:
  /// Limit on bindings with refusals: a session may see any number of sizes. An evicted refusal is
  /// learned again when the delegate refuses once more.
  static constexpr std::size_t kMaxBindings = 1024;

  /// Number of refusals so far that hold for all plans. A plan must read it before of().
  std::uint64_t version() const;
  /// Returns the nodes that a plan for `binding` leaves to the CPU.
  std::vector<RefusedRegion> of(const Binding& binding) const;
  /// Adds the refusals of a plan for `binding` that was made at `version`. Returns whether another
  /// plan would be made now.
  bool add(const Binding& binding, std::uint64_t version, std::vector<RefusedRegion> regions);
  /// Counts a run of `binding`. Returns whether it ends a pause, so that another plan would be
  /// made.
  bool count_run(const Binding& binding);
  /// Removes all refusals, except those of CpuOnly. Returns whether there was one.
  bool forget();

  /// Leaves nodes of a binding to the CPU while it lives, for a run that has room for nothing else.
  /// `all` must outlive it.
  class CpuOnly {
   public:
    CpuOnly(Refusals& all, const Binding& binding, std::vector<RefusedRegion> regions);
    ~CpuOnly();
    CpuOnly(const CpuOnly&) = delete;
    CpuOnly& operator=(const CpuOnly&) = delete;

   private:
    Refusals& all_;
    std::multimap<Key, std::vector<RefusedRegion>>::iterator place_;
  };

 private:
  struct Held {
    RefusedRegion region;
    std::uint64_t version = 0;  ///< if it holds for all plans: plans made at this version know it
    RetryPause pause = {};      ///< for Refusal::kMoment
    bool is_left_out() const { return region.kind != Refusal::kMoment || pause.is_on(); }
  };

  bool add_for_all(std::uint64_t version, RefusedRegion region) PX_REQUIRES(mutex_);
  bool add_for(const Key& key, RefusedRegion region) PX_REQUIRES(mutex_);

  std::atomic<bool> has_pauses_{false};
  mutable Mutex mutex_;
  std::uint64_t version_ PX_GUARDED_BY(mutex_) = 0;
  std::vector<Held> for_all_ PX_GUARDED_BY(mutex_);
  std::map<Key, std::vector<Held>> by_binding_ PX_GUARDED_BY(mutex_);
  std::multimap<Key, std::vector<RefusedRegion>> cpu_only_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
