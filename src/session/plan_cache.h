// Programs by binding, as many as fit a limit of bytes, the least recently used forgotten first:
// each binding with a program that uses all memory it likes and, where a smaller budget asked for
// one, a smaller program.
//
// Thread-safe. Two threads that want the same new binding make it once; other bindings do not wait.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/recently_used.h"
#include "parallax/report.h"
#include "schedule/budget.h"
#include "session/graph_forms.h"

namespace parallax {

/// A binding of DistilBERT takes 106 KiB (139 nodes), one of CLIP's text encoder 239 KiB: all 128
/// sequence lengths of the former fit, 70 of the latter.
inline constexpr std::int64_t kPlanCacheBytes = std::int64_t{16} << 20;

class PlanCache {
 public:
  struct Options {
    KernelChoice kernels = {};
    bool parallel = true;
    int threads = 1;
    Admission admission = Admission::kTimeSaved;
    Refinement refinement = Refinement::kTime;
    std::int64_t bytes = kPlanCacheBytes;
  };
  /// `parallel` packs weights.
  PlanCache(std::shared_ptr<GraphForms> forms, const Options& options,
            ParallelFor parallel = serial_for)
      : forms_(std::move(forms)), options_(options), parallel_(std::move(parallel)) {}

  /// A program whose bytes fit the budget; the one that takes the fewest where branches must not
  /// run at once. `explain`: its plan is Plan::explained. Errors: as compile() and lay_out().
  Result<std::shared_ptr<const Program>> get(const Binding& binding, const RunBudget& budget,
                                             bool explain = false);
  /// The program that takes the fewest bytes, for a run that found no room for what it allocates
  /// while running. The next kFirstPause runs of `binding` get it too, then others are tried again.
  /// Where they find no room either before as many runs are over, the next pause is twice as long:
  /// what a shortage costs in runs that start in vain goes down to one in kLongestPause.
  static constexpr int kFirstPause = 16, kLongestPause = 1024;
  Result<std::shared_ptr<const Program>> shrink(const Binding& binding);

  /// Bytes of all bindings but the latest, which is in use or will be next.
  std::int64_t spare_bytes() const;
  /// Forgets bindings, the latest one never, until spare_bytes() is at most `bytes`.
  void keep_within(std::int64_t bytes);
  /// Of all that was ever made.
  PlanTimes times() const;
  /// Bytes and number of all bindings held.
  std::int64_t bytes() const;
  int bindings() const;

 private:
  struct Entry {
    std::mutex mutex;
    // Guarded by mutex:
    std::shared_ptr<const Compiled> compiled;
    std::shared_ptr<const Program> free_choice, small, least;
    int only_least = 0;               // for so many runs
    int pause = kFirstPause;          // the next only_least, at least
    int since_pause = kLongestPause;  // runs
    bool changed = true;              // since its bytes were counted
    bool may_change = false;          // while it runs
    // Guarded by the cache's mutex:
    std::int64_t bytes = 0;
    bool held = true;  // still in entries_
  };
  struct BindingHash {
    std::size_t operator()(const Binding& binding) const;
  };
  using Entries = RecentlyUsed<Binding, std::shared_ptr<Entry>, BindingHash>;

  std::shared_ptr<Entry> entry(const Binding& binding);
  Result<std::shared_ptr<const Program>> choose(const Binding& binding, Entry& item,
                                                const RunBudget& budget, bool explain);
  Result<std::shared_ptr<const Program>> least(const Binding& binding, Entry& item);
  std::shared_ptr<const Program> pattern(const GraphContext* context) const;
  Status compile_once(const Binding& binding, Entry& item);
  static void count_run(Entry& item);
  void count(const Binding& binding, Entry& item, double ms);
  std::int64_t bytes_of(const Binding& binding, Entry& item) const;
  std::int64_t spare_locked() const;
  void forget_above(std::int64_t bytes);

  const std::shared_ptr<GraphForms> forms_;
  const Options options_;
  const ParallelFor parallel_;
  mutable std::mutex mutex_;
  Entries entries_;         // guarded by mutex_
  std::int64_t bytes_ = 0;  // of all entries; guarded by mutex_
  // Of each form the first free choice that is still held; guarded by mutex_.
  std::map<const GraphContext*, std::weak_ptr<const Program>> patterns_;
  PlanTimes times_;  // guarded by mutex_
};

}  // namespace parallax
