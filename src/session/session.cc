#include "parallax/session.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/machine/budget.h"
#include "base/user_call.h"
#include "kernels/bf16.h"
#include "kernels/packing_version.h"
#include "session/session_impl.h"
#include "session/session_options.h"
#include "session/state_impl.h"

namespace parallax {
namespace {

using MakeBound = std::function<Result<std::shared_ptr<Bound>>(const Binding&)>;

PlanCache::Options plan_options(const SessionOptions& options, int threads, MakeBound make) {
  return {{options.kernels == Kernels::kReference, options.precision},
          options.scheduler != Scheduler::kSequential,
          threads,
          options.admission,
          options.refinement,
          kPlanCacheBytes,
          std::move(make)};
}

}  // namespace

Session::Impl::Impl(const Model& model_in, const SessionOptions& options_in,
                    const Runtime& runtime_in, SessionDelegates delegates_in)
    : model(model_in),
      options(options_in),
      runtime(Access::impl(runtime_in)),
      delegates(std::move(delegates_in)),
      width(runtime->start(options.threads > 0 ? options.threads : kMaxThreads)),
      account(account_for(options.budget, runtime->options.account)),
      own_state(State::Impl::make_own(*this)),
      binder(impl_of(model).graph()),
      plans(
          impl_of(model).forms,
          plan_options(options, width,
                       has_delegate()
                           ? [this](const Binding& binding) { return bound_for_delegate(binding); }
                           : MakeBound{}),
          runtime->workers.on(width)) {
  runtime->add(account);
  account->add(plans);
  for (SessionDelegate& each : delegates) {
    count_memory(each.use);
    if (each.use.opened != nullptr && options.rates == Rates::kMeasured)
      each.rates = runtime->rates.of(*each.use.opened, width);
  }
}

Session::Impl::~Impl() {
  account->remove(plans);
  try {
    for (const SessionDelegate& each : delegates)
      if (each.rates != nullptr) each.rates->save();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the next process times the device again
  }
}

RunBudget Session::Impl::budget() const {
  const RunBudget now = limits->now();
  if (options.budget.kind != MemoryBudget::Kind::kAuto) return now;
  latest_limit = now.bytes.value_or(kNoLimit);
  if (!now.bytes && !told_of_no_limit.exchange(true))
    runtime->log.warn("cannot determine free memory; running without a memory budget");
  return now;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  Session taken(std::move(other));
  std::swap(impl_, taken.impl_);
  return *this;
}
Session::~Session() {
  const Call call;
  // After an unsafe fork, locks shared with other sessions may be held for ever.
  if (forked_during_call()) {
    (void)impl_.release();
  } else if (impl_ != nullptr) {
    impl_->async.wait();
  }
  impl_.reset();  // within the call
}

bool Session::supports(Precision precision) {
  return precision == Precision::kF32 || cpu_multiplies_bf16();
}

std::string Session::instruction_set() {
  if (supports(Precision::kBf16)) return std::string(kBf16InstructionSet);
  std::string name = packing_machine();
  return name.starts_with("AVX3") ? "AVX-512" : name;  // Highway's name, perhaps with a suffix
}

Result<Session> Session::create(const Model& model, const SessionOptions& options) {
  return without_exceptions([&]() -> Result<Session> {
    PX_RETURN_IF_ERROR(check_options(options));
    PX_ASSIGN(const Runtime runtime, runtime_for(options, model));
    return create(model, options, runtime);
  });
}

Result<Session> Session::create(const Model& model, const SessionOptions& options,
                                const Runtime& runtime) {
  return without_exceptions([&]() -> Result<Session> {
    PX_RETURN_IF_ERROR(check_options(options));
    PX_ASSIGN(auto delegates,
              delegates_for(options, impl_of(runtime).delegates, impl_of(runtime).log));
    if (!options.pinned_plan.empty() && delegates.front().use.opened != nullptr) {
      PX_ASSIGN(const auto canonical, impl_of(model).forms->canonical());
      SessionDelegate& only = delegates.front();
      PX_ASSIGN(only.pin,
                PlanPin::open(options.pinned_plan, only.use.opened->table.name, canonical->graph));
    }
    return Session(std::make_unique<Impl>(model, options, runtime, std::move(delegates)));
  });
}

Result<std::vector<Dims>> Session::input_dims(std::span<const DimValue> dims) const {
  return without_exceptions([&]() -> Result<std::vector<Dims>> {
    const Graph& graph = impl_->graph();
    PX_ASSIGN(const Binding binding, bind_dims(graph, dims));
    std::vector<Dims> result;
    for (const ValueId id : graph.inputs) {
      PX_ASSIGN(result.emplace_back(), bound_dims(graph, id, binding));
    }
    return result;
  });
}

Result<std::vector<std::optional<Dims>>> Session::output_dims(
    std::span<const DimValue> dims) const {
  return without_exceptions([&]() -> Result<std::vector<std::optional<Dims>>> {
    const Graph& graph = impl_->graph();
    PX_ASSIGN(const Binding binding, bind_dims(graph, dims));
    for (const ValueId id : graph.inputs) PX_RETURN_IF_ERROR(bound_dims(graph, id, binding));
    return bound_output_dims(graph, binding);
  });
}

std::vector<DelegateReport> Session::delegates() const {
  return unless_forked_during_call([&]() -> std::vector<DelegateReport> {
    std::vector<DelegateReport> reports;
    for (const SessionDelegate& each : impl_->delegates) {
      DelegateReport& report = reports.emplace_back();
      if (each.use.opened != nullptr) report = report_of(*each.use.opened);
      report.name = each.spec;
      report.problem = each.problem;
      if (each.use.ledger != nullptr) {
        report.held_bytes = each.use.ledger->held();
        report.peak_bytes = each.use.ledger->peak();
      }
      for (RegionRefusal& one : each.use.store->refusals())
        report.failures.push_back(
            {std::move(one.node), std::move(one.why), one.kind == Refusal::kMoment});
      report.returned = each.placed->returned();
    }
    return reports;
  });
}
void Session::retry_delegates() {
  unless_forked_during_call([&] {
    for (const SessionDelegate& each : impl_->delegates) each.use.store->forget_failures();
    if (impl_->refusals.forget()) impl_->plans.forget_all();
    return 0;
  });
}

void Session::trim() {
  const Call call;
  if (forked_during_call()) return;
  try {
    impl_->account->trim();
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a list: the rest is kept
  }
}

int Session::threads() const { return impl_->width; }
std::int64_t Session::peak_arena_bytes() const {
  return unless_forked_during_call([&] { return impl_->account->memory.peak_bytes(); });
}

}  // namespace parallax
