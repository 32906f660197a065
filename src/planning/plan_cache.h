// Programs by binding, as many as fit a limit of bytes; the least recently used is forgotten first.
// Each binding has a program that uses all the memory it likes and, where a budget was smaller, a
// program that fits it.
//
// Thread-safe. Two threads that ask for the same new binding make it once; other bindings do not
// wait. A thread that waits for another thread's plan gives up when its time is over.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "base/machine/budget.h"
#include "base/mutex.h"
#include "base/recently_used.h"
#include "bind/program.h"
#include "parallax/report.h"
#include "planning/graph_forms.h"

namespace parallax {

/// A binding of DistilBERT takes 106 KiB (139 nodes), one of CLIP's text encoder 239 KiB: there is
/// room for all 128 sequence lengths of the former and for 70 of the latter.
inline constexpr std::int64_t kPlanCacheBytes = std::int64_t{16} << 20;

class PlanCache {
  struct Entry {
    TimedMutex mutex{LockOrder::kPlanning};
    std::shared_ptr<Bound> bound PX_GUARDED_BY(mutex);
    std::shared_ptr<const Program> free_choice PX_GUARDED_BY(mutex), small PX_GUARDED_BY(mutex),
        least PX_GUARDED_BY(mutex);
    int only_least PX_GUARDED_BY(mutex) = 0;               // runs that take `least`
    int pause PX_GUARDED_BY(mutex) = kFirstPause;          // runs of the last pause
    int since_pause PX_GUARDED_BY(mutex) = kLongestPause;  // runs after it
    bool changed PX_GUARDED_BY(mutex) = true;              // since its bytes were counted
    bool may_change PX_GUARDED_BY(mutex) = false;          // as it runs
  };
  struct Held {
    std::shared_ptr<Entry> entry;
    std::int64_t bytes = 0;  ///< as counted last
  };
  struct BindingHash {
    std::size_t operator()(const Binding& binding) const;
  };
  using Entries = RecentlyUsed<Binding, Held, BindingHash>;

 public:
  /// Bindings that are no longer held. Who gets them destroys them without a lock: plans have
  /// devices.
  using Forgotten = Entries::Forgotten;

  struct Options {
    KernelChoice kernels = {};
    bool parallel = true;
    int threads = 1;
    Admission admission = Admission::kTimeSaved;
    Refinement refinement = Refinement::kTime;
    std::int64_t bytes = kPlanCacheBytes;
    /// Compiles for a binding where a delegate has a part; null: the form of the binding is.
    std::function<Result<std::shared_ptr<Bound>>(const Binding&)> make = nullptr;
  };
  /// bind() packs weights by `parallel`.
  PlanCache(std::shared_ptr<GraphForms> forms, const Options& options,
            ParallelFor parallel = serial_for)
      : forms_(std::move(forms)), options_(options), parallel_(std::move(parallel)) {}

  /// A program whose bytes fit the budget; the smallest one where branches must not run at once.
  /// `explain`: its plan is Plan::explained. `deadline` ends the wait for another thread
  /// that plans `binding`, not planning. Errors: as compile() and lay_out(), kLimitExceeded.
  Result<std::shared_ptr<const Program>> get(const Binding& binding, const RunBudget& budget,
                                             bool explain = false, const Deadline& deadline = {});
  /// The smallest program, for a run that found no room for what it allocates while running. The
  /// next kFirstPause runs of `binding` take it too; then larger ones are tried again. If one of
  /// these fails within as many runs, the next pause is twice as long: in a lasting shortage only
  /// one run in kLongestPause starts and fails.
  static constexpr int kFirstPause = 16, kLongestPause = 1024;
  Result<std::shared_ptr<const Program>> shrink(const Binding& binding,
                                                const Deadline& deadline = {});

  /// Bytes of the smallest program. Errors: as get() without a budget.
  Result<std::int64_t> least_bytes(const Binding& binding, const Deadline& deadline = {});

  /// Runs that begin from now on plan `binding` anew.
  void forget(const Binding& binding);
  /// The same for all bindings.
  void forget_all();
  /// The same, for the caller to destroy.
  void forget_all(Forgotten& forgotten);
  /// Moves the least recently used binding to `forgotten`. False: the latest alone is left.
  bool forget_oldest(Forgotten& forgotten);
  /// Whether plans may have delegates, which keep memory for them.
  bool has_delegates() const { return options_.make != nullptr; }

  /// Packs what the program's kernels read, before it runs. `deadline` ends the wait for another
  /// thread that packs, not packing. Errors: as parallax::bind(), kLimitExceeded.
  Status bind(const Program& program, const Deadline& deadline = {});
  /// Writes what the model's cache, if any, does not have yet.
  void save();

  /// Bytes of all bindings but the latest, which is in use or will be next.
  std::int64_t spare_bytes() const;
  /// Moves bindings to `forgotten`, the latest one never, until spare_bytes() is at most `bytes`.
  void keep_within(std::int64_t bytes, Forgotten& forgotten);
  /// Of all plans ever made.
  PlanTimes times() const;
  /// Bytes and number of all bindings held.
  std::int64_t bytes() const;
  int bindings() const;

 private:
  /// What a call keeps no longer; it lives longer than the call's locks.
  struct Dropped {
    Forgotten bindings;
    std::vector<std::shared_ptr<const Program>> programs;
  };

  std::shared_ptr<Entry> entry(const Binding& binding);
  Result<std::shared_ptr<const Program>> choose(const Binding& binding, Entry& item,
                                                const RunBudget& budget, bool explain,
                                                Dropped& dropped) PX_REQUIRES(item.mutex);
  Result<std::shared_ptr<const Program>> least(const Binding& binding, Entry& item,
                                               Dropped& dropped) PX_REQUIRES(item.mutex);
  const Program* pattern(const GraphContext* context, Dropped& dropped) const;
  Status compile_once(const Binding& binding, Entry& item, Dropped& dropped)
      PX_REQUIRES(item.mutex);
  static void count_run(Entry& item) PX_REQUIRES(item.mutex);
  void count(const Binding& binding, Entry& item, double ms, Dropped& dropped)
      PX_REQUIRES(item.mutex);
  std::int64_t bytes_of(const Binding& binding, Entry& item) const PX_REQUIRES(item.mutex);
  std::int64_t spare_locked() const PX_REQUIRES(mutex_);
  void forget_above(std::int64_t bytes, Forgotten& forgotten) PX_REQUIRES(mutex_);

  const std::shared_ptr<GraphForms> forms_;
  const Options options_;
  const ParallelFor parallel_;
  // One thread packs, with the pool's help; others wait, as they need the same weights.
  TimedMutex packing_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kPacking};
  mutable Mutex mutex_{LockOrder::kPlans};
  Entries entries_ PX_GUARDED_BY(mutex_);
  std::int64_t bytes_ PX_GUARDED_BY(mutex_) = 0;  // of all entries
  // Of each form the first free choice that is still held.
  std::map<const GraphContext*, std::weak_ptr<const Program>> patterns_ PX_GUARDED_BY(mutex_);
  PlanTimes times_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
