// A cache of programs by binding, with a limit on bytes; evicts the least recently used. Each
// binding has a program without a limit on memory and, if a budget was smaller, one that fits it.
//
// Thread-safe. If two threads request the same new binding, one of them plans it and the other
// waits, until its deadline; other bindings do not wait.
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
#include "planning/graph_variants.h"

namespace parallax {

/// The default limit. A binding of DistilBERT (139 nodes) needs 106 KiB, one of CLIP's text encoder
/// 239 KiB: there is room for all 128 sequence lengths of the former and for 70 of the latter.
inline constexpr std::int64_t kPlanCacheBytes = std::int64_t{16} << 20;

/// The plans of one session.
class PlanCache {
  /// One binding. `free_choice`: the program without a limit; `small`: the latest that fits a
  /// budget; `least`: the smallest. Null: not made yet.
  struct Entry {
    TimedMutex mutex{LockOrder::kPlanning};
    std::shared_ptr<Bound> bound PX_GUARDED_BY(mutex);
    std::shared_ptr<const Program> free_choice PX_GUARDED_BY(mutex), small PX_GUARDED_BY(mutex),
        least PX_GUARDED_BY(mutex);
    int only_least PX_GUARDED_BY(mutex) = 0;               // runs that still use `least`
    int pause PX_GUARDED_BY(mutex) = kFirstPause;          // length of the last pause, in runs
    int since_pause PX_GUARDED_BY(mutex) = kLongestPause;  // runs after it
    bool changed PX_GUARDED_BY(mutex) = true;              // since its bytes were counted
    bool may_change PX_GUARDED_BY(mutex) = false;          // whether runs may change its bytes
  };
  struct Held {
    std::shared_ptr<Entry> entry;
    std::int64_t bytes = 0;  ///< as last counted
  };
  struct BindingHash {
    std::size_t operator()(const Binding& binding) const;
  };
  using Entries = RecentlyUsed<Binding, Held, BindingHash>;

 public:
  /// Evicted bindings. The caller must destroy them without holding a lock: destroying a plan may
  /// call delegates.
  using Forgotten = Entries::Forgotten;

  /// Options of all plans of the cache.
  struct Options {
    KernelChoice kernels = {};
    bool parallel = true;  ///< false: branches run one after the other
    int threads = 1;       ///< threads of a run, its caller's included
    Admission admission = Admission::kTimeSaved;
    Refinement refinement = Refinement::kTime;
    std::int64_t bytes = kPlanCacheBytes;  ///< limit on all bindings but the latest
    /// Compiles a binding with delegates; null: the graph's version for the binding is compiled.
    std::function<Result<std::shared_ptr<Bound>>(const Binding&)> make = nullptr;
  };
  /// `parallel`: the loop with which bind() packs weights.
  PlanCache(std::shared_ptr<GraphVariants> forms, const Options& options,
            ParallelFor parallel = serial_for)
      : forms_(std::move(forms)), options_(options), parallel_(std::move(parallel)) {}

  /// Returns a program whose bytes fit the budget; the smallest one if the budget forbids
  /// concurrent branches. `explain`: requires Plan::explained. `deadline` interrupts the wait for
  /// another thread that plans `binding`, but not planning. Errors: as compile() and lay_out(),
  /// kLimitExceeded, kCancelled.
  Result<std::shared_ptr<const Program>> get(const Binding& binding, const RunBudget& budget,
                                             bool explain = false, const Deadline& deadline = {});
  /// Returns the smallest program, for a run that found no room for data-dependent tensors. The
  /// next kFirstPause runs of `binding` use it too; then larger ones are tried again. If one of
  /// these fails within as many runs, the next pause is twice as long: in a lasting shortage only
  /// one run in kLongestPause starts and fails.
  static constexpr int kFirstPause = 16, kLongestPause = 1024;
  Result<std::shared_ptr<const Program>> shrink(const Binding& binding,
                                                const Deadline& deadline = {});

  /// Returns the bytes of the smallest program. Errors: as get() without a budget.
  Result<std::int64_t> min_bytes(const Binding& binding, const Deadline& deadline = {});

  /// Evicts `binding`: runs that begin from now on plan it again.
  void forget(const Binding& binding);
  /// Evicts all bindings, and destroys them.
  void forget_all();
  /// Moves all bindings to `forgotten`, for the caller to destroy.
  void forget_all(Forgotten& forgotten);
  /// Moves the least recently used binding to `forgotten`. False: only the latest is left.
  bool forget_oldest(Forgotten& forgotten);
  /// Whether plans may have delegates, which hold memory for them.
  bool has_delegates() const { return options_.make != nullptr; }

  /// Packs the weights that the program's kernels read, before it runs. `deadline` interrupts the
  /// wait for another thread that packs, but not packing. Errors: as parallax::bind(),
  /// kLimitExceeded, kCancelled.
  Status bind(const Program& program, const Deadline& deadline = {});
  /// Writes everything to the model's cache, if there is one, that it does not contain yet.
  void save();

  /// Bytes of all bindings except the latest, which is in use or will be next.
  std::int64_t spare_bytes() const;
  /// Moves bindings to `forgotten`, never the latest, until spare_bytes() is at most `bytes`.
  void keep_within(std::int64_t bytes, Forgotten& forgotten);
  /// The time spent on all plans ever made.
  PlanTimes times() const;
  /// Bytes of all bindings in the cache, and their number.
  std::int64_t bytes() const;
  int bindings() const;

 private:
  /// Objects that a call removes; destroyed after the call has released its locks.
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

  const std::shared_ptr<GraphVariants> forms_;
  const Options options_;
  const ParallelFor parallel_;
  // One thread packs, helped by the pool; others wait, because they need the same weights.
  TimedMutex packing_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kPacking};
  mutable Mutex mutex_{LockOrder::kPlans};
  Entries entries_ PX_GUARDED_BY(mutex_);
  std::int64_t bytes_ PX_GUARDED_BY(mutex_) = 0;  // sum over all entries
  // The first `free_choice` of each version of the graph that is still alive.
  std::map<const GraphContext*, std::weak_ptr<const Program>> patterns_ PX_GUARDED_BY(mutex_);
  PlanTimes times_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
