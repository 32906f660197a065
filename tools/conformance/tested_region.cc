#include "tested_region.h"

#include <utility>

#include "base/status.h"
#include "bind/bind.h"
#include "run/execute.h"
#include "values.h"

namespace parallax::conformance {
namespace {

/// All nodes in one region, which only the delegate runs.
Delegation one_region(const Graph& graph) {
  Delegation delegation;
  delegation.region_of = IdVector<NodeId, RegionId>(graph.nodes.size(), RegionId{0});
  delegation.seconds.push_back(1e-3);
  return delegation;
}

Result<std::shared_ptr<const Program>> program_for(const std::shared_ptr<GraphContext>& context,
                                                   const Binding& binding) {
  PX_ASSIGN(auto compiled, compile(context, binding, {.reference_only = true}));
  PX_ASSIGN(auto bound, make_bound(std::move(compiled)));
  PX_RETURN_IF_ERROR(parallax::bind(*bound));
  return lay_out(std::move(bound), {.parallel = false, .threads = 1, .budget = {}});
}

Result<std::vector<Tensor>> execute_on(const Program& program, const TensorBytes& inputs,
                                       const ExecuteOptions& options) {
  std::vector<const std::byte*> pointers;
  for (const auto& input : inputs) pointers.push_back(input.data());
  std::vector<Tensor> outputs(program.compiled().graph().outputs.size());
  const PlaceOutput place = [&](int i, DType dtype, const Dims& dims) -> Result<std::byte*> {
    Tensor& tensor = outputs[static_cast<std::size_t>(i)];
    PX_ASSIGN(tensor, Tensor::allocate(dtype, dims));
    return tensor.mutable_view().bytes.data();
  };
  // Memory that a silent device may still write to must stay allocated.
  const auto memory = std::make_shared<RunMemory>();
  PX_ASSIGN(RunMemory::Lease lease, memory->acquire({program.bytes, {}, false}));
  WorkerPool pool(1);
  ExecuteOptions with_owner = options;
  with_owner.lease_owner = memory;
  PX_RETURN_IF_ERROR(execute(program, pointers, place, pool, lease, with_owner));
  return outputs;
}

}  // namespace

TestedRegion::TestedRegion(std::shared_ptr<const OpenDelegate> delegate, const Graph& graph)
    : delegate_(std::move(delegate)),
      plain_(std::make_shared<GraphContext>(graph)),
      whole_(std::make_shared<GraphContext>(graph, one_region(graph))) {}

Result<TestedBinding> TestedRegion::bind(const Binding& binding) {
  PX_ASSIGN(TestedBinding bound, bind_only(binding));
  PX_ASSIGN(bound.reference, program_for(plain_, binding));
  return bound;
}

Result<TestedBinding> TestedRegion::bind_only(const Binding& binding) {
  TestedBinding bound;
  PX_ASSIGN(bound.program, program_for(whole_, binding));
  bound.device = std::make_shared<DelegateDevice>(
      std::vector<DelegateUse>{{.opened = delegate_, .store = store_}},
      bound.program->bound->compiled);
  PX_RETURN_IF_ERROR(bound.device->prepare(Logger()));
  if (const auto problem = bound.device->problem(RegionId{0})) return tl::unexpected(*problem);
  return bound;
}

TensorBytes TestedBinding::inputs(std::uint64_t seed) const {
  const Compiled& compiled = program->compiled();
  TensorBytes inputs;
  for (const ValueId id : compiled.graph().inputs) {
    const Value& value = compiled.graph().values[id];
    inputs.push_back(random_elements(value.dtype, *compiled.dims[id], value.name.front(), ++seed));
  }
  return inputs;
}

Result<std::vector<Tensor>> TestedBinding::run(const TensorBytes& inputs,
                                               std::chrono::milliseconds time,
                                               std::stop_token stop) const {
  bool late = false;
  ExecuteOptions options;
  options.device = device.get();
  options.region_time = time;
  options.late = &late;
  options.deadline.stop = std::move(stop);
  return execute_on(*program, inputs, options);
}

Result<std::vector<Tensor>> TestedBinding::expected(const TensorBytes& inputs) const {
  return execute_on(*reference, inputs, {});
}

}  // namespace parallax::conformance
