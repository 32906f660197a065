#include "delegates/opencl/region.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/status.h"
#include "delegates/opencl/operators.h"
#include "ops/op.h"

namespace parallax::opencl {
namespace {

/// PoCL compiles a kernel once more for a grid that is wider than this.
constexpr std::size_t kNarrowGrid = 65536;

Status set_argument(const ClLibrary& cl, cl_kernel kernel, cl_uint& at, const void* value,
                    std::size_t bytes) {
  return cl_check("clSetKernelArg", cl.clSetKernelArg(kernel, at++, bytes, value));
}

}  // namespace

Result<std::shared_ptr<const Region>> Region::compile(std::shared_ptr<ClContext> context,
                                                      Graph graph, const RegionOptions& options) {
  std::shared_ptr<Region> region(new Region);
  region->context_ = std::move(context);
  region->graph_ = std::move(graph);
  region->local_memory_ = options.through_local_memory.value_or(!region->context_->device().is_cpu);
  region->separate_buffers_ = options.separate_buffers;
  PX_ASSIGN(region->steps_, find_steps(region->graph_));
  PX_ASSIGN(region->nothing_, region->context_->buffer(64));
  PX_RETURN_IF_ERROR(region->make_kernels());
  PX_RETURN_IF_ERROR(region->upload_constants());
  return region;
}

/// Of the kernels that emitters may launch, those that this region can come to.
bool Region::needs(KernelId id) const {
  const std::string& name = spec_of(id).name;
  if (name.ends_with("_tiles")) return local_memory_;
  if (name == "matmul_rows" || name == "conv_rows") return !local_memory_;
  const auto has_size = [&](std::int64_t bytes) {
    return std::ranges::any_of(graph_.values,
                               [&](const Value& value) { return size_of(value.dtype) == bytes; });
  };
  if (name.find("_8") != std::string::npos) return has_size(1);
  if (name.starts_with("move_64") || name.starts_with("pick_64") || name.starts_with("gather_64"))
    return has_size(8);
  return true;
}

Status Region::make_kernels() {
  std::set<KernelId> needed;
  std::set<std::string> texts;
  for (const Step& step : steps_) {
    KernelSpec chain;
    if (step.kind == StepKind::kChain) {
      PX_ASSIGN(chain, chain_kernel(graph_, step.chain));
      texts.insert(chain.source);
    } else if (const OperatorRow* row = operator_row(graph_.nodes[step.node].op)) {
      std::ranges::copy_if(row->kernels, std::inserter(needed, needed.end()),
                           [&](KernelId id) { return needs(id); });
    }
    chains_.push_back(std::move(chain));
  }
  // Outputs that lie elsewhere are copied.
  for (const KernelId id :
       {KernelId::move_8, KernelId::move_32, KernelId::move_64, KernelId::move_128})
    if (needs(id)) needed.insert(id);
  std::string generated(elementwise_prelude());
  for (const std::string& text : texts) generated += text;
  for (KernelSpec& chain : chains_) {
    if (chain.name.empty()) continue;
    chain.source = generated;
    PX_RETURN_IF_ERROR(make_ready(chain));
  }
  for (const KernelId id : needed) PX_RETURN_IF_ERROR(make_ready(spec_of(id)));
  return {};
}

Status Region::make_ready(const KernelSpec& spec) {
  if (kernels_.contains(spec.name)) return {};
  const ClLibrary& cl = context_->cl();
  ReadyKernel ready;
  PX_ASSIGN(ready.program, context_->program(spec.source));
  cl_int code = CL_SUCCESS;
  ready.kernel =
      OwnedKernel(cl, cl.clCreateKernel(ready.program->program.get(), spec.name.c_str(), &code));
  PX_RETURN_IF_ERROR(cl_check("clCreateKernel", code));
  PX_RETURN_IF_ERROR(warm_up(spec, ready));
  kernels_.emplace(spec.name, std::move(ready));
  return {};
}

/// Launches the kernel with arguments of zero: some drivers compile it then.
Status Region::warm_up(const KernelSpec& spec, const ReadyKernel& ready) {
  if (!ready.program->to_warm(spec.name)) return {};
  const ClLibrary& cl = context_->cl();
  OwnedEvent end;
  {
    const ClContext::Commands commands(*context_);
    cl_uint at = 0;
    for (const Argument& argument : idle_launch(spec).arguments) {
      if (argument.index() == 0) {
        const cl_mem buffer = nothing_.get();
        const cl_long first = 0;
        PX_RETURN_IF_ERROR(set_argument(cl, ready.kernel.get(), at, &buffer, sizeof(cl_mem)));
        PX_RETURN_IF_ERROR(set_argument(cl, ready.kernel.get(), at, &first, sizeof(first)));
        continue;
      }
      PX_RETURN_IF_ERROR(std::visit(
          [&](const auto& value) {
            return set_argument(cl, ready.kernel.get(), at, &value, sizeof(value));
          },
          argument));
    }
    for (const bool wide : {false, true}) {
      if (wide && !context_->device().is_cpu) continue;
      const std::size_t groups = wide ? kNarrowGrid / spec.group[0] + 1 : 1;
      const std::size_t global[] = {groups * spec.group[0], spec.group[1], 1};
      cl_event event = nullptr;
      PX_RETURN_IF_ERROR(
          cl_check("clEnqueueNDRangeKernel",
                   cl.clEnqueueNDRangeKernel(commands.queue(), ready.kernel.get(), 3, nullptr,
                                             global, spec.group.data(), 0, nullptr, &event)));
      end = OwnedEvent(cl, event);
    }
    cl.clFlush(commands.queue());
  }
  const cl_event event = end.get();
  return cl_check("a first launch", cl.clWaitForEvents(1, &event));
}

Status Region::upload_constants() {
  constants_.resize(graph_.values.size());
  IdVector<ValueId, bool> read(graph_.values.size(), false);
  for (const Step& step : steps_) {
    for (const ValueId value : step.reads) read[value] = true;
    if (step.kind == StepKind::kChain) continue;
    // Parameters that only say a shape stay here, unless something else reads them.
    const Node& node = graph_.nodes[step.node];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid() && op_def(node.op).decides_shape(i)) read[node.inputs[i]] = false;
    }
  }
  for (const Step& step : steps_) {
    if (step.kind != StepKind::kChain) continue;
    for (const ValueId value : step.reads) read[value] = true;
  }
  for (const ValueId output : graph_.outputs) read[output] = true;
  for (const ValueId id : graph_.values.ids()) {
    const auto& constant = graph_.values[id].constant;
    if (!constant || !read[id]) continue;
    const auto bytes = static_cast<std::int64_t>(constant->bytes.size());
    PX_ASSIGN(constants_[id], context_->buffer(bytes, constant->bytes.data()));
    memory_bytes_ += bytes;
  }
  return {};
}

struct Binding::Run {
  std::span<const BufferPart> inputs, outputs;
  std::vector<DeviceMemory*> in_use = {};  ///< those of them that the host sees
  std::shared_ptr<cl_int> fault = std::make_shared<cl_int>(0);
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
  std::array<std::size_t, 3> global = ready.launch.groups;
  for (std::size_t i = 0; i < global.size(); ++i) global[i] *= group[i];
  return cl_check("clEnqueueNDRangeKernel",
                  cl.clEnqueueNDRangeKernel(commands.queue(), ready.kernel, 3, nullptr,
                                            global.data(), group.data(), 0, nullptr, nullptr));
}

/// From here on to end_use, what inputs and outputs lie in is the device's.
Status Binding::begin_use(const ClContext::Commands& commands, Run& run) {
  for (const auto& list : {run.inputs, run.outputs}) {
    for (const BufferPart& part : list) {
      if (part.memory == nullptr || std::ranges::count(run.in_use, part.memory) > 0) continue;
      PX_RETURN_IF_ERROR(part.memory->begin_use(commands));
      run.in_use.push_back(part.memory);
    }
  }
  return {};
}
Status Binding::end_use(const ClContext::Commands& commands, Run& run) {
  Status status;
  for (DeviceMemory* memory : std::exchange(run.in_use, {})) {
    Status ended = memory->end_use(commands);
    if (status) status = std::move(ended);
  }
  return status;
}

Status Binding::enqueue(const ClContext::Commands& commands, Run& run, cl_event& end) {
  const ClLibrary& cl = region_->context_->cl();
  const cl_int none = 0;
  PX_RETURN_IF_ERROR(begin_use(commands, run));
  if (fault_) {
    PX_RETURN_IF_ERROR(
        cl_check("clEnqueueFillBuffer",
                 cl.clEnqueueFillBuffer(commands.queue(), fault_.get(), &none, sizeof(none), 0,
                                        sizeof(none), 0, nullptr, nullptr)));
  }
  for (const ReadyLaunch& ready : launches_)
    PX_RETURN_IF_ERROR(enqueue_launch(commands, ready, run));
  if (fault_) {
    PX_RETURN_IF_ERROR(
        cl_check("clEnqueueReadBuffer",
                 cl.clEnqueueReadBuffer(commands.queue(), fault_.get(), CL_FALSE, 0, sizeof(cl_int),
                                        run.fault.get(), 0, nullptr, nullptr)));
  }
  PX_RETURN_IF_ERROR(end_use(commands, run));
  return cl_check("clEnqueueMarkerWithWaitList",
                  cl.clEnqueueMarkerWithWaitList(commands.queue(), 0, nullptr, &end));
}

Status Binding::run(std::span<const BufferPart> inputs, std::span<const BufferPart> outputs,
                    Completions::Call done) {
  ClContext& context = *region_->context_;
  Run run{inputs, outputs};
  const ClContext::Commands commands(context);
  cl_event event = nullptr;
  Status begun = enqueue(commands, run, event);
  const OwnedEvent end(context.cl(), event);
  if (!begun) {
    // What was begun must not touch memory that the caller takes back.
    (void)end_use(commands, run);
    context.cl().clFinish(commands.queue());
    return begun;
  }
  auto ended = [self = shared_from_this(), fault = run.fault,
                done = std::move(done)](Status status) mutable {
    if (status && *fault != 0) {
      const auto node = static_cast<std::size_t>(*fault - 1);
      status = tl::unexpected(Error{Stage::kExecute, ErrorCode::kOutOfRange,
                                    node < self->marks_.size() ? self->marks_[node] : std::string(),
                                    "an index is out of range"});
    }
    self.reset();  // whoever is told may destroy the region, and its device
    done(std::move(status));
  };
  return context.when_done(commands, commands.queue(), event, std::move(ended));
}

}  // namespace parallax::opencl
