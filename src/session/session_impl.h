// What a Session holds. Internal to session/.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/deadline.h"
#include "parallax/session.h"
#include "parallax/state.h"
#include "planning/delegated_plan.h"
#include "planning/plan_cache.h"
#include "planning/refusals.h"
#include "run/execute.h"
#include "session/binding.h"
#include "session/delegates.h"
#include "session/memory_account.h"
#include "session/model_impl.h"
#include "session/run_admission.h"
#include "session/runtime_impl.h"
#include "session/session_budget.h"

namespace parallax {

class StateRun;

/// Thread-safe.
struct Session::Impl {
  Impl(const Model& model_in, const SessionOptions& options_in, const Runtime& runtime_in,
       SessionDelegates delegates_in = {});
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Graph& graph() const { return model.impl().graph(); }
  /// What a run that starts now may take.
  RunBudget budget() const;
  /// For a profile, or else for the session's delegates.
  Result<DelegatedPlan> delegated(const Binding& binding, const PlanOptions& wanted,
                                  const RunBudget& limit) const;
  bool has_delegate() const {
    return std::ranges::any_of(delegates, [](const auto& d) { return d.use.opened != nullptr; });
  }

  // session_delegate.cc
  Result<DelegatedPlan> plan_regions(const Binding& binding, const PlanOptions& wanted,
                                     const DelegatedOptions& how, bool lay_out) const;
  Result<std::shared_ptr<Bound>> bound_for_delegate(const Binding& binding) const;
  Result<std::shared_ptr<Bound>> bound_for_cpu(const Binding& binding,
                                               const DelegatedOptions& how) const;
  /// Gives it ledgers, and a pool where it has memory of its own.
  void count_memory(DelegateUse& use);
  /// The ledgers of its probes, which count beside what the session holds and take nothing of it.
  ProbeMemory memory_of_probes(const DelegateUse& use) const;
  /// Of a plan that runs.
  DelegatedOptions options_of_regions(const Binding& binding) const;
  /// The delegates that are open, by Region::delegate.
  std::vector<const SessionDelegate*> opened() const;
  /// What was timed on each of them, and what of the CPU it is compared with, into `how`. Empty:
  /// what they say of themselves holds. `pinned`: nothing is timed for this plan.
  Result<std::vector<Calibration>> know_rates(const Binding& binding, const PlanOptions& wanted,
                                              bool pinned, DelegatedOptions& how) const;
  /// Compiles regions where the delegate has not.
  Status prepare_regions(const Program& program, const Deadline& deadline) const;
  /// Admits a run. If plans with regions do not fit the budget, the CPU has all of `binding` for a
  /// while.
  Result<AdmittedRun> admit(const Binding& binding, const Deadline& deadline,
                            RunMemory::Spare spare);
  /// After a run: if regions of its plan were refused, or a pause is over, the next run of
  /// `binding` gets another plan. `no_room`: the CPU ran all of them for lack of memory.
  void leave_out_refused(const Binding& binding, const Program& program, bool no_room);
  /// Runs of `binding` that begin from now on are the CPU's for a while.
  void leave_all_out(const Binding& binding);
  /// The nodes that plans for `binding` leave to the CPU.
  std::vector<RefusedRegion> refused_regions(const Binding& binding) const;

  // session_replan.cc
  /// After a run: where regions take other times than the plan was made by and another placement is
  /// predicted to be faster, the next run of `binding` has that.
  void learn(const Binding& binding, const Program& program);
  void learn_split(const Binding& binding, const TimedSplit& split);
  Status replan(const Binding& binding, const Program& program);

  // session_run.cc
  struct Request {
    const PlaceOutput& place;
    RunTrace* trace;
    Deadline deadline;
    State* state = nullptr;  ///< that the run waits for; `on` follows
    StateRun* on = nullptr;
  };
  /// What ends a run that is asked for now.
  Deadline deadline(const RunOptions& run_options) const;
  Status run(std::span<const NamedInput> inputs, const Request& request);
  /// state_run.cc: the same with the values of a State, which get what the run makes.
  Status run_on(State::Impl& state, std::span<const NamedInput> inputs, const Request& request);
  /// Runs into memory of its own.
  Result<std::vector<Tensor>> run(std::span<const NamedInput> inputs, const RunOptions& run_options,
                                  const Deadline& deadline);
  Result<std::vector<Object>> run_objects(std::span<const NamedInput> inputs,
                                          const RunOptions& run_options, const Deadline& deadline);
  Status run_bound(const BoundInputs& bound, const Request& request);
  Status run_smaller(const BoundInputs& bound, const Request& request, const Program& before,
                     std::int64_t kept, Status status);
  Status run_without_delegates(const BoundInputs& bound, const Request& request);
  /// `on_cpu`: as ExecuteOptions::regions_on_cpu. `late`: set where a delegate's region took too
  /// long.
  Status run_program(AdmittedRun& run, const BoundInputs& bound, const Request& request,
                     std::string on_cpu = {}, bool* late = nullptr);
  /// Outputs are the caller's and stay outside the budget, but one that alone exceeds it is no
  /// tensor to make.
  Status check_output(std::size_t output, DType dtype, const Dims& dims) const;

  static constexpr std::int64_t kNoLimit = -1;
  const Model model;
  const SessionOptions options;
  const std::shared_ptr<Runtime::Impl> runtime;
  SessionDelegates delegates;  // as made
  PendingRuns async;
  const int width;  ///< threads of a run, its caller's included
  /// As last read for a run; outputs are checked against it without another reading.
  mutable std::atomic<std::int64_t> latest_limit{
      options.budget.kind == MemoryBudget::Kind::kBytes ? options.budget.bytes : kNoLimit};
  const std::shared_ptr<MemoryAccount> account;
  const std::shared_ptr<SessionBudget> limits =
      std::make_shared<SessionBudget>(options.budget, account);
  const InputBinder binder;
  PlanCache plans;
  Refusals refusals;
  RunAdmission admission{
      plans, *account, [this] { return budget(); }, runtime->source,
      options.delegate_time_limit_seconds > 0 && !options.require_full_delegation};
  std::atomic<bool> has_run = false;
  mutable std::atomic<bool> told_of_no_limit = false;
};

/// By the names of their profiles where these tell them apart. `calibrations`: of each, or empty;
/// they and the delegates outlive the result.
std::vector<NamedDelegate> named(const std::vector<const SessionDelegate*>& delegates,
                                 const std::vector<Calibration>& calibrations);

}  // namespace parallax
