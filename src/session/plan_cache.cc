#include "session/plan_cache.h"

#include <algorithm>

#include "base/status.h"

namespace parallax {

std::shared_ptr<PlanCache::Entry> PlanCache::entry(const Binding& binding) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& item) { return item.first == binding; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    entries_.emplace_front(binding, std::make_shared<Entry>());
    if (entries_.size() > kCapacity) entries_.pop_back();
  }
  return entries_.front().second;
}

Result<std::shared_ptr<const Program>> PlanCache::get(const Binding& binding,
                                                      std::optional<std::int64_t> limit) {
  const std::shared_ptr<Entry> item = entry(binding);
  const std::lock_guard lock(item->mutex);
  const auto fits = [&](const std::shared_ptr<const Program>& program) {
    return program != nullptr && (!limit || program->bytes <= *limit);
  };
  if (fits(item->free_choice)) return item->free_choice;
  if (fits(item->small)) return item->small;
  if (item->compiled == nullptr) {
    PX_ASSIGN(item->compiled, compile(context_, binding, options_.reference_only));
  }
  if (item->free_choice == nullptr) {
    PX_ASSIGN(item->free_choice,
              lay_out(item->compiled, {options_.parallel, options_.threads, std::nullopt}));
    if (fits(item->free_choice)) return item->free_choice;
  }
  PX_ASSIGN(item->small, lay_out(item->compiled, {options_.parallel, options_.threads, limit}));
  return item->small;
}

Result<std::shared_ptr<const Program>> PlanCache::shrink(const Binding& binding) {
  const std::shared_ptr<Entry> item = entry(binding);
  const std::lock_guard lock(item->mutex);
  if (item->compiled == nullptr) {
    PX_ASSIGN(item->compiled, compile(context_, binding, options_.reference_only));
  }
  PX_ASSIGN(item->free_choice, lay_out(item->compiled, {false, options_.threads, std::nullopt}));
  item->small = nullptr;
  return item->free_choice;
}

}  // namespace parallax
