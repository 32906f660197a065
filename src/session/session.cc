#include "parallax/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <utility>

#include "base/byte_text.h"
#include "base/caught.h"
#include "base/fork.h"
#include "base/memory_probe.h"
#include "base/status.h"
#include "execute/budget_watch.h"
#include "execute/execute.h"
#include "kernels/bf16.h"
#include "kernels/packing_version.h"
#include "partition/profile_toml.h"
#include "schedule/budget.h"
#include "session/binding.h"
#include "session/delegated_plan.h"
#include "session/memory_account.h"
#include "session/model_impl.h"
#include "session/plan_cache.h"
#include "session/plan_report.h"
#include "session/predict.h"
#include "session/run_admission.h"
#include "session/runtime_impl.h"

namespace parallax {
namespace {

/// A time limit of years is a mistake too.
constexpr double kMaxSeconds = 1e8;

tl::unexpected<Error> refuse(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kSession, code, {}, std::move(message)});
}

/// A call of the user's: calls a function that returns a Result; what the standard library throws
/// becomes an error.
template <class Function>
auto without_exceptions(Function function) -> decltype(function()) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_not_torn());
    return function();
  } catch (...) {
    return tl::unexpected(caught(Stage::kSession));
  }
}

/// A figure, which says nothing where it cannot be read.
template <class Function>
auto unless_torn(Function figure) -> decltype(figure()) {
  const Call call;
  if (torn_by_fork()) return {};
  return figure();
}

PlanCache::Options cache_options(const SessionOptions& options, int threads) {
  return {{options.kernels == Kernels::kReference, options.precision == Precision::kBf16},
          options.scheduler != Scheduler::kSequential,
          threads,
          options.admission,
          options.refinement};
}

/// Refuses memory for an output that no kernel could write.
Status check_memory(std::string_view name, const MutableTensorView& view) {
  if (!view.bytes.empty() && view.bytes.data() == nullptr) {
    return refuse(
        ErrorCode::kInvalidInput,
        fmt::format("output '{}' is given {} bytes without memory", name, view.bytes.size()));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(view.bytes.data());
  if (address % static_cast<std::uintptr_t>(size_of(view.dtype)) == 0) return {};
  return refuse(ErrorCode::kInvalidInput,
                fmt::format("the memory for output '{}' is not aligned to its element size", name));
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return !a.empty() && !b.empty() && std::less<>{}(a.data(), b.data() + b.size()) &&
         std::less<>{}(b.data(), a.data() + a.size());
}

}  // namespace

struct Session::Impl {
  Impl(const Model& model_in, const SessionOptions& options_in, const Runtime& runtime_in)
      : model(model_in),
        options(options_in),
        runtime(runtime_in.impl()),
        width(runtime->workers.start(options.threads > 0 ? options.threads : kMaxThreads)),
        account(account_for(options.budget, runtime->options.account)),
        binder(model.impl().graph()),
        plans(model.impl().forms, cache_options(options, width), runtime->workers.on(width)) {
    account->add(plans);
  }
  ~Impl() { account->remove(plans); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Graph& graph() const { return model.impl().graph(); }

  /// What a run that starts now may take.
  RunBudget budget() const {
    switch (options.budget.kind) {
      case MemoryBudget::Kind::kNone:
        return {};
      case MemoryBudget::Kind::kBytes:
        return {options.budget.bytes, true};
      case MemoryBudget::Kind::kAuto:
        break;
    }
    const RunBudget now = auto_budget(probe.read(), account->memory.held_bytes());
    latest_limit = now.bytes.value_or(kNoLimit);
    return now;
  }

  Result<DelegatedPlan> delegated(const Binding& binding, const PlanOptions& wanted,
                                  const RunBudget& limit) const {
    const PlanCache::Options plain = cache_options(options, width);
    PX_ASSIGN(const auto canonical, model.impl().forms->canonical());
    PX_ASSIGN(const auto lowered, model.impl().forms->of(binding, plain.kernels));
    return plan_for_delegate(canonical->graph, lowered->graph, binding, wanted,
                             {plain.kernels,
                              plain.refinement,
                              {.parallel = plain.parallel && limit.at_once,
                               .threads = plain.threads,
                               .budget = limit.bytes,
                               .admission = options.admission},
                              model.impl().disabled_passes});
  }

  /// Outputs are the caller's and stay outside the budget, but one that alone exceeds it is no
  /// tensor to make.
  Status check_output(std::size_t output, DType dtype, const Dims& dims) const {
    const std::int64_t bytes = latest_limit;
    const std::int64_t wanted = dims.elements() * size_of(dtype);
    if (bytes == kNoLimit || wanted <= bytes) return {};
    return refuse(ErrorCode::kBudgetExceeded,
                  fmt::format("output '{}' takes {}, budget {}: {} missing",
                              graph().values[graph().outputs[output]].name, byte_text(wanted),
                              byte_text(bytes), byte_text(wanted - bytes)));
  }

  struct Request {
    const PlaceOutput& place;
    RunTrace* trace;
    Deadline deadline;
  };

  Status run(std::span<const NamedInput> inputs, const PlaceOutput& place,
             const RunOptions& run_options) {
    if (run_options.stop.stop_requested()) return tl::unexpected(cancelled());
    Request request{place, run_options.trace, {{}, run_options.stop}};
    if (options.time_limit_seconds > 0) {
      request.deadline.time = std::chrono::steady_clock::now() +
                              std::chrono::duration_cast<std::chrono::nanoseconds>(
                                  std::chrono::duration<double>(options.time_limit_seconds));
    }
    // Kept from run to run, so that a run allocates nothing for it.
    thread_local BoundInputs bound;
    PX_RETURN_IF_ERROR(binder.bind(inputs, bound));
    // The first outputs do not wait for this.
    if (has_run) model.impl().weights().packed.promote_pages(kPromotion);
    Status status = run_bound(bound, request);
    has_run = true;
    return status;
  }

  Status run_bound(const BoundInputs& bound, const Request& request) {
    std::shared_ptr<const Program> program;
    std::int64_t kept = 0;
    Status status;
    {
      PX_ASSIGN(AdmittedRun run, admission.admit(bound.binding, request.deadline));
      program = run.program;
      kept = run.kept_by_plans;
      status = run_program(run, bound, request);
    }
    // Only running tells the bytes of data-dependent tensors: where they found no room beside the
    // planned ones and other plans, a smaller plan alone may leave enough.
    if (status || status.error().code != ErrorCode::kBudgetExceeded ||
        !program->compiled->has_run_time_nodes)
      return status;
    auto smaller = admission.admit_smaller(bound.binding, request.deadline, *program, kept);
    if (smaller) return run_program(*smaller, bound, request);
    const bool none = smaller.error().code == ErrorCode::kBudgetExceeded;
    return none ? status : tl::unexpected(std::move(smaller).error());
  }

  Status run_program(AdmittedRun& run, const BoundInputs& bound, const Request& request) {
    // A plan for one branch after the other is kept to where what runs beside it may need its
    // bytes.
    const bool in_order = run.program->compiled->has_run_time_nodes &&
                          run.budget.bytes.has_value() && run.program->plan.max_branches == 1;
    ExecuteOptions run_options;
    run_options.trace = request.trace;
    run_options.scheduler = in_order ? Scheduler::kSequential : options.scheduler;
    run_options.max_loop_trips = options.max_loop_trips;
    run_options.deadline = request.deadline;
    std::optional<BudgetWatch> watch;
    if (options.budget.kind == MemoryBudget::Kind::kAuto) {
      watch.emplace(
          run.lease, [&] { return less(budget(), run.kept_by_plans); }, run.budget.at_once);
      run_options.watch = &*watch;
    }
    return execute(*run.program, bound.bytes, request.place, runtime->workers.pool(), run.lease,
                   run_options);
  }

  static constexpr std::int64_t kNoLimit = -1;
  /// How much longer a run may take because of what the first one left for later.
  static constexpr std::chrono::milliseconds kPromotion{100};
  const Model model;
  const SessionOptions options;
  const std::shared_ptr<Runtime::Impl> runtime;
  const int width;  ///< threads of a run, its caller's included
  /// As last read for a run; outputs are checked against it without another reading.
  mutable std::atomic<std::int64_t> latest_limit{
      options.budget.kind == MemoryBudget::Kind::kBytes ? options.budget.bytes : kNoLimit};
  mutable MemoryProbe probe;
  const std::shared_ptr<MemoryAccount> account;
  const InputBinder binder;
  PlanCache plans;
  RunAdmission admission{plans, *account, [this] { return budget(); }};
  std::atomic<bool> has_run = false;
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  Session taken(std::move(other));
  std::swap(impl_, taken.impl_);
  return *this;
}
Session::~Session() {
  const Call call;
  // What it shares with other sessions may be locked for ever.
  if (torn_by_fork()) (void)impl_.release();
  impl_.reset();  // within the call
}

bool Session::supports(Precision precision) {
  return precision == Precision::kF32 || cpu_multiplies_bf16();
}

std::string Session::instruction_set() {
  if (supports(Precision::kBf16)) return std::string(kBf16InstructionSet);
  std::string name = packing_machine();
  return name.starts_with("AVX3") ? "AVX-512" : name;  // Highway's name, with what it has beside
}

namespace {

/// Refuses a number that an enumeration whose last value is `last` does not have.
template <class Enumeration>
Status check_choice(Enumeration choice, Enumeration last, std::string_view name) {
  if (static_cast<int>(choice) <= static_cast<int>(last)) return {};
  return refuse(ErrorCode::kInvalidInput,
                fmt::format("{} must be 0 to {}, not {}", name, static_cast<int>(last),
                            static_cast<int>(choice)));
}

Status check_options(const SessionOptions& options) {
  PX_RETURN_IF_ERROR(check_choice(options.scheduler, Scheduler::kDataflow, "scheduler"));
  PX_RETURN_IF_ERROR(check_choice(options.budget.kind, MemoryBudget::Kind::kAuto, "budget.kind"));
  PX_RETURN_IF_ERROR(check_choice(options.kernels, Kernels::kReference, "kernels"));
  PX_RETURN_IF_ERROR(check_choice(options.admission, Admission::kPaper, "admission"));
  PX_RETURN_IF_ERROR(check_choice(options.refinement, Refinement::kPaper, "refinement"));
  PX_RETURN_IF_ERROR(check_choice(options.precision, Precision::kBf16, "precision"));
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return refuse(
        ErrorCode::kInvalidInput,
        fmt::format("threads must be 0 (all CPUs) to {}, not {}", kMaxThreads, options.threads));
  }
  if (options.budget.kind == MemoryBudget::Kind::kBytes && options.budget.bytes < 0) {
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("a memory budget of {} bytes", options.budget.bytes));
  }
  if (options.max_loop_trips < 0 || !(options.time_limit_seconds >= 0) ||
      options.time_limit_seconds > kMaxSeconds) {
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("a limit of {} loop trips and {} seconds", options.max_loop_trips,
                              options.time_limit_seconds));
  }
  return {};
}

Status check_options(const PlanOptions& options) {
  return check_choice(options.cost_model, CostModel::kMeasured, "cost_model");
}

}  // namespace

Result<Session> Session::create(const Model& model, const SessionOptions& options) {
  return without_exceptions([&]() -> Result<Session> {
    PX_RETURN_IF_ERROR(check_options(options));
    PX_ASSIGN(const Runtime runtime, runtime_for(options));
    return create(model, options, runtime);
  });
}

Result<Session> Session::create(const Model& model, const SessionOptions& options,
                                const Runtime& runtime) {
  return without_exceptions([&]() -> Result<Session> {
    PX_RETURN_IF_ERROR(check_options(options));
    if (options.precision == Precision::kBf16 && options.kernels == Kernels::kReference)
      return refuse(ErrorCode::kInvalidInput, "the reference kernels compute in f32 only");
    if (!supports(options.precision)) {
      return refuse(ErrorCode::kUnsupported,
                    fmt::format("bf16 needs {}, which this CPU does not have; f32 runs everywhere",
                                kBf16InstructionSet));
    }
    return Session(std::make_unique<Impl>(model, options, runtime));
  });
}

Result<std::vector<Tensor>> Session::run(std::span<const NamedInput> inputs,
                                         const RunOptions& options) {
  return without_exceptions([&]() -> Result<std::vector<Tensor>> {
    std::vector<Tensor> outputs(impl_->graph().outputs.size());
    const PlaceOutput place = [&](int output, DType dtype, const Dims& dims) -> Result<std::byte*> {
      const auto index = static_cast<std::size_t>(output);
      PX_RETURN_IF_ERROR(impl_->check_output(index, dtype, dims));
      Tensor& tensor = outputs[index];
      PX_ASSIGN(tensor, Tensor::allocate(dtype, dims));
      return tensor.mutable_view().bytes.data();
    };
    PX_RETURN_IF_ERROR(impl_->run(inputs, place, options));
    return outputs;
  });
}

Status Session::run_into(std::span<const NamedInput> inputs,
                         std::span<const MutableTensorView> outputs, const RunOptions& options) {
  return without_exceptions([&]() -> Status {
    const Graph& graph = impl_->graph();
    if (outputs.size() != graph.outputs.size()) {
      return refuse(ErrorCode::kInvalidInput, fmt::format("the model has {} outputs, {} are given",
                                                          graph.outputs.size(), outputs.size()));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      PX_RETURN_IF_ERROR(check_memory(graph.values[graph.outputs[i]].name, outputs[i]));
      const bool shared =
          std::any_of(inputs.begin(), inputs.end(),
                      [&](const NamedInput& input) {
                        return overlap(outputs[i].bytes, input.tensor.bytes);
                      }) ||
          std::any_of(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const MutableTensorView& other) {
                        return overlap(outputs[i].bytes, other.bytes);
                      });
      if (shared) {
        return refuse(ErrorCode::kInvalidInput,
                      fmt::format("output '{}' lies where an input or another output lies",
                                  graph.values[graph.outputs[i]].name));
      }
    }
    const PlaceOutput place = [&](int output, DType dtype, const Dims& dims) -> Result<std::byte*> {
      const MutableTensorView& view = outputs[static_cast<std::size_t>(output)];
      const auto bytes = static_cast<std::uint64_t>(dims.elements() * size_of(dtype));
      if (view.dtype == dtype && view.dims == dims && view.bytes.size() == bytes)
        return view.bytes.data();
      return refuse(
          ErrorCode::kInvalidInput,
          fmt::format(
              "output '{}' is {} {}, the memory given is {} {} in {} bytes, dense it has {}",
              graph.values[graph.outputs[static_cast<std::size_t>(output)]].name, to_string(dtype),
              dims.to_string(), to_string(view.dtype), view.dims.to_string(), view.bytes.size(),
              bytes));
    };
    return impl_->run(inputs, place, options);
  });
}

Result<PlanReport> Session::plan(std::span<const DimValue> dims, const PlanOptions& options) {
  return without_exceptions([&]() -> Result<PlanReport> {
    PX_RETURN_IF_ERROR(check_options(options));
    PX_ASSIGN(const Binding binding, bind_dims(impl_->graph(), dims));
    const RunBudget budget = impl_->budget();
    const auto within = [&budget](PlanReport report) {
      report.budget_bytes = budget.bytes;
      report.memory_stalled = !budget.at_once;
      return report;
    };
    const Refinement refinement = impl_->options.refinement;
    if (options.profile.empty()) {
      PX_ASSIGN(const auto program, impl_->plans.get(binding, budget, true));
      impl_->plans.save();
      return within(report_of(*program, refinement));
    }
    PX_ASSIGN(const DelegatedPlan plan, impl_->delegated(binding, options, budget));
    return within(report_of(plan, refinement));
  });
}

Result<Prediction> Session::predict(std::span<const DimValue> dims, const std::string& profile,
                                    const PlanOptions& options) {
  return without_exceptions([&]() -> Result<Prediction> {
    PX_RETURN_IF_ERROR(check_options(options));
    PX_ASSIGN(const DeviceProfile device, load_profile(profile));
    PX_ASSIGN(const Binding binding, bind_dims(impl_->graph(), dims));
    const RunBudget budget = impl_->budget();
    std::shared_ptr<const Program> program;
    if (options.profile.empty()) {
      PX_ASSIGN(program, impl_->plans.get(binding, budget));
    } else {
      PX_ASSIGN(DelegatedPlan plan, impl_->delegated(binding, options, budget));
      program = std::move(plan.program);
    }
    return parallax::predict(*program, device, impl_->options.scheduler);
  });
}

Result<int> Session::profile_cores(const std::string& profile) {
  return without_exceptions([&]() -> Result<int> {
    PX_ASSIGN(const DeviceProfile device, load_profile(profile));
    return static_cast<int>(core_speeds(device).size());
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

int Session::threads() const { return impl_->width; }
std::int64_t Session::peak_arena_bytes() const {
  return unless_torn([&] { return impl_->account->memory.peak_bytes(); });
}
std::int64_t Session::plan_cache_bytes() const {
  return unless_torn([&] { return impl_->plans.bytes(); });
}
PlanTimes Session::plan_times() const {
  return unless_torn([&] { return impl_->plans.times(); });
}

}  // namespace parallax
