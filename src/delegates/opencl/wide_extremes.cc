#include "delegates/opencl/wide_extremes.h"

#include <fmt/core.h>

#include <utility>

#include "delegates/opencl/elementwise.h"

namespace parallax::opencl {

NarrowGraph with_few_operands(Graph graph) {
  std::vector<ValueId> like;
  const auto old_nodes = std::exchange(graph.nodes, {});
  const auto add = [&](Node node) {
    const NodeId id = graph.nodes.push_back(std::move(node));
    for (const ValueId output : graph.nodes[id].outputs)
      if (output.valid()) graph.values[output].producer = id;
  };
  for (Node node : old_nodes) {
    const bool extreme = node.op == OpKind::kMax || node.op == OpKind::kMin;
    while (extreme && node.inputs.size() > kMaxOperands) {
      const auto few = node.inputs.begin() + static_cast<std::ptrdiff_t>(kMaxOperands);
      // Sizes of the result: smaller ones would do, but they have not been inferred.
      Value value = graph.values[node.outputs[0]];
      value.name = fmt::format("{} of {} inputs, {}", value.name, node.inputs.size(), like.size());
      like.push_back(node.outputs[0]);
      Node part = node;
      part.inputs.assign(node.inputs.begin(), few);
      part.outputs = {graph.values.push_back(std::move(value))};
      node.inputs.erase(node.inputs.begin(), few);
      node.inputs.insert(node.inputs.begin(), part.outputs[0]);
      add(std::move(part));
    }
    add(std::move(node));
  }
  return {std::move(graph), std::move(like)};
}

}  // namespace parallax::opencl
