// The regions that plans of a session leave to the CPU because a delegate refused them: in all
// plans, in those for one binding, or in those for a while. A plan that knows of a refusal has the
// CPU's own fusions and layouts for these nodes, which the substitute of a region has not. Internal
// to session/.
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

class Refusals {
 public:
  /// Bindings with refusals that are kept; a session may see any number of sizes. What is forgotten
  /// is refused once more.
  static constexpr std::size_t kMostBindings = 1024;

  /// Counts refusals that are of all plans. That of a plan is read before of().
  std::uint64_t version() const;
  /// The nodes that a plan for `binding` leaves to the CPU.
  std::vector<RefusedRegion> of(const Binding& binding) const;
  /// Notes the refusals of a plan for `binding` that was made by `version`. True if another plan
  /// would be made now.
  bool add(const Binding& binding, std::uint64_t version, std::vector<RefusedRegion> regions);
  /// Counts a run of `binding`. True if a pause ends with it, so that another plan would be made.
  bool count_run(const Binding& binding);
  /// True if there was a refusal.
  bool forget();

 private:
  struct Held {
    RefusedRegion region;
    std::uint64_t version = 0;  ///< for all plans: those made since know of it
    RetryPause pause = {};      ///< of kMoment
    bool is_left_out() const { return region.kind != Refusal::kMoment || pause.is_on(); }
  };
  using Key = std::vector<std::optional<std::int64_t>>;  // of a Binding

  bool add_for_all(std::uint64_t version, RefusedRegion region) PX_REQUIRES(mutex_);
  bool add_for(const Key& key, RefusedRegion region) PX_REQUIRES(mutex_);

  std::atomic<bool> has_pauses_{false};
  mutable Mutex mutex_;
  std::uint64_t version_ PX_GUARDED_BY(mutex_) = 0;
  std::vector<Held> for_all_ PX_GUARDED_BY(mutex_);
  std::map<Key, std::vector<Held>> by_binding_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
