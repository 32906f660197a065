#include "planning/refusals.h"

#include <algorithm>
#include <utility>

namespace parallax {
namespace {

auto same_nodes(const RefusedRegion& region) {
  return [&region](const auto& held) {
    return held.region.delegate == region.delegate && held.region.nodes == region.nodes;
  };
}

}  // namespace

std::uint64_t Refusals::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

std::vector<RefusedRegion> Refusals::of(const Binding& binding) const {
  std::vector<RefusedRegion> list;
  const MutexLock lock(mutex_);
  for (const Held& held : for_all_) list.push_back(held.region);
  const auto [first, last] = cpu_only_.equal_range(binding.symbols);
  for (auto each = first; each != last; ++each)
    list.insert(list.end(), each->second.begin(), each->second.end());
  const auto found = by_binding_.find(binding.symbols);
  if (found == by_binding_.end()) return list;
  for (const Held& held : found->second)
    if (held.is_left_out()) list.push_back(held.region);
  return list;
}

bool Refusals::add(const Binding& binding, std::uint64_t version,
                   std::vector<RefusedRegion> regions) {
  bool changed = false;
  const MutexLock lock(mutex_);
  for (RefusedRegion& region : regions) {
    const bool for_all = region.kind == Refusal::kRegion || region.kind == Refusal::kDevice;
    changed |= for_all ? add_for_all(version, std::move(region))
                       : add_for(binding.symbols, std::move(region));
  }
  return changed;
}

/// Adds a refusal for all plans. If it is known, the plan may be older than it.
bool Refusals::add_for_all(std::uint64_t version, RefusedRegion region) {
  const auto found = std::ranges::find_if(for_all_, same_nodes(region));
  if (found != for_all_.end()) return found->version > version;
  for_all_.push_back({std::move(region), ++version_});
  return true;
}

/// Adds a refusal for one binding. If the region is left out already, the plan was made earlier.
bool Refusals::add_for(const Key& key, RefusedRegion region) {
  if (by_binding_.size() >= kMaxBindings && !by_binding_.contains(key))
    by_binding_.erase(by_binding_.begin());
  std::vector<Held>& list = by_binding_[key];
  auto found = std::ranges::find_if(list, same_nodes(region));
  if (found != list.end() && found->is_left_out()) return false;
  if (found == list.end()) found = list.insert(list.end(), Held{});
  found->region = std::move(region);
  if (found->region.kind == Refusal::kMoment) {
    found->pause.begin();
    has_pauses_ = true;
  }
  return true;
}

bool Refusals::count_run(const Binding& binding) {
  if (!has_pauses_) return false;
  const MutexLock lock(mutex_);
  const auto found = by_binding_.find(binding.symbols);
  if (found == by_binding_.end()) return false;
  bool ended = false;
  for (Held& held : found->second)
    if (held.region.kind == Refusal::kMoment) ended |= held.pause.count();
  return ended;
}

bool Refusals::forget() {
  const MutexLock lock(mutex_);
  const bool any = !for_all_.empty() || !by_binding_.empty();
  for_all_.clear();
  by_binding_.clear();
  has_pauses_ = false;
  return any;
}

Refusals::CpuOnly::CpuOnly(Refusals& all, const Binding& binding,
                           std::vector<RefusedRegion> regions)
    : all_(all) {
  const MutexLock lock(all_.mutex_);
  place_ = all_.cpu_only_.emplace(binding.symbols, std::move(regions));
}

Refusals::CpuOnly::~CpuOnly() {
  const MutexLock lock(all_.mutex_);
  all_.cpu_only_.erase(place_);
}

}  // namespace parallax
