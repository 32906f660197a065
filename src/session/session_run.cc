// Runs of a session: from inputs by name to outputs in place.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/byte_text.h"
#include "base/status.h"
#include "base/user_call.h"
#include "delegate_host/delegate_device.h"
#include "run/budget_watch.h"
#include "session/output_memory.h"
#include "session/session_impl.h"
#include "session/state_impl.h"

namespace parallax {
namespace {

/// Time that a run may spend on converting pages of packed weights to large ones, which the first
/// run left for later.
constexpr std::chrono::milliseconds kPromotion{100};

/// The reason given if the CPU runs all regions because a run found no room for data-dependent
/// tensors.
constexpr const char* kNoRoomBeside = "the memory budget has no room for it";

/// Refuses models with outputs that are no tensors of numbers.
Status check_tensors(const Graph& graph) {
  for (const ValueId id : graph.outputs) {
    const Value& value = graph.values[id];
    if (!is_object(value)) continue;
    return refuse(
        ErrorCode::kUnsupported,
        fmt::format("output '{}' is not a tensor of numbers; use run_objects()", value.name));
  }
  return {};
}

/// Whether the run's State, which may be null, receives the output.
bool is_tied(const State::Impl* state, std::size_t output) {
  return state != nullptr && state->tie_of_output(output).has_value();
}

bool is_full(const Status& status) {
  return !status && status.error().code == ErrorCode::kBudgetExceeded;
}

/// Returns the record of the times of runs of a split model; null if it is not split.
std::shared_ptr<RegionTimes> split_times(const Program& program) {
  const auto* device = static_cast<const DelegateDevice*>(program.bound->device.get());
  return device == nullptr ? nullptr : device->split().seconds;
}

}  // namespace

Status Session::Impl::check_output(std::size_t output, DType dtype, const Dims& dims) const {
  const std::int64_t bytes = latest_limit;
  const std::int64_t wanted = bytes_of(dtype, dims).value_or(0);
  if (bytes == kNoLimit || wanted <= bytes) return {};
  return refuse(ErrorCode::kBudgetExceeded,
                fmt::format("output '{}' needs {}, budget {}: {} missing",
                            graph().values[graph().outputs[output]].name, byte_text(wanted),
                            byte_text(bytes), byte_text(wanted - bytes)));
}

Deadline Session::Impl::deadline(const RunOptions& run_options) const {
  Deadline deadline({}, run_options.stop);
  if (options.time_limit_ms > 0) {
    deadline.time = std::chrono::steady_clock::now() +
                    std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::duration<double, std::milli>(options.time_limit_ms));
  }
  return deadline;
}

State::Impl* Session::Impl::state_of(const RunOptions& run_options) const {
  return run_options.state != nullptr ? &impl_of(*run_options.state) : own_state.get();
}

Status Session::Impl::run(std::span<const NamedInput> inputs, const Request& request) {
  if (request.deadline.stop.stop_requested()) return tl::unexpected(cancelled());
  if (request.state != nullptr) return run_on(*request.state, inputs, request);
  // Reused by later runs, so that they allocate nothing for it.
  thread_local BoundInputs bound;
  PX_RETURN_IF_ERROR(binder.bind(inputs, bound));
  if (request.on != nullptr) PX_RETURN_IF_ERROR(request.on->reserve(bound.binding));
  // Not in the first run, whose outputs should not wait for this.
  if (has_run)
    impl_of(model).weights().packed.promote_pages(spare_time(request.deadline, kPromotion));
  Status status = run_bound(bound, request);
  has_run = true;
  return status;
}

Result<std::vector<Tensor>> Session::Impl::run(std::span<const NamedInput> inputs,
                                               const RunOptions& run_options,
                                               const Deadline& deadline) {
  PX_RETURN_IF_ERROR(check_tensors(graph()));
  std::vector<Tensor> outputs(graph().outputs.size());
  State::Impl* const state = state_of(run_options);
  const PlaceOutput place = [&](int output, DType dtype, const Dims& dims) -> Result<std::byte*> {
    const auto index = static_cast<std::size_t>(output);
    if (!run_options.tied_outputs && is_tied(state, index)) return nullptr;
    PX_RETURN_IF_ERROR(check_output(index, dtype, dims));
    Tensor& tensor = outputs[index];
    PX_ASSIGN(tensor, Tensor::allocate(dtype, dims));
    return tensor.mutable_view().bytes.data();
  };
  PX_RETURN_IF_ERROR(run(inputs, Request{place, run_options.trace, deadline, state}));
  return outputs;
}

Result<std::vector<Object>> Session::Impl::run_objects(std::span<const NamedInput> inputs,
                                                       const RunOptions& run_options,
                                                       const Deadline& deadline) {
  std::vector<Object> outputs(graph().outputs.size());
  std::vector<Tensor> tensors(outputs.size());
  State::Impl* const state = state_of(run_options);
  const PlaceOutput place = [&](int output, DType dtype, const Dims& dims) -> Result<std::byte*> {
    const auto index = static_cast<std::size_t>(output);
    if (dtype == DType::kString) return reinterpret_cast<std::byte*>(&outputs[index]);
    if (!run_options.tied_outputs && is_tied(state, index)) return nullptr;
    PX_RETURN_IF_ERROR(check_output(index, dtype, dims));
    PX_ASSIGN(tensors[index], Tensor::allocate(dtype, dims));
    return tensors[index].mutable_view().bytes.data();
  };
  PX_RETURN_IF_ERROR(run(inputs, Request{place, run_options.trace, deadline, state}));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!is_object(graph().values[graph().outputs[i]]) &&
        (run_options.tied_outputs || !is_tied(state, i)))
      outputs[i] = Object::tensor(std::move(tensors[i]));
  return outputs;
}

Status Session::Impl::run_bound(const BoundInputs& bound, const Request& request) {
  const RunsInProgress::Run in_progress(account->runs);
  std::shared_ptr<const Program> program;
  std::int64_t kept = 0;
  Status status;
  // If a delegate does not answer in time, the CPU gets all its regions and the run starts again;
  // the memory of the first try stays reserved for the delegate until it answers. There is at most
  // one retry per delegate.
  bool late = true, no_room = false;
  RunMemory::Spare spare;
  for (std::size_t tries = 0; late && tries <= delegates.size(); ++tries) {
    program = nullptr;  // its bindings count in the budget
    PX_ASSIGN(AdmittedRun run, admit(bound.binding, request.deadline, std::move(spare)));
    program = run.program;
    kept = run.kept_by_plans;
    spare = std::move(run.spare);
    if (run.delegates) {
      PX_RETURN_IF_ERROR(prepare_regions(*program, request.deadline));
    } else if (tries == 0) {
      no_room = true;
      runtime->log.info(
          "the budget has no room for the CPU as a fallback: the CPU runs everything");
    }
    late = false;
    // The last try uses only the CPU, even if other runs retry delegates meanwhile.
    std::string on_cpu;
    if (tries > 0 && tries == delegates.size()) on_cpu = status.error().to_string();
    TimedScope timed(run.delegates && tries == 0 ? split_times(*program) : nullptr);
    status = run_program(run, bound, request, std::move(on_cpu), &late);
    if (late)
      runtime->log.warn(fmt::format("the run starts again: {}", status.error().to_string()));
    if (status && run.delegates && tries == 0) {
      timed.succeeded();
      learn(bound.binding, *program);
    }
    if (options.require_full_delegation) break;
  }
  spare = {};  // further tries wait for memory of other runs, not for this
  leave_out_refused(bound.binding, *program, no_room);
  // Plans of later runs do not account for the memory of these bindings.
  const bool dropped = options.budget.kind != MemoryBudget::Kind::kNone &&
                       program->bound->device != nullptr && program->bound->device->drop_bindings();
  if (!is_full(status) || !program->compiled().has_run_time_nodes) return status;
  // Pieces of devices are idle now that the plan of this run did not account for.
  if (account->free_idle_pieces() || dropped) {
    auto again = admission.admit(bound.binding, request.deadline);
    if (again) {
      program = again->program;
      kept = again->kept_by_plans;
      status = run_program(*again, bound, request, kNoRoomBeside);
    } else {
      status = tl::unexpected(std::move(again).error());
    }
  }
  if (is_full(status)) status = run_smaller(bound, request, *program, kept, std::move(status));
  if (!is_full(status) || !has_delegate() || options.require_full_delegation) return status;
  program = nullptr;
  return run_without_delegates(bound, request);
}

/// Retries a run that failed with `status` because data-dependent tensors, whose sizes only the run
/// determines, found no room next to its plan and other plans: the smallest plan alone may leave
/// enough.
Status Session::Impl::run_smaller(const BoundInputs& bound, const Request& request,
                                  const Program& before, std::int64_t kept, Status status) {
  auto smaller = admission.admit_smaller(bound.binding, request.deadline, before, kept);
  // The CPU alone needs the least memory, and waits for no delegate.
  if (smaller) return run_program(*smaller, bound, request, kNoRoomBeside);
  Status none = tl::unexpected(std::move(smaller).error());
  return is_full(none) ? std::move(status) : std::move(none);
}

/// Runs on the CPU alone if a delegate, or its plan, leaves too little memory for data-dependent
/// tensors. The caller must hold no plan.
Status Session::Impl::run_without_delegates(const BoundInputs& bound, const Request& request) {
  runtime->log.info("the budget has no room for a delegate in this run: the CPU runs everything");
  const Refusals::CpuOnly cpu_only(refusals, bound.binding, all_refused());
  // If all other runs wait too, a last try finds what they have released before they did.
  for (bool others_wait = false;;) {
    const std::uint64_t ended = account->runs.ended();
    account->forget_regions();
    const bool all = others_wait || account->memory.fixed_bytes() == 0;
    Status status;
    {
      std::shared_ptr<const Program> program;
      std::int64_t kept = 0;
      {
        PX_ASSIGN(AdmittedRun run, admit_on_cpu(bound.binding, request.deadline));
        program = run.program;
        kept = run.kept_by_plans;
        status = run_program(run, bound, request);
      }
      if (is_full(status)) status = run_smaller(bound, request, *program, kept, std::move(status));
    }
    if (!is_full(status) || all) return status;
    // Other runs hold the rest until they end.
    others_wait = !account->runs.wait_for_end(ended, request.deadline);
    PX_RETURN_IF_ERROR(check_deadline(request.deadline));
  }
}

Status Session::Impl::run_program(AdmittedRun& run, const BoundInputs& bound,
                                  const Request& request, std::string on_cpu, bool* late) {
  // A plan for one branch after the other is followed exactly if data-dependent tensors may need
  // the bytes that another order would use.
  const bool in_order = run.program->compiled().has_run_time_nodes &&
                        run.budget.bytes.has_value() && run.program->plan.max_branches == 1;
  ExecuteOptions execute_options;
  execute_options.trace = request.trace;
  execute_options.scheduler = in_order ? Scheduler::kSequential : options.scheduler;
  execute_options.max_loop_trips = options.max_loop_trips;
  execute_options.deadline = request.deadline;
  execute_options.log = &runtime->log;
  if (const auto& device = run.program->bound->device; device != nullptr && run.delegates) {
    execute_options.device = device.get();
    execute_options.lease_owner =
        std::make_shared<std::pair<std::shared_ptr<MemoryAccount>, std::shared_ptr<const Program>>>(
            account, run.program);
    execute_options.late = late;
    execute_options.regions_on_cpu = std::move(on_cpu);
    execute_options.region_time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double, std::milli>(options.delegate_time_limit_ms));
  }
  std::optional<BudgetWatch> watch;
  if (options.budget.kind == MemoryBudget::Kind::kAuto) {
    watch.emplace(
        run.lease, [&] { return less(budget(), run.kept_by_plans); }, run.budget.parallel);
    execute_options.watch = &*watch;
  }
  return execute(*run.program, bound.bytes, request.place, runtime->workers.pool(), run.lease,
                 execute_options);
}

Result<std::vector<Tensor>> Session::run(std::span<const NamedInput> inputs,
                                         const RunOptions& options) {
  return without_exceptions([&] { return impl_->run(inputs, options, impl_->deadline(options)); });
}

Result<std::vector<Object>> Session::run_objects(std::span<const NamedInput> inputs,
                                                 const RunOptions& options) {
  return without_exceptions(
      [&] { return impl_->run_objects(inputs, options, impl_->deadline(options)); });
}

Status Session::run_into(std::span<const NamedInput> inputs,
                         std::span<const MutableTensorView> outputs, const RunOptions& options) {
  return without_exceptions([&]() -> Status {
    const Graph& graph = impl_->graph();
    PX_RETURN_IF_ERROR(check_tensors(graph));
    PX_RETURN_IF_ERROR(check_outputs(graph, inputs, outputs));
    State::Impl* const state = impl_->state_of(options);
    const auto put = [&](int output, DType dtype, const Dims& dims) -> Result<std::byte*> {
      const MutableTensorView& view = outputs[static_cast<std::size_t>(output)];
      if (view.bytes.empty() && is_tied(state, static_cast<std::size_t>(output))) return nullptr;
      return bytes_of_view(graph, output, view, dtype, dims);
    };
    const PlaceOutput place = std::ref(put);  // a copy would be allocated
    return impl_->run(inputs, {place, options.trace, impl_->deadline(options), state});
  });
}

Status Session::run_into(std::span<const NamedInput> inputs, const OutputAllocator& allocate,
                         const RunOptions& options) {
  return without_exceptions([&]() -> Status {
    if (allocate == nullptr) return refuse(ErrorCode::kInvalidInput, "an empty OutputAllocator");
    PX_RETURN_IF_ERROR(check_tensors(impl_->graph()));
    AllocatedOutputs outputs(impl_->graph(), inputs, allocate);
    State::Impl* const state = impl_->state_of(options);
    const auto put = [&](int output, DType dtype, const Dims& dims) -> Result<std::byte*> {
      if (!options.tied_outputs && is_tied(state, static_cast<std::size_t>(output))) return nullptr;
      return outputs.place(output, dtype, dims);
    };
    const PlaceOutput place = std::ref(put);
    return impl_->run(inputs, {place, options.trace, impl_->deadline(options), state});
  });
}

/// A run that its caller does not wait for. It counts as a call of Parallax until it has ended.
struct Session::AsyncRun {
  AsyncRun(Impl& impl_in, std::vector<NamedInput> inputs_in, Done done_in,
           const RunOptions& options_in)
      : pending(impl_in.async.begin()),
        impl(impl_in),
        inputs(std::move(inputs_in)),
        done(std::move(done_in)),
        options(options_in),
        deadline(impl.deadline(options_in)) {}

  void run() {
    done(without_exceptions([&] { return impl.run(inputs, options, deadline); }));
  }

  const Call call;
  const std::shared_ptr<void> pending;
  Impl& impl;
  const std::vector<NamedInput> inputs;
  const Done done;
  const RunOptions options;
  const Deadline deadline;
};

Status Session::run_async(std::vector<NamedInput> inputs, Done done, const RunOptions& options) {
  return without_exceptions([&]() -> Status {
    if (done == nullptr) return refuse(ErrorCode::kInvalidInput, "a run without a callback");
    const auto run =
        std::make_shared<AsyncRun>(*impl_, std::move(inputs), std::move(done), options);
    Runtime::Impl& runtime = *impl_->runtime;
    return runtime.async.add([run] { run->run(); }, runtime.async_threads());
  });
}

Result<std::future<Result<std::vector<Tensor>>>> Session::run_async(std::vector<NamedInput> inputs,
                                                                    const RunOptions& options) {
  return without_exceptions([&]() -> Result<std::future<Result<std::vector<Tensor>>>> {
    const auto promise = std::make_shared<std::promise<Result<std::vector<Tensor>>>>();
    auto future = promise->get_future();
    const Done done = [promise](auto outputs) { promise->set_value(std::move(outputs)); };
    PX_RETURN_IF_ERROR(run_async(std::move(inputs), done, options));
    return future;
  });
}

}  // namespace parallax
