#include "delegate_host/delegate_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "delegate_host/bound_region.h"
#include "delegate_host/run_time_region.h"

namespace parallax {
namespace {

Error forked() {
  return {Stage::kRun, ErrorCode::kUnsupported, {}, "the delegate was opened before the fork"};
}

}  // namespace

DelegateDevice::DelegateDevice(std::vector<DelegateUse> delegates,
                               std::shared_ptr<const Compiled> compiled,
                               IdVector<RegionId, std::shared_ptr<RegionTimes>> times,
                               TimedSplit split, std::shared_ptr<const PlannedRegions> planned)
    : delegates_(std::move(delegates)),
      compiled_(std::move(compiled)),
      times_(std::move(times)),
      split_(std::move(split)),
      planned_(std::move(planned)),
      readers_(*compiled_) {
  for (DelegateUse& use : delegates_)
    if (use.pool == nullptr && use.opened->memory == PX_MEMORY_DEVICE)
      use.pool = std::make_shared<DevicePool>(use.opened, use.ledger, use.host);
  for (const auto& [node, regions] : compiled_->context->delegation.bodies) {
    auto& devices = bodies_[node];
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const auto& body = compiled_->nodes[node].bodies[i].compiled;
      const bool used =
          body != nullptr && (!regions[i].seconds.empty() || !regions[i].bodies.empty());
      devices.push_back(
          used ? std::make_shared<DelegateDevice>(delegates_, body, times_, TimedSplit{}, planned_)
               : nullptr);
    }
  }
}
DelegateDevice::~DelegateDevice() { expect_only_turns(); }

/// Returns the sum over all stores: each generation only grows.
int DelegateDevice::generation() const {
  int sum = 0;
  for (const DelegateUse& use : delegates_) sum += use.store->generation();
  return sum;
}

Status DelegateDevice::prepare(const Logger& log, const Deadline& deadline) {
  if (prepared_.load(std::memory_order_acquire) == generation()) return {};
  {
    if (!preparing_.lock_within(deadline)) return tl::unexpected(ended(deadline));
    const MutexLock turn(preparing_, std::adopt_lock);
    if (prepared_.load(std::memory_order_relaxed) == generation()) return {};
    PX_RETURN_IF_ERROR(prepare_all(log, deadline));
  }
  std::vector<CompiledRegions> by_delegate(delegates_.size());
  add_compiled(by_delegate);
  for (std::size_t number = 0; number < delegates_.size(); ++number)
    delegates_[number].store->keep_latest(std::move(by_delegate[number]));
  return {};
}

Status DelegateDevice::prepare_all(const Logger& log, const Deadline& deadline) {
  const int now = generation();
  for (const RegionId region : compiled_->context->delegation.seconds.ids()) {
    PX_RETURN_IF_ERROR(check_deadline(deadline));
    if (use_of(region).opened->is_here()) prepare_region(region, log);
  }
  for (const auto& [node, bodies] : bodies_)
    for (const auto& body : bodies)
      if (body != nullptr) PX_RETURN_IF_ERROR(body->prepare_all(log, deadline));
  prepared_.store(now, std::memory_order_release);
  return {};
}

/// Adds the regions of this and its bodies, by Delegation::delegate.
void DelegateDevice::add_compiled(std::vector<CompiledRegions>& by_delegate) const {
  {
    const MutexLock lock(mutex_);
    for (const RegionId region : bound_.ids()) {
      CompiledRegions& list = by_delegate[compiled_->context->delegation.delegate_of(region)];
      if (bound_[region] != nullptr) list.push_back(bound_[region]->region);
      if (run_time_[region] != nullptr) list.push_back(run_time_[region]->compiled());
    }
  }
  for (const auto& [node, bodies] : bodies_)
    for (const auto& body : bodies)
      if (body != nullptr) body->add_compiled(by_delegate);
}

void DelegateDevice::prepare_region(RegionId region, const Logger& log) {
  if (const auto before = prepared(region).bound) return before->forget();
  std::shared_ptr<RegionState> state;
  auto bound = bind(region, state);
  std::optional<Error> problem = state->problem();
  if (!bound && !problem) problem = bound.error();
  if (problem) {
    const Refusal kind = state->problem() ? Refusal::kRegion : refusal_of_bind(problem->code);
    if (state->mark_reported(kind))
      log.warn(fmt::format("delegate '{}' does not run the region of node '{}': {}{}",
                           use_of(region).opened->spec, state->name, scope_of(kind),
                           problem->to_string()));
  }
  auto made = bound ? *std::move(bound) : nullptr;
  const MutexLock lock(mutex_);  // old values are swapped out and destroyed without it
  const std::size_t regions = compiled_->context->delegation.seconds.size();
  states_.resize(regions);
  bound_.resize(regions);
  run_time_.resize(regions);
  unbound_.resize(regions);
  states_[region].swap(state);
  bound_[region].swap(made);
  unbound_[region].swap(problem);
}

Device* DelegateDevice::in_body(NodeId node, std::size_t body) {
  const auto found = bodies_.find(node);
  return found == bodies_.end() ? nullptr : found->second[body].get();
}

/// Returns the name of its first node in the model.
std::string DelegateDevice::name_in_model(RegionId region) const {
  const Delegation& delegation = compiled_->context->delegation;
  for (const NodeId node : compiled_->graph().nodes.ids())
    if (delegation.region_of[node] == region)
      return delegation.body + compiled_->graph().nodes[node].name;
  return {};
}

RegionStore::Entry DelegateDevice::compile(
    RegionId region, const Result<std::shared_ptr<const CRegion>>& values) const {
  const DelegateUse& use = use_of(region);
  return use.store->get(use.opened, use.ledger, values, name_in_model(region));
}

/// Compiles and binds a region. On failure `state` has the refusal, too. Returns null if sizes
/// become known only during the run.
Result<std::shared_ptr<BoundRegion>> DelegateDevice::bind(RegionId region,
                                                          std::shared_ptr<RegionState>& state) {
  const auto values = CRegion::make(*compiled_, region);
  const DelegateUse& use = use_of(region);
  RegionStore::Entry entry = compile(region, values);
  state = entry.state;
  if (entry.compiled == nullptr)
    return tl::unexpected(state->problem().value_or(
        Error{Stage::kRun, ErrorCode::kUnsupported, {}, "it is not compiled"}));
  if (!is_planned_region(*compiled_, region)) {
    auto later = std::make_shared<RunTimeRegion>(std::move(entry), *values, compiled_, use);
    const MutexLock lock(mutex_);  // as above
    run_time_.resize(compiled_->context->delegation.seconds.size());
    run_time_[region].swap(later);
    return nullptr;
  }
  auto bound = bind_within(use, std::move(entry), *values, *compiled_, {});
  const RegionId number{compiled_->context->delegation.first + region.value};
  if (bound && times_.contains(number)) (*bound)->times = times_[number];
  if (!bound) state->refuse(refusal_of_bind(bound.error().code), bound.error());
  return bound;
}

std::shared_ptr<RunTimeRegion> DelegateDevice::run_time_region(RegionId region) const {
  const MutexLock lock(mutex_);
  return run_time_.contains(region) ? run_time_[region] : nullptr;
}

Result<std::shared_ptr<void>> DelegateDevice::bind(RegionId region,
                                                   const std::vector<ValueDims>& sizes,
                                                   const Logger* log) {
  const auto found = run_time_region(region);
  if (found == nullptr)
    return tl::unexpected(
        Error{Stage::kRun, ErrorCode::kInternal, {}, "the region was not prepared"});
  return found->bind(sizes, log);
}

bool DelegateDevice::drop_bindings() {
  IdVector<RegionId, std::shared_ptr<RunTimeRegion>> regions;
  {
    const MutexLock lock(mutex_);
    regions = run_time_;
  }
  bool any = false;
  for (const RegionId region : regions.ids())
    if (regions[region] != nullptr && use_of(region).opened->in_host_memory)
      any |= regions[region]->drop_bindings();
  return any;
}

bool DelegateDevice::count_run() noexcept {
  constexpr std::uint64_t kFirst = 5;
  const std::uint64_t run = runs_.fetch_add(1, std::memory_order_relaxed) + 1;
  return run % kFirst == 0 && std::has_single_bit(run / kFirst);  // 5, 10, 20, 40, ...
}

DelegateDevice::Prepared DelegateDevice::prepared(RegionId region) const {
  const MutexLock lock(mutex_);
  if (!states_.contains(region)) return {};
  return {states_[region], bound_[region], run_time_[region] != nullptr, unbound_[region]};
}

std::optional<Error> DelegateDevice::problem(RegionId region) const {
  if (!use_of(region).opened->is_here()) return forked();
  const Prepared is = prepared(region);
  if (is.state == nullptr)
    return Error{Stage::kRun, ErrorCode::kInternal, {}, "the region was not prepared"};
  if (auto problem = is.state->problem()) return problem;
  if (is.at_run_time) return std::nullopt;
  // Without a fallback, a lack of memory is retried in each run.
  if (is.bound != nullptr)
    return compiled_->context->delegation.substitute ? is.bound->problem() : std::nullopt;
  if (is.unbound) return is.unbound;
  return Error{Stage::kRun, ErrorCode::kUnsupported, {}, "it is not prepared for these sizes"};
}

std::optional<DelegateDevice::Refused> DelegateDevice::refusal_of(RegionId region) const {
  const DelegateUse& use = use_of(region);
  if (!use.opened->is_here()) return Refused{Refusal::kDevice, forked()};
  if (auto lost = use.store->lost()) return Refused{Refusal::kDevice, *std::move(lost)};
  const Prepared is = prepared(region);
  if (is.state == nullptr) return std::nullopt;
  if (auto problem = is.state->problem()) return Refused{Refusal::kRegion, *std::move(problem)};
  if (is.unbound) return Refused{refusal_of_bind(is.unbound->code), *is.unbound};
  if (is.bound == nullptr) return std::nullopt;
  auto problem = is.bound->problem();
  if (!problem) return std::nullopt;
  return Refused{Refusal::kMoment, *std::move(problem)};
}

void DelegateDevice::add_refused(std::vector<RefusedRegion>& list) const {
  const Delegation& delegation = compiled_->context->delegation;
  for (const RegionId region : delegation.seconds.ids()) {
    const auto refused = refusal_of(region);
    if (!refused) continue;
    RefusedRegion one{static_cast<int>(delegation.delegate_of(region)),
                      {},
                      refused->kind,
                      refused->why.to_string()};
    const RegionId number{delegation.first + region.value};
    if (one.kind != Refusal::kDevice && planned_->nodes.contains(number))
      one.nodes = planned_->nodes[number];
    if (one.kind == Refusal::kDevice || !one.nodes.empty()) list.push_back(std::move(one));
  }
  for (const auto& [node, bodies] : bodies_)
    for (const auto& body : bodies)
      if (body != nullptr) body->add_refused(list);
}

std::vector<RefusedRegion> DelegateDevice::take_refused() {
  std::vector<RefusedRegion> list;
  if (planned_ != nullptr) add_refused(list);
  if (!list.empty() && taken_.exchange(true)) list.clear();
  return list;
}

bool DelegateDevice::is_news(RegionId region, const Error& error) noexcept {
  const auto state = prepared(region).state;
  return state == nullptr || state->mark_reported(refusal_of_run(error.code));
}

/// Regions that were not prepared yet may be run.
bool DelegateDevice::is_used() const {
  if (prepared_.load(std::memory_order_acquire) != generation()) return true;
  for (const RegionId region : compiled_->context->delegation.seconds.ids())
    if (!problem(region)) return true;
  return std::ranges::any_of(bodies_, [](const auto& node) {
    return std::ranges::any_of(node.second,
                               [](const auto& body) { return body != nullptr && body->is_used(); });
  });
}

std::string_view DelegateDevice::name_of(RegionId region) const {
  return use_of(region).opened->spec;
}

void DelegateDevice::late(RegionId region, const Error& error) noexcept {
  try {
    use_of(region).store->fail_all(error);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the next run waits once more
  }
}

namespace {

/// The values of one run, by delegate; null for those that work in the CPU's memory.
struct DelegateRun final : DeviceRun {
  std::vector<std::shared_ptr<DeviceValues>> values;
};

}  // namespace

std::shared_ptr<DeviceRun> DelegateDevice::begin_run(const IdVector<RegionId, bool>& on_cpu) {
  const Delegation& delegation = compiled_->context->delegation;
  auto run = std::make_shared<DelegateRun>();
  for (std::size_t number = 0; number < delegates_.size(); ++number) {
    auto& values = run->values.emplace_back();
    if (delegates_[number].pool == nullptr) continue;
    IdVector<ValueId, bool> for_cpu = readers_.cpu;
    IdVector<ValueId, int> readers(for_cpu.size(), 0);
    for (const ValueId root : for_cpu.ids()) {
      for (const RegionId region : readers_.regions[root]) {
        if (on_cpu[region] || delegation.delegate_of(region) != number) {
          for_cpu[root] = true;
        } else {
          ++readers[root];
        }
      }
    }
    values = std::make_shared<DeviceValues>(delegates_[number].opened, delegates_[number].pool,
                                            std::move(readers), std::move(for_cpu));
  }
  return run;
}

/// Returns the first region that needs a copy. If several devices read the value, the others copy
/// it when their regions start.
RegionId DelegateDevice::wants_copy(const DeviceRun& run, ValueId value) {
  for (const RegionId region : readers_.regions[value]) {
    const std::size_t number = compiled_->context->delegation.delegate_of(region);
    // The region may not be started on the device after all.
    if (run_time_region(region) != nullptr) continue;
    const auto& values = static_cast<const DelegateRun&>(run).values[number];
    if (values != nullptr && values->is_awaited(value)) return region;
  }
  return {};
}

void DelegateDevice::start_copy(DeviceRun& run, const RegionTensor& value, const Completion& done) {
  const RegionId region = wants_copy(run, value.value);
  if (!region.valid()) return done({});
  const std::size_t number = compiled_->context->delegation.delegate_of(region);
  static_cast<DelegateRun&>(run).values[number]->want(
      value.value, value, done, [done](Status status) { done(std::move(status)); });
}

void DelegateDevice::start(RegionRun run, Completion done) {
  const RegionId region = run.region;
  const std::size_t number = compiled_->context->delegation.delegate_of(region);
  const auto* const values = static_cast<const DelegateRun*>(run.of.get());
  const Completion told = done;
  try {
    RegionStart start{shared_from_this(),
                      std::static_pointer_cast<BoundRegion>(run.bound),
                      values == nullptr ? nullptr : values->values[number],
                      &compiled_->root,
                      std::move(run),
                      std::move(done)};
    // For a plan without a substitute, or since the run began.
    if (auto known = problem(region))
      return end_region(std::make_shared<RegionStep>(std::move(start)),
                        tl::unexpected(*std::move(known)));
    if (start.region == nullptr) {
      const MutexLock lock(mutex_);
      start.region = bound_[region];
    }
    run_region(std::move(start));
  } catch (...) {
    // The CPU cannot read values that only the device has.
    told.lost(caught(Stage::kRun));
  }
}

}  // namespace parallax
