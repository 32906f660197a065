#include "delegate_host/run_time_region.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/status.h"

namespace parallax {

RunTimeRegion::RunTimeRegion(RegionStore::Entry entry, std::shared_ptr<const CRegion> values,
                             std::shared_ptr<const Compiled> compiled, DelegateUse use)
    : entry_(std::move(entry)),
      values_(std::move(values)),
      compiled_(std::move(compiled)),
      use_(std::move(use)) {}

Result<std::shared_ptr<BoundRegion>> RunTimeRegion::bind(const std::vector<ValueDims>& sizes,
                                                         const Logger* log) {
  if (auto problem = entry_.state->problem()) return tl::unexpected(*std::move(problem));
  if (auto known = find(sizes)) return *std::move(known);
  auto bound = find_or_make(sizes);
  if (bound) return bound;
  const Refusal kind = refusal_of_bind(bound.error().code);
  entry_.state->refuse(kind, bound.error());
  if (log != nullptr && entry_.state->mark_reported(kind))
    log->warn(fmt::format("delegate '{}' does not run the region of node '{}': {}{}",
                          use_.opened->spec, entry_.state->name, scope_of(kind),
                          bound.error().to_string()));
  return bound;
}

/// Returns the binding to these sizes, or the reason why the CPU runs the region with them.
/// nullopt: neither is known.
std::optional<Result<std::shared_ptr<BoundRegion>>> RunTimeRegion::find(
    const std::vector<ValueDims>& sizes) {
  std::vector<Kept> gone;  // destroyed without the mutex
  const MutexLock lock(mutex_);
  if (auto refusal = known_refusal(sizes, gone)) return tl::unexpected(*std::move(refusal));
  const auto found = std::ranges::find(kept_, sizes, &Kept::sizes);
  if (found == kept_.end()) return std::nullopt;
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().bound;
}

/// Returns the evicted binding, which the caller destroys without locks.
std::vector<RunTimeRegion::Kept> RunTimeRegion::keep(Kept one) {
  std::vector<Kept> gone;
  const MutexLock lock(mutex_);
  kept_.insert(kept_.begin(), std::move(one));
  if (kept_.size() <= kKept) return gone;
  gone.push_back(std::move(kept_.back()));
  kept_.pop_back();
  return gone;
}

Result<std::shared_ptr<BoundRegion>> RunTimeRegion::find_or_make(
    const std::vector<ValueDims>& sizes) {
  std::vector<Kept> gone;  // destroyed after the turn
  const MutexLock turn(binding_);
  // Another thread may have tried meanwhile.
  if (auto problem = entry_.state->problem()) return tl::unexpected(*std::move(problem));
  if (auto known = find(sizes)) return *std::move(known);
  auto bound = make(sizes);
  if (!bound && bound.error().code == ErrorCode::kBudgetExceeded && drop_bindings())
    bound = make(sizes);
  if (bound) {
    gone = keep({sizes, *bound});
  } else {
    const MutexLock lock(mutex_);
    remember(sizes, refusal_of_bind(bound.error().code), bound.error());
  }
  return bound;
}

/// Why the CPU runs the region with these sizes; counts the run in their pause. nullopt: they may
/// be tried. A binding that found no memory in a run goes to `gone`.
std::optional<Error> RunTimeRegion::known_refusal(const std::vector<ValueDims>& sizes,
                                                  std::vector<Kept>& gone) {
  const auto kept = std::ranges::find(kept_, sizes, &Kept::sizes);
  if (kept != kept_.end()) {
    if (const auto problem = kept->bound->problem()) {
      gone.push_back(std::move(*kept));
      kept_.erase(kept);
      remember(sizes, Refusal::kMoment, *problem);
    }
  }
  const auto found = std::ranges::find(refused_, sizes, &RefusedSizes::sizes);
  if (found == refused_.end()) return std::nullopt;
  if (found->kind == Refusal::kMoment) {
    const bool paused = found->pause.is_on();
    if (found->pause.count() || !paused) return std::nullopt;
  }
  return found->why;
}

void RunTimeRegion::remember(const std::vector<ValueDims>& sizes, Refusal kind, const Error& why) {
  const auto found = std::ranges::find(refused_, sizes, &RefusedSizes::sizes);
  if (found == refused_.end()) {
    refused_.insert(refused_.begin(), {sizes, kind, why});
    if (refused_.size() > kRefused) refused_.pop_back();
  } else {
    std::rotate(refused_.begin(), found, found + 1);
    refused_.front().kind = kind;
    refused_.front().why = why;
  }
  if (kind == Refusal::kMoment) refused_.front().pause.begin();
}

Result<std::shared_ptr<BoundRegion>> RunTimeRegion::make(const std::vector<ValueDims>& sizes) {
  return bind_within(use_, entry_, values_, *compiled_, sizes);
}

bool RunTimeRegion::drop_bindings() {
  std::vector<Kept> gone;
  {
    const MutexLock lock(mutex_);
    gone.swap(kept_);
  }
  return !gone.empty();
}

Result<std::shared_ptr<BoundRegion>> bind_within(const DelegateUse& use, RegionStore::Entry entry,
                                                 const std::shared_ptr<const CRegion>& values,
                                                 const Compiled& compiled,
                                                 std::span<const ValueDims> told) {
  PX_ASSIGN(auto bound, BoundRegion::make(std::move(entry), values, compiled, use.ledger, told));
  if (use.ledger == nullptr || use.opened->memory != PX_MEMORY_DEVICE) return bound;
  std::int64_t bytes = 0;
  for (const auto* ids : {&values->inputs, &values->outputs}) {
    for (const ValueId id : *ids) {
      const auto found = std::ranges::find(told, id, &ValueDims::value);
      const Dims& dims = found == told.end() ? *compiled.dims[id] : found->dims;
      bytes = checked_add(bytes, bytes_of(compiled.graph().values[id].dtype, dims).value_or(0))
                  .value_or(bytes);
    }
  }
  if (bytes > use.ledger->limit())
    PX_RETURN_IF_ERROR(use.ledger->take(bytes, "what the region reads and makes"));
  return bound;
}

bool is_planned_region(const Compiled& compiled, RegionId region) {
  const auto& regions = compiled.context->branches.region;
  for (const BranchId branch : regions.ids())
    if (regions[branch] == region) return is_planned(compiled, branch);
  return true;
}

}  // namespace parallax
