// The contents of a Session. Internal to session/.
//
// Locks: it has no mutex of its own; members synchronise themselves. Call its functions without
// locks, except the turn of a State: runs call the user's log, allocator, output allocator and
// delegates. Public functions of Session convert exceptions to errors (base/user_call.h): functions
// here may throw std::bad_alloc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/access.h"
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

/// Thread-safe. Planning and runs follow one path: run() binds the inputs, admit() chooses a plan
/// and its memory, run_program() executes it, and learn() and leave_out_refused() prepare the next
/// plan.
struct Session::Impl {
  /// The options must have passed check_options(). `delegates_in`: those that the options name.
  /// Starts workers for the threads that the options request, and adds the account to the runtime
  /// and its plans to the account.
  Impl(const Model& model_in, const SessionOptions& options_in, const Runtime& runtime_in,
       SessionDelegates delegates_in = {});
  /// Removes its plans from the account, then saves measured times of devices; errors of saving are
  /// ignored. REQUIRES: no run is in progress; ~Session() has waited for asynchronous ones.
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// The graph after the passes, whose inputs and outputs are the model's.
  const Graph& graph() const { return impl_of(model).graph(); }
  /// Returns the budget of a run that starts now. Under kAuto, reads the free memory; warns once if
  /// that cannot be read, and returns no limit then. Such a reading needs about 80 us and updates
  /// latest_limit.
  RunBudget budget() const;
  /// Plans `binding` for the profile that `wanted` names, or else for the session's delegates.
  /// Errors: as Planner::plan(). For reports and predictions: the plan is neither cached nor run.
  /// For the session's delegates the session's offload and co-execution options replace those of
  /// `wanted`.
  Result<DelegatedPlan> delegated(const Binding& binding, const PlanOptions& wanted,
                                  const RunBudget& limit) const;
  /// Whether a delegate is open.
  bool has_delegate() const {
    return std::ranges::any_of(delegates, [](const auto& d) { return d.use.opened != nullptr; });
  }

  // session_delegate.cc
  /// Chooses the regions and binds the plan, for a profile or for the session's delegates; follows
  /// and extends the pinned plan. `lay_out`: also places tensors, for a report. May measure devices
  /// first, which runs probes on them. With a pinned plan, errors name its file, and the regions of
  /// a plan without refused ones are added to it. Errors: those of planning and of the file: kIo,
  /// kInvalidInput.
  Result<DelegatedPlan> plan_regions(const Binding& binding, const PlanOptions& wanted,
                                     const DelegatedOptions& how, bool lay_out) const;
  /// Binds `binding` for the delegates; the callback of PlanCache. Binds it for the CPU alone if
  /// everything is left out. Errors: those of plan_regions(); kUnsupported if full delegation is
  /// required and a node stays on the CPU.
  Result<std::shared_ptr<Bound>> bound_for_delegate(const Binding& binding) const;
  Result<std::shared_ptr<Bound>> bound_for_cpu(const Binding& binding,
                                               const DelegatedOptions& how) const;
  /// Gives a delegate its ledgers, and a pool if it has memory of its own. Constructor only. The
  /// limit is the memory of the description, reduced to SessionOptions::delegate_memory_bytes for a
  /// device with memory of its own. A device in host memory also counts in the session's budget.
  void count_memory(DelegateUse& use);
  /// Returns the ledgers for probes of a delegate: probes count next to the memory that the session
  /// holds, and evict none of it.
  ProbeMemory memory_of_probes(const DelegateUse& use) const;
  /// Returns the options for a plan that will run, as opposed to a report. Unless full delegation
  /// is required, such plans have the CPU as a fallback.
  DelegatedOptions options_of_regions(const Binding& binding) const;
  /// Returns the delegates that are open; Region::delegate is an index into the result. Pointers
  /// into `delegates`, valid as long as this object.
  std::vector<const SessionDelegate*> opened() const;
  /// Returns the measured times of each delegate, and writes the CPU's times that they are compared
  /// with to `how`. Measures first what is missing, unless `pinned`. Empty: plan with the
  /// delegates' own descriptions. Empty if the options declare rates, for cost models other than
  /// `exact`, and for reference kernels. Measuring calls the device on this thread. If the start of
  /// a region outweighs all work, assumes no gain instead of measuring.
  Result<std::vector<Calibration>> know_rates(const Binding& binding, const PlanOptions& wanted,
                                              bool pinned, DelegatedOptions& how) const;
  /// Compiles the regions that their delegate has not compiled yet. Called after admission and
  /// before the run. Success if the plan has no device.
  Status prepare_regions(const Program& program, const Deadline& deadline) const;
  /// Admits a run. If plans with regions do not fit the budget, the CPU runs all of `binding` for a
  /// number of runs. `spare`: memory kept from the try before. Errors: as RunAdmission::admit().
  /// The fallback to the CPU applies to kBudgetExceeded only, and not if full delegation is
  /// required.
  Result<AdmittedRun> admit(const Binding& binding, const Deadline& deadline,
                            RunMemory::Spare spare);
  /// Ends a run: if regions of its plan were refused, or a pause is over, the next run of `binding`
  /// gets another plan. `no_room`: the CPU ran all of them for lack of memory. Called by the thread
  /// of the run, after it. Does nothing if full delegation is required. Failures only keep the
  /// plan.
  void leave_out_refused(const Binding& binding, const Program& program, bool no_room);
  /// Leaves all of `binding` to the CPU for a number of runs, from the next one on. Adds a refusal
  /// of the moment for each open delegate, and evicts the plan of `binding`.
  void leave_all_out(const Binding& binding);
  /// Admits a run whose plan has no regions, after leave_all_out(), even if another thread retries
  /// delegates meanwhile. Errors: as RunAdmission::admit().
  Result<AdmittedRun> admit_on_cpu(const Binding& binding, const Deadline& deadline);
  /// Returns a refusal of all nodes for each open delegate.
  std::vector<RefusedRegion> all_refused() const;
  /// Returns the nodes that plans for `binding` leave to the CPU. Empty if full delegation is
  /// required: a region is tried again then.
  std::vector<RefusedRegion> refused_regions(const Binding& binding) const;

  // session_replan.cc
  /// Compares the times of regions with the plan's after a run. If they differ, and another
  /// placement is predicted to be faster, the next run of `binding` uses that. Failures only keep
  /// the plan. Only with measured rates and a free placement: neither a pinned plan, nor
  /// Offload::kAll, nor full delegation. Called by the thread of the run before run() returns.
  void learn(const Binding& binding, const Program& program);
  /// Does the same for the share of rows of a split operator.
  void learn_split(const Binding& binding, const TimedSplit& split);
  /// Makes the other plan, and reports regions that return to the CPU. Keeps the plan unless the
  /// other one is predicted to save more than 3 % of the whole time. Errors: those of planning;
  /// they are logged and keep the plan.
  Status replan(const Binding& binding, const Program& program);

  // session_run.cc
  /// One run as its caller requested it; references outlive the run.
  struct Request {
    const PlaceOutput& place;  ///< provides the memory of outputs
    RunTrace* trace;           ///< null: nothing is recorded
    Deadline deadline;
    State::Impl* state = nullptr;  ///< the State that the run waits for; `on` is set after that
    StateRun* on = nullptr;
  };
  /// Returns the deadline and the stop token of a run that is requested now. The time starts now:
  /// an asynchronous run that waits in the queue uses it up, too. SessionOptions::time_limit_ms of
  /// 0 means no limit.
  Deadline deadline(const RunOptions& run_options) const;
  /// Returns the State of a run: the given one, else the session's own; null if neither exists. The
  /// caller keeps the State alive until the run ends.
  State::Impl* state_of(const RunOptions& run_options) const;
  /// Runs once. Errors: as Session::run(). Fails with kCancelled before anything else if a stop was
  /// requested. From the second run on, up to 100 ms of it may go to moving packed weights to large
  /// pages. Binds into thread-local memory, so no callback may run a session on the same thread.
  Status run(std::span<const NamedInput> inputs, const Request& request);
  /// Runs with the values of a State, which receives the tied outputs if the run succeeds; waits
  /// for the State first. In state_run.cc. Errors: kInvalidInput if the State belongs to another
  /// model; kLimitExceeded and kCancelled also for the wait. The values are unchanged if the run
  /// fails.
  Status run_on(State::Impl& state, std::span<const NamedInput> inputs, const Request& request);
  /// Runs into newly allocated outputs. The tensors belong to the caller. Tied outputs stay empty
  /// unless RunOptions::tied_outputs is set. Errors: also kUnsupported for outputs that are no
  /// tensors of numbers, and kBudgetExceeded for one that alone exceeds the budget.
  Result<std::vector<Tensor>> run(std::span<const NamedInput> inputs, const RunOptions& run_options,
                                  const Deadline& deadline);
  /// Does the same for outputs of any type, each as an Object.
  Result<std::vector<Object>> run_objects(std::span<const NamedInput> inputs,
                                          const RunOptions& run_options, const Deadline& deadline);
  /// Runs bound inputs, with all retries: after a delegate timeout, and for lack of memory. After a
  /// timeout the memory of the first try stays reserved for the delegate until it answers; there is
  /// one retry per delegate at most, and the last one uses the CPU alone. If tensors whose sizes
  /// only the run determines find no room: frees idle memory of devices, then uses the smallest
  /// plan, then no delegate. With full delegation there is no retry on the CPU.
  Status run_bound(const BoundInputs& bound, const Request& request);
  /// `before` and `kept`: the plan that failed with `status`, and the bytes that other plans held.
  /// Returns `status` if there is no smaller plan.
  Status run_smaller(const BoundInputs& bound, const Request& request, const Program& before,
                     std::int64_t kept, Status status);
  /// Blocks while other runs hold memory of devices. The caller must hold no plan.
  Status run_without_delegates(const BoundInputs& bound, const Request& request);
  /// Executes an admitted run, once. `on_cpu`: as ExecuteOptions::regions_on_cpu. `late`: set to
  /// true if a region exceeded the delegate's time limit. Called without locks, on the thread of
  /// the run. Under kAuto the budget is read again during the run (BudgetWatch).
  Status run_program(AdmittedRun& run, const BoundInputs& bound, const Request& request,
                     std::string on_cpu = {}, bool* late = nullptr);
  /// Refuses to allocate an output that alone exceeds the budget; outputs belong to the caller and
  /// do not count otherwise. Errors: kBudgetExceeded. Compares with latest_limit, without reading
  /// the free memory.
  Status check_output(std::size_t output, DType dtype, const Dims& dims) const;

  static constexpr std::int64_t kNoLimit = -1;  ///< the value of latest_limit without a budget
  /// The caller's Model may be destroyed before the session: contents are shared.
  const Model model;
  const SessionOptions options;
  const std::shared_ptr<Runtime::Impl> runtime;  ///< never null
  SessionDelegates delegates;                    ///< constant after construction
  /// Runs that the destructor waits for. ~Session() waits for them, on the thread that destroys it.
  PendingRuns async;
  const int width;  ///< threads of a run, its caller's included
  /// The limit as last read for a run; outputs are checked against it without another reading.
  mutable std::atomic<std::int64_t> latest_limit{
      options.budget.kind == MemoryBudget::Kind::kBytes ? options.budget.bytes : kNoLimit};
  const std::shared_ptr<MemoryAccount> account;
  const std::shared_ptr<SessionBudget> limits =
      std::make_shared<SessionBudget>(options.budget, account);
  /// For runs without a State; null if the model keeps no state.
  const std::unique_ptr<State::Impl> own_state;
  const InputBinder binder;
  PlanCache plans;    ///< plans by binding
  Refusals refusals;  ///< bindings and regions that plans leave to the CPU
  /// Reserves memory for a second try if delegates have a time limit and the CPU may run their
  /// regions.
  RunAdmission admission{plans, *account, [this] { return budget(); }, runtime->source,
                         options.delegate_time_limit_ms > 0 && !options.require_full_delegation};
  std::atomic<bool> has_run = false;                   ///< whether a run has ended
  mutable std::atomic<bool> told_of_no_limit = false;  ///< whether budget() has warned
};

/// Names the delegates for plans: by their profiles if these differ, otherwise by their specs.
/// `calibrations`: one for each, or empty. They and the delegates must outlive the result.
std::vector<NamedDelegate> named(const std::vector<const SessionDelegate*>& delegates,
                                 const std::vector<Calibration>& calibrations);

}  // namespace parallax
