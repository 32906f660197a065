// Regions whose sizes only a run determines: once their inputs exist, the sizes of all their values
// follow; a device is bound to these, and values that others read get memory from the arena of the
// region's branch. If any of this fails, the CPU runs the nodes.
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
  return {Stage::kRun, ErrorCode::kUnsupported, node.name, std::move(message)};
}

}  // namespace

/// Infers the dims of all values that the region makes from those of its inputs.
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

/// Returns the dims of the values that the plan does not know, in ascending order of values.
/// Errors: kUnsupported if a value has no elements.
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

/// Allocates the values that other steps read.
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

/// Frees the values that the device will not write: the CPU allocates them when it runs the nodes.
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

/// Prepares a region for the device. The error says why the CPU runs the region.
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
    return tl::unexpected(caught(Stage::kRun));
  }
}

/// Leaves the region, which no device has begun, to the CPU.
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
