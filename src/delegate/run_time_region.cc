#include "delegate/run_time_region.h"

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
  std::vector<Kept> gone;  // goes back without the mutex
  Result<std::shared_ptr<BoundRegion>> bound = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find(kept_, sizes, &Kept::sizes);
    if (found != kept_.end()) {
      std::rotate(kept_.begin(), found, found + 1);
      return kept_.front().bound;
    }
    if (auto problem = entry_.state->problem()) return tl::unexpected(*std::move(problem));
    bound = make(sizes);
    if (!bound && bound.error().code == ErrorCode::kBudgetExceeded && !kept_.empty()) {
      kept_.clear();
      bound = make(sizes);
    }
    if (bound) {
      kept_.insert(kept_.begin(), {sizes, *bound});
      while (kept_.size() > kKept) {
        gone.push_back(std::move(kept_.back()));
        kept_.pop_back();
      }
      return bound;
    }
  }
  const bool memory = bound.error().code == ErrorCode::kBudgetExceeded;
  if (!memory) entry_.state->fail(bound.error());
  if (log != nullptr && (!memory || !told_.exchange(true)))
    log->warn(fmt::format("delegate '{}' does not run the region of node '{}' with these sizes: {}",
                          use_.opened->spec, entry_.state->name, bound.error().to_string()));
  return bound;
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
