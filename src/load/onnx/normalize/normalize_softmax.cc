// Softmax of the operator sets before 13, once shapes are known.
#include <optional>
#include <set>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/normalize.h"
#include "ops/op.h"
#include "ops/params/axis.h"

namespace parallax {
namespace {

/// The one axis that does what normalising the axes from `first` on as one does: the only one of
/// them that may have more than one element. Nullopt if there are several.
std::optional<int> single_axis(const Shape& shape, int first) {
  int axis = static_cast<int>(shape.size()) - 1;
  bool found = false;
  for (int i = first; i < static_cast<int>(shape.size()); ++i) {
    if (shape[static_cast<std::size_t>(i)] == Expr(1)) continue;
    if (found) return std::nullopt;
    axis = i;
    found = true;
  }
  return axis;
}

class BlockExpansion {
 public:
  explicit BlockExpansion(GraphWriter& writer) : graph_(writer.graph()), writer_(writer) {}

  /// Writes Flatten, the Softmax, Shape and Reshape instead of the node.
  Status expand(Node node, int axis) {
    const ValueId x = node.inputs[0], y = node.outputs[0];
    Attributes flatten, last, reshape;
    set_param(flatten, &AxisParams<0>::axis, axis);
    set_param(last, &AxisParams<0>::axis, 1);
    reshape.set("allowzero", std::int64_t{1});
    PX_ASSIGN(const ValueId flat, write(node, OpKind::kFlatten, {x}, std::move(flatten)));
    PX_ASSIGN(const ValueId shape, write(node, OpKind::kShape, {x}, {}));
    node.inputs[0] = flat;
    node.outputs[0] = writer_.result(writer_.fresh_value_name(node.name + "/flat"));
    node.attributes = std::move(last);
    const std::string name = node.name;
    const ValueId soft = node.outputs[0];
    keep(std::move(node));
    PX_RETURN_IF_ERROR(writer_.node(
        {name + "/Reshape", OpKind::kReshape, std::move(reshape), {soft, shape}, {y}}));
    return {};
  }

  /// Writes a node as it is, with its name.
  void keep(Node node) {
    const NodeId id{static_cast<std::int32_t>(graph_.nodes.size())};
    for (const ValueId output : node.outputs) {
      if (output.valid()) graph_.values[output].producer = id;
    }
    graph_.nodes.push_back(std::move(node));
  }

 private:
  Result<ValueId> write(const Node& node, OpKind op, std::vector<ValueId> inputs,
                        Attributes attributes) {
    const std::string name = node.name + "/" + std::string(to_string(op));
    const ValueId output = writer_.result(writer_.fresh_value_name(name));
    PX_RETURN_IF_ERROR(
        writer_.node({name, op, std::move(attributes), std::move(inputs), {output}}));
    return output;
  }

  Graph& graph_;
  GraphWriter& writer_;
};

}  // namespace

Result<bool> expand_softmax_blocks(GraphWriter& writer, std::span<const NodeId> nodes) {
  Graph& graph = writer.graph();
  std::set<NodeId> blocks;
  for (const NodeId id : nodes) {
    Node& node = graph.nodes[id];
    const Shape& shape = graph.values[node.inputs[0]].shape;
    const int rank = static_cast<int>(shape.size());
    const auto first = normalize_axis(params_of<AxisParams<1>>(node).axis, rank);
    if (!first) return invalid_model("Softmax: axis is out of range", node.name);
    const auto axis = single_axis(shape, *first);
    set_param(node.attributes, &AxisParams<0>::axis, axis.value_or(*first));
    if (!axis) blocks.insert(id);
  }
  if (blocks.empty()) return false;
  IdVector<NodeId, Node> before;
  std::swap(before, graph.nodes);
  BlockExpansion expansion(writer);
  for (const NodeId id : before.ids()) {
    Node& node = before[id];
    if (!blocks.contains(id)) {
      expansion.keep(std::move(node));
      continue;
    }
    const auto axis = static_cast<int>(params_of<AxisParams<1>>(node).axis);
    PX_RETURN_IF_ERROR(expansion.expand(std::move(node), axis));
  }
  return true;
}

}  // namespace parallax
