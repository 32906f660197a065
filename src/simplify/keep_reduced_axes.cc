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
  ReducedGroup(const Graph& graph, const IdVector<ValueId, std::vector<NodeId>>& readers,
               const IdVector<ValueId, bool>& is_output, IdVector<ValueId, int>& group_of,
               int number)
      : graph_(graph),
        readers_(readers),
        is_output_(is_output),
        group_of_(group_of),
        number_(number) {}

  /// Collects the group of a reduction's result. Returns whether it can be rewritten.
  bool collect(const Node& reduction, const Shape& kept) {
    kept_ = kept;
    shape_ = graph_.values[reduction.outputs[0]].shape;
    bool good = add(reduction.outputs[0]);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool fits = made_inside(values_[i]) && read_inside(values_[i]);
      good = good && fits;  // the rest is visited all the same: no other reduction asks again
    }
    return good && reshapes_ > 0;
  }
  const std::vector<ValueId>& values() const { return values_; }
  const Shape& kept() const { return kept_; }

 private:
  bool add(ValueId value) {
    if (group_of_[value] != 0) return group_of_[value] == number_;
    group_of_[value] = number_;
    values_.push_back(value);
    return true;
  }

  bool is_elementwise(const Node& node) const {
    return op_def(node.op).elementwise && node.outputs.size() == 1 && node.epilogue.empty() &&
           graph_.values[node.outputs[0]].shape == shape_;
  }

  bool is_number(const Value& value) const {
    return value.constant && value.constant->dims.elements() == 1 &&
           value.shape.size() <= shape_.size();
  }

  bool made_inside(ValueId id) {
    const Value& value = graph_.values[id];
    if (value.kind != ValueKind::kResult || is_output_[id]) return false;
    const Node& node = graph_.nodes[value.producer];
    if (const auto kept = kept_shape(graph_, node)) return *kept == kept_;
    if (!is_elementwise(node)) return false;
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      if (!input.valid()) return true;
      const Value& operand = graph_.values[input];
      return is_number(operand) || (operand.shape == shape_ && add(input));
    });
  }

  bool read_inside(ValueId id) {
    return std::ranges::all_of(readers_[id], [&](NodeId reader) {
      const Node& node = graph_.nodes[reader];
      if (node.op == OpKind::kReshape && graph_.values[node.outputs[0]].shape == kept_) {
        ++reshapes_;
        return true;
      }
      return is_elementwise(node) && add(node.outputs[0]);
    });
  }

  const Graph& graph_;
  const IdVector<ValueId, std::vector<NodeId>>& readers_;
  const IdVector<ValueId, bool>& is_output_;
  IdVector<ValueId, int>& group_of_;  ///< number of each value's group; 0: not in one yet
  const int number_;
  Shape shape_, kept_;
  std::vector<ValueId> values_;
  int reshapes_ = 0;
};

}  // namespace

Result<int> keep_reduced_axes(Graph& graph, const PassContext& /*context*/) {
  std::vector<NodeId> reductions;
  for (const NodeId id : graph.nodes.ids())
    if (kept_shape(graph, graph.nodes[id])) reductions.push_back(id);
  if (reductions.empty()) return 0;
  const auto readers = consumers(graph);
  IdVector<ValueId, bool> is_output(graph.values.size(), false);
  IdVector<ValueId, int> group_of(graph.values.size(), 0);
  for (const ValueId output : graph.outputs) is_output[output] = true;
  int changes = 0, groups = 0;
  for (const NodeId id : reductions) {
    const Node& node = graph.nodes[id];
    if (group_of[node.outputs[0]] != 0) continue;
    ReducedGroup group(graph, readers, is_output, group_of, ++groups);
    if (!group.collect(node, *kept_shape(graph, node))) continue;
    for (const ValueId value : group.values()) {
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
