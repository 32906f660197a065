#include "session/plan_cache.h"

#include <algorithm>

#include "base/status.h"
#include "base/stopwatch.h"
#include "cache/weight_cache.h"
#include "execute/footprint.h"

namespace parallax {

std::shared_ptr<PlanCache::Entry> PlanCache::entry(const Binding& binding) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& item) { return item.first == binding; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    entries_.emplace_front(binding, std::make_shared<Entry>());
  }
  return entries_.front().second;
}

Status PlanCache::compile_once(const Binding& binding, Entry& item) {
  if (item.compiled != nullptr) return {};
  double pack = 0;
  const ParallelFor timed = [&](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    Stopwatch watch;
    parallel_(count, body);
    pack += watch.lap();
  };
  auto context = forms_->of(binding, options_.kernels);
  const auto like = pattern(context.get());
  PX_ASSIGN(item.compiled,
            compile(std::move(context), binding, options_.kernels, options_.refinement, timed,
                    like == nullptr ? nullptr : like->compiled.get()));
  Stopwatch watch;
  if (WeightCache* const cache = forms_->plain()->packed.cache()) cache->save();
  pack += watch.lap();
  const std::lock_guard lock(mutex_);
  times_.pack += pack;
  return {};
}

PlanTimes PlanCache::times() const {
  const std::lock_guard lock(mutex_);
  return {times_.plan - times_.pack, times_.pack};
}

Result<std::shared_ptr<const Program>> PlanCache::least(const Binding& binding, Entry& item) {
  PX_RETURN_IF_ERROR(compile_once(binding, item));
  if (item.least == nullptr) {
    PX_ASSIGN(item.least, lay_out(item.compiled, {false, options_.threads, std::nullopt}));
  }
  return item.least;
}

/// The program whose kernels and steps serve again for other bindings of the same form; null where
/// there is none.
std::shared_ptr<const Program> PlanCache::pattern(const GraphContext* context) const {
  const std::lock_guard lock(mutex_);
  const auto found = patterns_.find(context);
  return found == patterns_.end() ? nullptr : found->second.lock();
}

Result<std::shared_ptr<const Program>> PlanCache::choose(const Binding& binding, Entry& item,
                                                         const RunBudget& budget, bool explain) {
  const auto fits = [&](const std::shared_ptr<const Program>& program) {
    return program != nullptr && (!budget.bytes || program->bytes <= *budget.bytes) &&
           (!explain || program->plan.explained);
  };
  if (item.only_least || !budget.at_once) {
    PX_RETURN_IF_ERROR(least(binding, item));
    if (fits(item.least)) return item.least;
  } else {
    if (fits(item.free_choice)) return item.free_choice;
    if (fits(item.small)) return item.small;
    PX_RETURN_IF_ERROR(compile_once(binding, item));
    if (item.free_choice == nullptr || (explain && !item.free_choice->plan.explained)) {
      const auto like = pattern(item.compiled->context.get());
      PX_ASSIGN(item.free_choice,
                lay_out(item.compiled, {options_.parallel, options_.threads, std::nullopt,
                                        options_.admission, like.get(), explain}));
      if (like == nullptr) {
        const std::lock_guard lock(mutex_);
        patterns_[item.compiled->context.get()] = item.free_choice;
      }
      if (fits(item.free_choice)) return item.free_choice;
    }
  }
  PX_ASSIGN(item.small, lay_out(item.compiled, {options_.parallel, options_.threads, budget.bytes,
                                                options_.admission}));
  return item.small;
}

Result<std::shared_ptr<const Program>> PlanCache::get(const Binding& binding,
                                                      const RunBudget& budget, bool explain) {
  const std::shared_ptr<Entry> item = entry(binding);
  const std::lock_guard lock(item->mutex);
  const bool made = item->compiled == nullptr;
  Stopwatch watch;
  auto program = choose(binding, *item, budget, explain);
  count(binding, *item, made ? watch.lap() : 0);
  return program;
}

Result<std::shared_ptr<const Program>> PlanCache::shrink(const Binding& binding) {
  const std::shared_ptr<Entry> item = entry(binding);
  const std::lock_guard lock(item->mutex);
  auto program = least(binding, *item);
  if (program) {
    item->only_least = true;
    item->free_choice = item->small = nullptr;
  }
  count(binding, *item, 0);
  return program;
}

/// `item` has changed, which took `ms`: counts its bytes anew.
void PlanCache::count(const Binding& binding, Entry& item, double ms) {
  std::int64_t bytes = static_cast<std::int64_t>(
      sizeof(Entry) + sizeof(Found) + binding.symbols.size() * sizeof(binding.symbols.front()));
  if (item.compiled != nullptr) bytes += footprint(*item.compiled);
  for (const auto* program : {&item.free_choice, &item.small, &item.least})
    if (*program != nullptr) bytes += footprint(**program);
  const std::lock_guard lock(mutex_);
  times_.plan += ms;
  if (!item.held) return;
  bytes_ += bytes - item.bytes;
  item.bytes = bytes;
  forget_above(options_.bytes);
}

/// Forgets the least recently used until the others but the latest take at most `bytes`.
void PlanCache::forget_above(std::int64_t bytes) {
  while (entries_.size() > 1 && bytes_ - entries_.front().second->bytes > bytes) {
    Entry& last = *entries_.back().second;
    bytes_ -= last.bytes;
    last.held = false;
    entries_.pop_back();
  }
}

std::int64_t PlanCache::spare_bytes() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty() ? 0 : bytes_ - entries_.front().second->bytes;
}

void PlanCache::keep_within(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  forget_above(bytes);
}

std::int64_t PlanCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

int PlanCache::bindings() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(entries_.size());
}

}  // namespace parallax
