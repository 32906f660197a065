#include "parallax/planner.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/user_call.h"
#include "report/plan_report.h"
#include "session/session_impl.h"
#include "session/session_options.h"
#include "simulate/predict.h"

namespace parallax {
namespace {

/// Returns the passes that made a model. `lowering`, if not empty, replaces the last of them: they
/// ran again on the CPU's part of a plan.
std::vector<PassReport> passes_of(const Model::Impl& model, std::vector<PassReport> lowering) {
  std::vector<PassReport> passes = model.passes;
  passes.resize(passes.size() - std::min(passes.size(), lowering.size()));
  std::ranges::move(lowering, std::back_inserter(passes));
  return passes;
}

}  // namespace

Planner::Planner(Session& session) : session_(&impl_of(session)) {}

Result<PlanReport> Planner::plan(std::span<const DimValue> dims, const PlanOptions& options) {
  return without_exceptions([&]() -> Result<PlanReport> {
    PX_RETURN_IF_ERROR(check_options(options));
    PX_ASSIGN(const Binding binding, bind_dims(session_->graph(), dims));
    const RunBudget budget = session_->budget();
    const auto within = [&](PlanReport report) {
      report.passes = passes_of(impl_of(session_->model), std::move(report.passes));
      report.budget_bytes = budget.bytes;
      report.memory_stalled = !budget.parallel;
      return report;
    };
    const Refinement refinement = session_->options.refinement;
    if (options.profile.empty() && !session_->has_delegate()) {
      PX_ASSIGN(const auto program, session_->plans.get(binding, budget, true));
      session_->plans.save();
      return within(report_of(*program, refinement));
    }
    PX_ASSIGN(const DelegatedPlan plan, session_->delegated(binding, options, budget));
    return within(report_of(plan, refinement));
  });
}

Result<Prediction> Planner::predict(std::span<const DimValue> dims,
                                    const std::filesystem::path& profile,
                                    const PlanOptions& options) {
  return without_exceptions([&]() -> Result<Prediction> {
    PX_RETURN_IF_ERROR(check_options(options));
    PX_ASSIGN(const DeviceProfile device, load_timed_profile(profile));
    PX_ASSIGN(const Binding binding, bind_dims(session_->graph(), dims));
    const RunBudget budget = session_->budget();
    std::shared_ptr<const Program> program;
    if (options.profile.empty() && !session_->has_delegate()) {
      PX_ASSIGN(program, session_->plans.get(binding, budget));
    } else {
      PX_ASSIGN(DelegatedPlan plan, session_->delegated(binding, options, budget));
      program = std::move(plan.program);
    }
    return parallax::predict(*program, device, session_->options.scheduler);
  });
}

Result<int> Planner::profile_cores(const std::filesystem::path& profile) {
  return without_exceptions([&]() -> Result<int> {
    PX_ASSIGN(const DeviceProfile device, load_timed_profile(profile));
    return cores_of(device);
  });
}

std::int64_t Planner::cache_bytes() const {
  return unless_forked_during_call([&] { return session_->plans.bytes(); });
}
PlanTimes Planner::times() const {
  return unless_forked_during_call([&] { return session_->plans.times(); });
}

}  // namespace parallax
