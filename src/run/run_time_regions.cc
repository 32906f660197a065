// Regions whose sizes only running tells: when their inputs are there, the sizes of all that they
// make follow; a device is bound to them, and what others read gets memory from the arena of the
// region's branch. Where anything lacks, the CPU runs the nodes.
#include <algorithm>
#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "ops/op.h"
#include "run/run.h"

namespace parallax {
namespace {

Error not_for_device(const Node& node, std::string_view value, std::string_view why) {
  std::string message = "'";
  message += value;
  message += "' ";
  message += why;
  return {Stage::kExecute, ErrorCode::kUnsupported, node.name, std::move(message)};
}

}  // namespace

/// The dims of all that the region makes, by those of its inputs.
Status Run::size_region(BranchId branch) {
  for (const NodeId id : compiled_.context->branches.branches[branch]) {
    const Node& node = graph().nodes[id];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid() || !op_def(node.op).decides_shape(i)) continue;
      if (program_.storage[compiled_.root[input]].kind != StorageKind::kFixed)
        return tl::unexpected(
            not_for_device(node, graph().values[input].name, "decides a size while running"));
    }
    PX_ASSIGN(const std::vector<std::optional<Dims>> dims, infer_outputs(node));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!output.valid()) continue;
      if (!dims[i])
        return tl::unexpected(
            not_for_device(node, graph().values[output].name, "is sized by its kernel"));
      PX_RETURN_IF_ERROR(bind_symbols(output, *dims[i]));
      if (!compiled_.dims[output]) run_time_dims_[output] = *dims[i];
    }
  }
  return {};
}

/// Of what no plan knows, ascending. Errors: kUnsupported where something has no elements.
Result<std::vector<ValueDims>> Run::region_sizes(BranchId branch) const {
  std::vector<ValueDims> sizes;
  for (const NodeId id : compiled_.context->branches.branches[branch]) {
    const Node& node = graph().nodes[id];
    for (const auto* const ids : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *ids) {
        if (!value.valid() || program_.storage[compiled_.root[value]].kind == StorageKind::kFixed)
          continue;
        if (dims_of(value).elements() == 0)
          return tl::unexpected(
              not_for_device(node, graph().values[value].name, "has no elements"));
        if (!compiled_.dims[value]) sizes.push_back({value, dims_of(value)});
      }
    }
  }
  std::ranges::sort(sizes, {}, &ValueDims::value);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

/// Memory for what other steps read.
Status Run::place_results(BranchId branch) {
  for (const NodeId id : compiled_.context->branches.branches[branch]) {
    for (const ValueId output : graph().nodes[id].outputs) {
      if (!output.valid() || program_.storage[output].kind != StorageKind::kRunTime ||
          program_.storage[output].space != MemorySpace::kShared)
        continue;
      PX_RETURN_IF_ERROR(make_output(id, output, dims_of(output)));
    }
  }
  return {};
}

/// The device does not write them: the CPU asks for memory as it goes.
void Run::release_results(BranchId branch) noexcept {
  for (const NodeId id : compiled_.context->branches.branches[branch]) {
    for (const ValueId output : graph().nodes[id].outputs) {
      if (!output.valid() || program_.storage[output].kind != StorageKind::kRunTime ||
          bytes_[output] == nullptr)
        continue;
      arena_of(id).free(std::exchange(bytes_[output], nullptr));
    }
  }
}

/// What the device needs to begin. Errors: why the CPU runs the region.
Result<std::shared_ptr<void>> Run::ready_region(BranchId branch) noexcept {
  try {
    PX_RETURN_IF_ERROR(size_region(branch));
    PX_ASSIGN(const std::vector<ValueDims> sizes, region_sizes(branch));
    const RegionId region = compiled_.context->branches.region[branch];
    PX_ASSIGN(auto bound, device_->bind(region, sizes, options_.log));
    Status placed = place_results(branch);
    if (placed) return bound;
    log_failure(branch, placed.error());
    return tl::unexpected(std::move(placed).error());
  } catch (...) {
    return tl::unexpected(caught(Stage::kExecute));
  }
}

/// The CPU runs the region, with which no device has begun.
void Run::decline(BranchId branch, Error error) noexcept {
  const Status why = tl::unexpected(std::move(error));
  if (!compiled_.context->delegation.substitute || failed()) {
    (void)end_region(branch, why);
    return;
  }
  release_results(branch);
  if (options_.trace != nullptr) trace_end(branch, why);
  substitute_[branch] = Substitute::kWanted;
}

}  // namespace parallax
