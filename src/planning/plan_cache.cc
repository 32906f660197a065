#include "planning/plan_cache.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/stopwatch.h"
#include "bind/bind.h"
#include "bind/footprint.h"
#include "cache/weight_cache.h"

namespace parallax {

std::size_t PlanCache::BindingHash::operator()(const Binding& binding) const {
  std::size_t hash = binding.symbols.size();
  for (const auto& size : binding.symbols) hash = mixed_hash(hash, size.value_or(-1));
  return hash;
}

std::shared_ptr<PlanCache::Entry> PlanCache::entry(const Binding& binding) {
  const MutexLock lock(mutex_);
  const Held* const found = entries_.find(binding);
  return found != nullptr ? found->entry
                          : entries_.insert(binding, {std::make_shared<Entry>()}).entry;
}

Status PlanCache::compile_once(const Binding& binding, Entry& item, Dropped& dropped) {
  if (item.bound != nullptr) return {};
  if (options_.make != nullptr) {
    PX_ASSIGN(item.bound, options_.make(binding));
    item.changed = true;
    item.may_change = item.bound->compiled->has_run_time_nodes;
    return {};
  }
  PX_ASSIGN(auto context, forms_->of(binding, options_.kernels));
  const Program* const like = pattern(context.get(), dropped);
  PX_ASSIGN(auto compiled,
            compile(std::move(context), binding, options_.kernels, options_.refinement,
                    like == nullptr ? nullptr : &like->compiled()));
  item.changed = true;
  item.may_change = compiled->has_run_time_nodes;
  PX_ASSIGN(item.bound, make_bound(std::move(compiled)));
  return {};
}

Status PlanCache::bind(const Program& program, const Deadline& deadline) {
  if (program.bound->done) return {};
  if (!packing_.lock_within(deadline)) return tl::unexpected(ended(deadline));
  const MutexLock locked(packing_, std::adopt_lock);
  Stopwatch watch;
  Status status = parallax::bind(*program.bound, parallel_);
  save();
  const MutexLock lock(mutex_);
  times_.pack_ms += watch.lap();
  return status;
}

void PlanCache::save() {
  if (WeightCache* const cache = forms_->plain()->packed.cache()) cache->save();
}

PlanTimes PlanCache::times() const {
  const MutexLock lock(mutex_);
  return times_;
}

Result<std::shared_ptr<const Program>> PlanCache::least(const Binding& binding, Entry& item,
                                                        Dropped& dropped) {
  PX_RETURN_IF_ERROR(compile_once(binding, item, dropped));
  if (item.least == nullptr) {
    PX_ASSIGN(item.least, lay_out(item.bound, {false, options_.threads, std::nullopt}));
    item.changed = true;
  }
  return item.least;
}

/// Returns a program whose kernels and steps other bindings of the same version can reuse, or null.
/// `dropped` keeps it alive, perhaps as its last owner.
const Program* PlanCache::pattern(const GraphContext* context, Dropped& dropped) const {
  std::shared_ptr<const Program>& kept = dropped.programs.emplace_back();
  const MutexLock lock(mutex_);
  if (const auto found = patterns_.find(context); found != patterns_.end())
    kept = found->second.lock();
  return kept.get();
}

Result<std::shared_ptr<const Program>> PlanCache::choose(const Binding& binding, Entry& item,
                                                         const RunBudget& budget, bool explain,
                                                         Dropped& dropped) {
  const auto fits = [&](const std::shared_ptr<const Program>& program) {
    return program != nullptr && (!budget.bytes || program->bytes <= *budget.bytes) &&
           (!explain || program->plan.explained);
  };
  if (item.only_least > 0 || !budget.parallel) {
    PX_RETURN_IF_ERROR(least(binding, item, dropped));
    if (fits(item.least)) return item.least;
  } else {
    if (fits(item.free_choice)) return item.free_choice;
    if (fits(item.small)) return item.small;
    PX_RETURN_IF_ERROR(compile_once(binding, item, dropped));
    if (item.free_choice == nullptr || (explain && !item.free_choice->plan.explained)) {
      const Program* const like = pattern(item.bound->compiled->context.get(), dropped);
      PX_ASSIGN(auto made, lay_out(item.bound, {options_.parallel, options_.threads, std::nullopt,
                                                options_.admission, like, explain}));
      dropped.programs.emplace_back().swap(item.free_choice);
      item.free_choice = std::move(made);
      item.changed = true;
      if (like == nullptr) {
        const MutexLock lock(mutex_);
        std::erase_if(patterns_, [](const auto& entry) { return entry.second.expired(); });
        patterns_[item.bound->compiled->context.get()] = item.free_choice;
      }
      if (fits(item.free_choice)) return item.free_choice;
    }
  }
  PX_ASSIGN(auto made, lay_out(item.bound, {options_.parallel, options_.threads, budget.bytes,
                                            options_.admission}));
  dropped.programs.emplace_back().swap(item.small);
  item.small = std::move(made);
  item.changed = true;
  return item.small;
}

void PlanCache::count_run(Entry& item) {
  if (item.only_least > 0) {
    --item.only_least;
  } else if (item.since_pause < kLongestPause) {
    ++item.since_pause;
  }
}

Result<std::shared_ptr<const Program>> PlanCache::get(const Binding& binding,
                                                      const RunBudget& budget, bool explain,
                                                      const Deadline& deadline) {
  const std::shared_ptr<Entry> item = entry(binding);
  Dropped dropped;
  if (!item->mutex.lock_within(deadline)) return tl::unexpected(ended(deadline));
  const MutexLock locked(item->mutex, std::adopt_lock);
  const bool made = item->bound == nullptr;
  Stopwatch watch;
  auto program = choose(binding, *item, budget, explain, dropped);
  if (!explain) count_run(*item);
  count(binding, *item, made ? watch.lap() : 0, dropped);
  return program;
}

Result<std::shared_ptr<const Program>> PlanCache::shrink(const Binding& binding,
                                                         const Deadline& deadline) {
  const std::shared_ptr<Entry> item = entry(binding);
  Dropped dropped;
  if (!item->mutex.lock_within(deadline)) return tl::unexpected(ended(deadline));
  const MutexLock locked(item->mutex, std::adopt_lock);
  auto program = least(binding, *item, dropped);
  if (item->only_least == 0) {  // the first of concurrent runs decides
    const bool soon = item->since_pause < item->pause;
    item->pause = soon ? std::min(2 * item->pause, kLongestPause) : kFirstPause;
    item->only_least = item->pause;
    item->since_pause = 0;
  }
  count(binding, *item, 0, dropped);
  return program;
}

Result<std::int64_t> PlanCache::min_bytes(const Binding& binding, const Deadline& deadline) {
  const std::shared_ptr<Entry> item = entry(binding);
  Dropped dropped;
  if (!item->mutex.lock_within(deadline)) return tl::unexpected(ended(deadline));
  const MutexLock locked(item->mutex, std::adopt_lock);
  PX_ASSIGN(const auto program, least(binding, *item, dropped));
  count(binding, *item, 0, dropped);
  return program->bytes;
}

void PlanCache::forget(const Binding& binding) {
  auto entry = std::make_shared<Entry>();  // the replaced one is destroyed without the mutex
  const MutexLock lock(mutex_);
  Held* const held = entries_.find(binding);
  if (held == nullptr) return;
  bytes_ -= std::exchange(held->bytes, 0);
  held->entry.swap(entry);
}

void PlanCache::forget_all() {
  Forgotten all;
  forget_all(all);
}

void PlanCache::forget_all(Forgotten& forgotten) {
  const MutexLock lock(mutex_);
  while (!entries_.empty()) entries_.forget_oldest(forgotten);
  bytes_ = 0;
}

bool PlanCache::forget_oldest(Forgotten& forgotten) {
  const MutexLock lock(mutex_);
  if (entries_.size() < 2) return false;
  bytes_ -= entries_.oldest().bytes;
  entries_.forget_oldest(forgotten);
  return true;
}

/// Counts the bytes of `item` again after a change that needed `ms`.
void PlanCache::count(const Binding& binding, Entry& item, double ms, Dropped& dropped) {
  const bool changed = std::exchange(item.changed, false) || item.may_change;
  const std::int64_t bytes = changed ? bytes_of(binding, item) : 0;
  const MutexLock lock(mutex_);
  times_.plan_ms += ms;
  Held* const held = entries_.find(binding);
  if (held == nullptr || held->entry.get() != &item) return;  // evicted meanwhile
  if (changed) bytes_ += bytes - std::exchange(held->bytes, bytes);
  forget_above(options_.bytes, dropped.bindings);
}

std::int64_t PlanCache::bytes_of(const Binding& binding, Entry& item) const {
  auto bytes = static_cast<std::int64_t>(sizeof(Entry) + Entries::kEntryBytes +
                                         binding.symbols.size() * sizeof(binding.symbols.front()));
  if (item.bound != nullptr) bytes += footprint(*item.bound);
  for (const auto* program : {&item.free_choice, &item.small, &item.least})
    if (*program != nullptr) bytes += footprint(**program);
  return bytes;
}

std::int64_t PlanCache::spare_locked() const {
  return entries_.empty() ? 0 : bytes_ - entries_.latest().bytes;
}

/// Evicts the least recently used until all others except the latest need at most `bytes`.
void PlanCache::forget_above(std::int64_t bytes, Forgotten& forgotten) {
  while (entries_.size() > 1 && spare_locked() > bytes) {
    bytes_ -= entries_.oldest().bytes;
    entries_.forget_oldest(forgotten);
  }
}

std::int64_t PlanCache::spare_bytes() const {
  const MutexLock lock(mutex_);
  return spare_locked();
}

void PlanCache::keep_within(std::int64_t bytes, Forgotten& forgotten) {
  const MutexLock lock(mutex_);
  forget_above(bytes, forgotten);
}

std::int64_t PlanCache::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

int PlanCache::bindings() const {
  const MutexLock lock(mutex_);
  return static_cast<int>(entries_.size());
}

}  // namespace parallax
