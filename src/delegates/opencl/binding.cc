// Runs of a bound region. A run is enqueued slice by slice, so that the rest of a cancelled run is
// never started. All state that changes is guarded by the lock of Commands.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "delegates/opencl/region.h"

namespace parallax::opencl {
namespace {

/// The launches of a slice, and the number of slices that are enqueued ahead: the device must not
/// wait for the thread that enqueues more.
constexpr std::size_t kSliceLaunches = 32;
constexpr int kSlicesAhead = 3;

}  // namespace

struct Binding::Run {
  std::shared_ptr<Binding> self;
  std::vector<BufferPart> inputs, outputs;
  Completions::Call done;
  const void* name = nullptr;
  std::vector<DeviceMemory*> in_use;  ///< inputs and outputs that the host can otherwise access
  std::size_t next = 0;               ///< index of the next launch to enqueue
  int under_way = 0;                  ///< slices that have been given and not ended
  bool given = false;                 ///< all that will be
  Status status;                      ///< the first error; later launches are skipped
  cl_int fault = 0;
};

Status Binding::set_tensor(cl_kernel kernel, cl_uint& at, const TensorArgument& tensor,
                           const Run& run) {
  const ClLibrary& cl = region_->context_->cl();
  const Place place = tensor.place < 0 ? Place{} : places_[static_cast<std::size_t>(tensor.place)];
  BufferPart part{place.buffer, place.offset, nullptr};
  if (place.kind == PlaceKind::kInput) part = run.inputs[place.index];
  if (place.kind == PlaceKind::kOutput) part = run.outputs[place.index];
  if (part.buffer == nullptr) part = {region_->nothing_.get(), 0, nullptr};
  const cl_long first = part.offset / tensor.element_bytes + tensor.first;
  PX_RETURN_IF_ERROR(set_argument(cl, kernel, at, &part.buffer, sizeof(cl_mem)));
  return set_argument(cl, kernel, at, &first, sizeof(first));
}

Status Binding::enqueue_launch(const ClContext::Commands& commands, const ReadyLaunch& ready,
                               const Run& run) {
  const ClLibrary& cl = region_->context_->cl();
  cl_uint at = 0;
  for (const Argument& argument : ready.launch.arguments) {
    if (const auto* tensor = std::get_if<TensorArgument>(&argument)) {
      PX_RETURN_IF_ERROR(set_tensor(ready.kernel, at, *tensor, run));
      continue;
    }
    PX_RETURN_IF_ERROR(std::visit(
        [&](const auto& value) {
          return set_argument(cl, ready.kernel, at, &value, sizeof(value));
        },
        argument));
  }
  const auto& group = ready.launch.kernel->group;
  std::array<std::size_t, 3> global = ready.launch.groups, first = ready.first;
  for (std::size_t i = 0; i < global.size(); ++i) {
    global[i] *= group[i];
    first[i] *= group[i];
  }
  const bool whole = std::ranges::all_of(first, [](std::size_t at_index) { return at_index == 0; });
  return cl_check(
      "clEnqueueNDRangeKernel",
      cl.clEnqueueNDRangeKernel(commands.queue(), ready.kernel, 3, whole ? nullptr : first.data(),
                                global.data(), group.data(), 0, nullptr, nullptr));
}

/// Until enqueue_end, the memory of inputs and outputs belongs to the device.
Status Binding::enqueue_begin(const ClContext::Commands& commands, Run& run) {
  for (const auto& list : {run.inputs, run.outputs}) {
    for (const BufferPart& part : list) {
      if (part.memory == nullptr || std::ranges::count(run.in_use, part.memory) > 0) continue;
      PX_RETURN_IF_ERROR(part.memory->begin_use(commands));
      run.in_use.push_back(part.memory);
    }
  }
  if (!fault_) return {};
  const cl_int none = 0;
  return cl_check("clEnqueueFillBuffer", region_->context_->cl().clEnqueueFillBuffer(
                                             commands.queue(), fault_.get(), &none, sizeof(none), 0,
                                             sizeof(none), 0, nullptr, nullptr));
}

Status Binding::enqueue_end(const ClContext::Commands& commands, Run& run) {
  Status status;
  for (DeviceMemory* memory : std::exchange(run.in_use, {})) {
    Status ended = memory->end_use(commands);
    if (status) status = std::move(ended);
  }
  if (!fault_ || !status || !run.status) return status;
  return cl_check("clEnqueueReadBuffer", region_->context_->cl().clEnqueueReadBuffer(
                                             commands.queue(), fault_.get(), CL_FALSE, 0,
                                             sizeof(cl_int), &run.fault, 0, nullptr, nullptr));
}

Status Binding::enqueue_slice(const ClContext::Commands& commands, Run& run) {
  if (run.next == 0) PX_RETURN_IF_ERROR(enqueue_begin(commands, run));
  const std::size_t end = std::min(run.next + kSliceLaunches, launches_.size());
  for (; run.next < end; ++run.next)
    PX_RETURN_IF_ERROR(enqueue_launch(commands, launches_[run.next], run));
  return {};
}

void Binding::give_slice(const ClContext::Commands& commands, const std::shared_ptr<Run>& run) {
  ClContext& context = *region_->context_;
  if (run->status) run->status = enqueue_slice(commands, *run);
  if (!run->status || run->next == launches_.size()) {
    run->given = true;
    Status ended = enqueue_end(commands, *run);
    if (run->status) run->status = std::move(ended);
  }
  ++run->under_way;
  const auto ended = [held = run](Status status) mutable {
    slice_ended(std::move(held), std::move(status));
  };
  cl_event event = nullptr;
  Status waiting =
      cl_check("clEnqueueMarkerWithWaitList",
               context.cl().clEnqueueMarkerWithWaitList(commands.queue(), 0, nullptr, &event));
  const OwnedEvent marker(context.cl(), event);
  if (waiting) waiting = context.when_done(commands, commands.queue(), event, ended);
  if (waiting) return;
  // Commands in progress must not touch memory that the caller releases.
  context.cl().clFinish(commands.queue());
  context.later(ended, std::move(waiting));
}

/// Enqueues runs. They share memory: a run starts when the previous one has been enqueued
/// completely.
void Binding::give(const ClContext::Commands& commands) {
  while (!runs_.empty()) {
    const std::shared_ptr<Run> run = runs_.front();
    while (!run->given && (run->under_way < kSlicesAhead || !run->status))
      give_slice(commands, run);
    if (!run->given) return;
    runs_.pop_front();
  }
}

void Binding::slice_ended(std::shared_ptr<Run> run, Status status) {
  {
    Binding& self = *run->self;
    const ClContext::Commands commands(*self.region_->context_);
    --run->under_way;
    if (!status && run->status) run->status = std::move(status);
    if (!run->given || run->under_way > 0) return self.give(commands);
    if (run->status && run->fault != 0) {
      const auto node = static_cast<std::size_t>(run->fault - 1);
      run->status =
          tl::unexpected(Error{Stage::kRun, ErrorCode::kOutOfRange,
                               node < self.marks_.size() ? self.marks_[node] : std::string(),
                               "an index is out of range"});
    }
  }
  const Completions::Call done = std::move(run->done);
  Status ended = std::move(run->status);
  run.reset();  // whoever is told may destroy the region, and its device
  done(std::move(ended));
}

void Binding::run(std::span<const BufferPart> inputs, std::span<const BufferPart> outputs,
                  Completions::Call done, const void* name) {
  const auto self = shared_from_this();  // beyond the lock, whoever is told destroys what
  auto run = std::make_shared<Run>();
  run->self = self;
  run->inputs.assign(inputs.begin(), inputs.end());
  run->outputs.assign(outputs.begin(), outputs.end());
  run->done = std::move(done);
  run->name = name;
  const ClContext::Commands commands(*region_->context_);
  runs_.push_back(std::move(run));
  give(commands);
}

std::set<std::string_view> Binding::kernels() const {
  std::set<std::string_view> names;
  for (const ReadyLaunch& ready : launches_) names.insert(ready.launch.kernel->name);
  return names;
}

void Binding::cancel(const void* name) {
  const auto self = shared_from_this();
  const ClContext::Commands commands(*region_->context_);
  const auto named = [&](const auto& run) { return run->name == name && run->status; };
  for (const auto& run : runs_)
    if (named(run)) run->status = tl::unexpected(cancelled());
  // One that still waits for its turn need not wait for it to end.
  const auto waits = [](const auto& run) { return !run->status && run->under_way == 0; };
  for (const auto& run : runs_) {
    if (!waits(run)) continue;
    run->given = true;
    ++run->under_way;
    region_->context_->later(
        [held = run](const Status&) mutable { slice_ended(std::move(held), {}); }, {});
  }
  std::erase_if(runs_, [](const auto& run) { return run->given; });
  give(commands);
}

}  // namespace parallax::opencl
