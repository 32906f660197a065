// Lets reductions keep their axes if whatever reads the results puts the axes back, as TensorFlow
// writes a normalization:
//
//     pattern  Reshape(f(ReduceMean(x), number, ReduceMean(y), ...)), f elementwise
//     guard    the reductions drop axes and without that have the shape of every Reshape; nothing
//              else reads results of reductions or of f
//     rewrite  reductions with keepdims; each Reshape is a copy, which remove_no_ops removes
#include <algorithm>
#include <optional>
#include <vector>

#include "ops/op.h"
#include "ops/params/reduce.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"
#include "simplify/value_groups.h"

namespace parallax {
namespace {

bool reduces(OpKind op) {
  return op == OpKind::kReduceMean || op == OpKind::kReduceSum || op == OpKind::kReduceMax ||
         op == OpKind::kReduceMin || op == OpKind::kReduceSumSquare || op == OpKind::kReduceL2;
}

/// Returns the shape that a reduction which drops its axes would have if it kept them; nullopt if
/// it keeps them, or if they are not known.
std::optional<Shape> kept_shape(const Graph& graph, const Node& node) {
  if (!reduces(node.op) || params_of<ReduceParams>(node).keepdims) return std::nullopt;
  if (node.inputs.size() < 2 || !node.inputs[1].valid()) return std::nullopt;
  const auto& constant = graph.values[node.inputs[1]].constant;
  const auto axes = constant ? integers(*constant, Dims::kMaxRank) : std::nullopt;
  if (!axes || axes->empty()) return std::nullopt;
  Shape shape = graph.values[node.inputs[0]].shape;
  for (const std::int64_t axis : *axes) {
    const auto normal = normalize_axis(axis, static_cast<int>(shape.size()));
    if (!normal) return std::nullopt;
    shape[static_cast<std::size_t>(*normal)] = Expr(1);
  }
  return shape;
}

/// Values of one shape that are made of each other, up to reductions and down to Reshapes.
class ReducedGroup {
 public:
  ReducedGroup(const Graph& graph, ValueGroups& groups) : graph_(graph), groups_(groups) {}

  /// Collects the group of a reduction's result. Returns whether it can be rewritten.
  bool collect(const Node& reduction, const Shape& kept) {
    kept_ = kept;
    shape_ = graph_.values[reduction.outputs[0]].shape;
    reshapes_ = 0;
    return groups_.collect(reduction.outputs[0], [&](ValueId id) {
      return made_inside(id) && read_inside(id);
    }) && reshapes_ > 0;
  }
  const Shape& kept() const { return kept_; }

 private:
  bool is_elementwise(const Node& node) const {
    return op_def(node.op).elementwise && node.outputs.size() == 1 && node.epilogue.empty() &&
           graph_.values[node.outputs[0]].shape == shape_;
  }

  bool is_number(const Value& value) const {
    return value.constant && value.constant->dims.elements() == 1 &&
           value.shape.size() <= shape_.size();
  }

  bool made_inside(ValueId id) {
    const Node* const maker = groups_.maker(id);
    if (maker == nullptr) return false;
    const Node& node = *maker;
    if (const auto kept = kept_shape(graph_, node)) return *kept == kept_;
    if (!is_elementwise(node)) return false;
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      if (!input.valid()) return true;
      const Value& operand = graph_.values[input];
      return is_number(operand) || (operand.shape == shape_ && groups_.add(input));
    });
  }

  bool read_inside(ValueId id) {
    return std::ranges::all_of(groups_.readers(id), [&](NodeId reader) {
      const Node& node = graph_.nodes[reader];
      if (node.op == OpKind::kReshape && graph_.values[node.outputs[0]].shape == kept_) {
        ++reshapes_;
        return true;
      }
      return is_elementwise(node) && groups_.add(node.outputs[0]);
    });
  }

  const Graph& graph_;
  ValueGroups& groups_;
  Shape shape_, kept_;
  int reshapes_ = 0;
};

}  // namespace

Result<int> keep_reduced_axes(Graph& graph, const PassContext& /*context*/) {
  std::vector<NodeId> reductions;
  for (const NodeId id : graph.nodes.ids())
    if (kept_shape(graph, graph.nodes[id])) reductions.push_back(id);
  if (reductions.empty()) return 0;
  ValueGroups groups(graph);
  ReducedGroup group(graph, groups);
  int changes = 0;
  for (const NodeId id : reductions) {
    const Node& node = graph.nodes[id];
    if (groups.has(node.outputs[0]) || !group.collect(node, *kept_shape(graph, node))) continue;
    for (const ValueId value : groups.values()) {
      graph.values[value].shape = group.kept();
      graph.values[value].content = std::nullopt;
      Node& producer = graph.nodes[graph.values[value].producer];
      if (reduces(producer.op)) set_param(producer, &ReduceParams::keepdims, true);
      ++changes;
    }
  }
  return changes;
}

}  // namespace parallax
