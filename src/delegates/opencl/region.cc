#include "delegates/opencl/region.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/status.h"
#include "delegates/opencl/operators.h"
#include "delegates/opencl/wide_extremes.h"
#include "ops/op.h"

namespace parallax::opencl {
namespace {

/// PoCL compiles a kernel once more for a grid that is wider than this.
constexpr std::size_t kNarrowGrid = 65536;

/// Maximum work-groups along the second and third axis of a grid, the limit of NVIDIA. CPUs have no
/// such limit, and PoCL compiles a kernel again for a grid that does not begin with work-group 0.
constexpr std::size_t kMaxGroups = 65535, kAnyGroups = std::size_t{1} << 40;

}  // namespace

Result<std::shared_ptr<const Region>> Region::compile(std::shared_ptr<ClContext> context,
                                                      Graph graph, const RegionOptions& options) {
  std::shared_ptr<Region> region(new Region);
  region->context_ = std::move(context);
  NarrowGraph narrow = with_few_operands(std::move(graph));
  region->graph_ = std::move(narrow.graph);
  region->like_ = std::move(narrow.like);
  region->local_memory_ = options.through_local_memory.value_or(!region->context_->device().is_cpu);
  region->specs_ = KernelSpecs(options.tuning);
  region->separate_buffers_ = options.separate_buffers;
  region->half_ = options.half;
  region->most_groups_ =
      options.most_groups.value_or(region->context_->device().is_cpu ? kAnyGroups : kMaxGroups);
  PX_ASSIGN(region->steps_, find_steps(region->graph_));
  PX_ASSIGN(region->nothing_, region->context_->buffer(64));
  PX_RETURN_IF_ERROR(region->make_kernels());
  PX_RETURN_IF_ERROR(region->place_constants());
  return region;
}

/// Returns whether this region may launch a kernel that emitters name.
bool Region::needs(KernelId id) const {
  const std::string& name = spec_of(id).name;
  if (name.ends_with("_tiles")) return local_memory_;
  if (name.ends_with("_rows")) return !local_memory_;
  const auto has_size = [&](std::int64_t bytes) {
    return std::ranges::any_of(graph_.values,
                               [&](const Value& value) { return size_of(value.dtype) == bytes; });
  };
  if (name.find("_16") != std::string::npos) return half_;
  if (name.find("_8") != std::string::npos) return has_size(1);
  if (name.starts_with("move_64")) return half_ || has_size(8);
  if (name.starts_with("pick_64") || name.starts_with("gather_64")) return has_size(8);
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
  // Outputs with bytes elsewhere are copied.
  for (const KernelId id : {KernelId::move_8, KernelId::move_16, KernelId::move_32,
                            KernelId::move_64, KernelId::move_128})
    if (needs(id)) needed.insert(id);
  if (half_) needed.insert({KernelId::narrow, KernelId::widen});
  std::string generated(elementwise_prelude());
  for (const std::string& text : texts) generated += text;
  for (KernelSpec& chain : chains_) {
    if (chain.name.empty()) continue;
    chain.source = generated;
    PX_RETURN_IF_ERROR(make_ready(chain));
  }
  for (const KernelId id : needed) PX_RETURN_IF_ERROR(make_ready(specs_[id]));
  return {};
}

Status Region::make_ready(const KernelSpec& spec) {
  if (kernels_.contains(spec.name)) return {};
  const ClLibrary& cl = context_->cl();
  ReadyKernel ready;
  PX_ASSIGN(ready.program,
            context_->program(half_ ? std::string(kHalfPrefix) + spec.source : spec.source));
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
      if (wide && !context_->device().is_pocl) continue;
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

Status Region::place_constants() {
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
  const ConstantOptions options{half_, context_->device().shares_memory && !separate_buffers_};
  PX_ASSIGN(constants_, RegionConstants::place(*context_, graph_, read, options));
  return {};
}

}  // namespace parallax::opencl
