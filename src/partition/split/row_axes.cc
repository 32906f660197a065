// Determines the axis along which each value of a graph is cut.
#include <algorithm>

#include "partition/split/co_segments.h"

namespace parallax {
namespace {

/// Returns the axes to try for a value without a constraint: lines of images, or else the first
/// axis that has several rows and others after it, which gives the fewest and longest pieces of
/// memory.
std::vector<int> axes_to_begin_with(const Node& node, const Dims& out) {
  const bool image = node.op == OpKind::kConv || node.op == OpKind::kMaxPool ||
                     node.op == OpKind::kAveragePool || node.op == OpKind::kResize;
  std::vector<int> axes;
  if (image && out.rank() > 2) axes.push_back(2);
  for (int axis = 0; !image && axis + 1 < out.rank(); ++axis)
    if (out[axis] > 1) axes.push_back(axis);
  return axes;
}

bool is_data(const Graph& graph, const ConcreteShapes& shapes, ValueId id) {
  return id.valid() && shapes[id] && graph.values[id].kind == ValueKind::kResult;
}

/// Returns the number of elements of inputs that are already cut as this rule requires.
double agreement(const Graph& graph, const ConcreteShapes& shapes, const Node& node,
                 const SplitRule& rule, const IdVector<ValueId, int>& axis) {
  double sum = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!is_data(graph, shapes, id) || axis[id] < 0 || axis[id] != rule.inputs[i].axis) continue;
    sum += static_cast<double>(shapes[id]->elements());
  }
  return sum;
}

bool has_weights(const Graph& graph, const Node& node) {
  return (node.op == OpKind::kMatMul || node.op == OpKind::kGemm) && node.inputs.size() > 1 &&
         graph.values[node.inputs[1]].constant.has_value();
}

std::optional<SplitRule> best_rule(const Graph& graph, const ConcreteShapes& shapes,
                                   const Node& node, const IdVector<ValueId, int>& axis,
                                   RowChoice choice) {
  if (node.outputs.empty() || !node.outputs[0].valid() || !shapes[node.outputs[0]])
    return std::nullopt;
  const Dims& out = *shapes[node.outputs[0]];
  if (choice == RowChoice::kFilters && has_weights(graph, node))
    if (auto rule = split_rule(graph, shapes, node, out.rank() - 1)) return rule;
  std::optional<SplitRule> best;
  double most = 0;
  for (int at = 0; at < out.rank(); ++at) {
    auto rule = split_rule(graph, shapes, node, at);
    if (!rule || out[at] < 2 * rule->granule) continue;
    const double agrees = agreement(graph, shapes, node, *rule, axis);
    if (agrees <= most) continue;
    most = agrees;
    best = std::move(rule);
  }
  if (best) return best;
  for (const int at : axes_to_begin_with(node, out)) {
    auto rule = split_rule(graph, shapes, node, at);
    if (rule && out[at] >= 2 * rule->granule) return rule;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t rows_of(const ConcreteShapes& shapes, const Node& node, const SplitRule& rule) {
  return (*shapes[node.outputs[0]])[rule.axis];
}

RowAxes row_axes(const Graph& graph, const ConcreteShapes& shapes, RowChoice choice) {
  RowAxes result{IdVector<ValueId, int>(graph.values.size(), -1), {}};
  for (const Node& node : graph.nodes) {
    auto rule = best_rule(graph, shapes, node, result.axis, choice);
    if (rule)
      for (const ValueId output : node.outputs)
        if (output.valid()) result.axis[output] = rule->axis;
    result.rule.push_back(std::move(rule));
  }
  return result;
}

}  // namespace parallax
