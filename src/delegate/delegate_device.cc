#include "delegate/delegate_device.h"

#include <fmt/core.h>

#include <utility>

#include "base/caught.h"
#include "delegate/bound_region.h"

namespace parallax {

DelegateDevice::DelegateDevice(std::shared_ptr<const OpenDelegate> delegate,
                               std::shared_ptr<RegionStore> store,
                               std::shared_ptr<const Compiled> compiled)
    : delegate_(std::move(delegate)), store_(std::move(store)), compiled_(std::move(compiled)) {}
DelegateDevice::~DelegateDevice() = default;

void DelegateDevice::prepare(const Logger& log) {
  if (!delegate_->is_here()) return;
  if (prepared_.load(std::memory_order_acquire) == store_->generation()) return;
  const MutexLock preparing(preparing_);
  const int generation = store_->generation();
  if (prepared_.load(std::memory_order_relaxed) == generation) return;
  const GraphContext& context = *compiled_->context;
  for (const RegionId region : context.delegation.seconds.ids()) {
    {
      const MutexLock lock(mutex_);
      if (bound_.contains(region) && bound_[region] != nullptr) continue;
    }
    std::shared_ptr<RegionState> state;
    auto bound = bind(region, state);
    if (const auto problem = state->problem())
      log.warn(fmt::format("delegate '{}' does not run the region of node '{}': {}",
                           delegate_->spec, state->name, problem->to_string()));
    const MutexLock lock(mutex_);
    states_.resize(context.delegation.seconds.size());
    bound_.resize(context.delegation.seconds.size());
    states_[region] = std::move(state);
    bound_[region] = std::move(bound);
  }
  prepared_.store(generation, std::memory_order_release);
}

/// Null where it has failed, which `state` then says.
std::shared_ptr<BoundRegion> DelegateDevice::bind(RegionId region,
                                                  std::shared_ptr<RegionState>& state) {
  std::string name;
  for (const NodeId node : compiled_->graph().nodes.ids())
    if (name.empty() && compiled_->context->delegation.region_of[node] == region)
      name = compiled_->graph().nodes[node].name;
  const auto values = CRegion::make(*compiled_, region);
  RegionStore::Entry entry = store_->get(delegate_, values, name);
  state = entry.state;
  if (entry.compiled == nullptr) return nullptr;
  auto bound = BoundRegion::make(std::move(entry), *values, *compiled_);
  if (bound) return *std::move(bound);
  state->fail(std::move(bound).error());
  return nullptr;
}

std::optional<Error> DelegateDevice::problem(RegionId region) const {
  if (!delegate_->is_here())
    return Error{
        Stage::kExecute, ErrorCode::kUnsupported, {}, "the delegate was opened before the fork"};
  const MutexLock lock(mutex_);
  if (!states_.contains(region) || states_[region] == nullptr)
    return Error{Stage::kExecute, ErrorCode::kInternal, {}, "the region was not prepared"};
  if (auto problem = states_[region]->problem()) return problem;
  if (bound_[region] != nullptr) return std::nullopt;
  return Error{Stage::kExecute, ErrorCode::kUnsupported, {}, "it is not prepared for these sizes"};
}

void DelegateDevice::late(RegionId, const Error& error) noexcept {
  try {
    store_->fail_all(error);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the next run waits once more
  }
}

void DelegateDevice::start(RegionRun run, Completion done) {
  // Of a plan without a substitute.
  if (auto known = problem(run.region)) return done(tl::unexpected(*std::move(known)));
  std::shared_ptr<BoundRegion> region;
  {
    const MutexLock lock(mutex_);
    region = bound_[run.region];
  }
  run_region(std::move(region), std::move(run), std::move(done), shared_from_this());
}

}  // namespace parallax
