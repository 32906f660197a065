// Gives products of matrices back the axes that were merged around them, as TensorFlow writes
// attention: its products have three dimensions, batch times heads first.
//
//     pattern  f(MatMul(Reshape(a), Reshape(b))), each Reshape merging the first two axes; f of
//              elementwise operators with numbers, Softmax along the last axis, further products.
//              Operands that never had these axes, as PyTorch's, get a Reshape that splits them,
//              if no more of them are added than disappear
//     guard    whatever reads the results splits these axes again: a Reshape, or an elementwise
//              operator whose other operand has them, if the first has one element
//     rewrite  the same nodes of a and b; each Reshape that splits is a copy, which remove_no_ops
//              removes
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ops/op.h"
#include "ops/params/axis.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"
#include "simplify/value_groups.h"

namespace parallax {
namespace {

constexpr std::size_t kMergedRank = 3;

class MergedGroup {
 public:
  MergedGroup(const Graph& graph, ValueGroups& groups) : graph_(graph), groups_(groups) {}

  /// Collects what belongs to a product. Returns whether it can be rewritten.
  bool collect(const Node& product) {
    const Value* source = source_of(product.inputs[0]);
    if (source == nullptr) source = source_of(product.inputs[1]);
    if (source == nullptr) return false;
    batch_ = source->shape[0];
    heads_ = source->shape[1];
    splits_ = merges_ = cuts_ = 0;
    const bool whole = groups_.collect(
        product.outputs[0], [&](ValueId id) { return made_inside(id) && read_inside(id); });
    return whole && splits_ > 0 && cuts_ <= splits_ + merges_;
  }

  /// The shape of a merged value with its axes apart.
  Shape split(const Shape& merged) const {
    Shape shape = {batch_, heads_};
    shape.insert(shape.end(), merged.begin() + 1, merged.end());
    return shape;
  }
  /// Whether `id` is a Reshape of a value that has the axes apart.
  bool enters(ValueId id) const {
    const Value* const source = source_of(id);
    return source != nullptr && source->shape == split(graph_.values[id].shape);
  }

 private:
  const Value* source_of(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.kind != ValueKind::kResult || value.shape.size() != kMergedRank) return nullptr;
    const Node& node = graph_.nodes[value.producer];
    if (node.op != OpKind::kReshape) return nullptr;
    const Value& source = graph_.values[node.inputs[0]];
    return source.shape.size() == kMergedRank + 1 ? &source : nullptr;
  }

  bool enters_or_inside(ValueId id) {
    if (enters(id)) {
      ++merges_;
      return true;
    }
    const Node* const maker = groups_.maker(id);
    if (maker != nullptr && keeps_axes(*maker)) return groups_.add(id);
    ++cuts_;
    return can_be_cut(id);
  }
  /// Whether a Reshape to a list of sizes can split the axes.
  bool can_be_cut(ValueId id) const {
    return std::ranges::count_if(split(graph_.values[id].shape),
                                 [](const Expr& dim) { return !dim.constant(); }) <= 1;
  }

  bool is_number(const Value& value) const {
    return value.constant && value.constant->dims.elements() == 1 && value.shape.size() <= 1;
  }

  /// Whether the node computes the same with the axes apart, if all it reads has them apart.
  bool keeps_axes(const Node& node) const {
    if (node.outputs.size() != 1 || !node.epilogue.empty()) return false;
    if (graph_.values[node.outputs[0]].shape.size() != kMergedRank) return false;
    if (node.op == OpKind::kMatMul) return node.inputs.size() == 2;
    if (node.op == OpKind::kSoftmax) {
      const std::int64_t axis = params_of<AxisParams<-1>>(node).axis;
      return axis == -1 || axis == static_cast<std::int64_t>(kMergedRank) - 1;
    }
    return op_def(node.op).elementwise;
  }

  bool made_inside(ValueId id) {
    const Node* const maker = groups_.maker(id);
    if (maker == nullptr) return false;
    const Value& value = graph_.values[id];
    const Node& node = *maker;
    if (!keeps_axes(node)) return false;
    const bool product = node.op == OpKind::kMatMul;
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      if (!input.valid()) return true;
      const Value& operand = graph_.values[input];
      if (!product && is_number(operand)) return true;
      if (operand.shape.size() != kMergedRank || operand.shape[0] != value.shape[0]) return false;
      return (product || operand.shape == value.shape) && enters_or_inside(input);
    });
  }

  bool read_inside(ValueId id) {
    const Shape apart = split(graph_.values[id].shape);
    return std::ranges::all_of(groups_.readers(id), [&](NodeId reader) {
      const Node& node = graph_.nodes[reader];
      if (node.outputs.empty() || !node.outputs[0].valid()) return false;
      const Shape& shape = graph_.values[node.outputs[0]].shape;
      const bool splits =
          node.op == OpKind::kReshape || (op_def(node.op).elementwise && batch_ == Expr(1));
      if (splits && shape == apart) {
        ++splits_;
        return true;
      }
      return keeps_axes(node) && groups_.add(node.outputs[0]);
    });
  }

  const Graph& graph_;
  ValueGroups& groups_;
  Expr batch_, heads_;
  int splits_ = 0, merges_ = 0;  ///< Reshapes that disappear: behind the group, and before it
  int cuts_ = 0;                 ///< Reshapes that are added
};

/// Adds Reshapes that split the axes of values. They stand at the end of the graph until finish().
class Cutter {
 public:
  explicit Cutter(Graph& graph) : graph_(graph), builder_(graph) {}

  /// Returns `merged` with the axes of `apart`, to be read by `reader` alone.
  ValueId cut(ValueId merged, const Shape& apart, NodeId reader) {
    std::vector<std::int64_t> sizes;
    for (const Expr& dim : apart) sizes.push_back(dim.constant().value_or(-1));
    const ValueId list = builder_.ints(graph_.values[merged].name + "/sizes", sizes);
    const NodeId node = builder_.node(OpKind::kReshape, {merged, list});
    const ValueId result = graph_.nodes[node].outputs[0];
    graph_.values[result].dtype = graph_.values[merged].dtype;
    graph_.values[result].shape = apart;
    added_.emplace(reader, node);
    return result;
  }

  /// Moves the Reshapes in front of their readers.
  void finish() {
    if (added_.empty()) return;
    IdVector<NodeId, Node> nodes;
    const std::size_t before = graph_.nodes.size() - added_.size();
    for (const NodeId id : graph_.nodes.ids()) {
      if (static_cast<std::size_t>(id.value) == before) break;
      for (auto [at, end] = added_.equal_range(id); at != end; ++at)
        nodes.push_back(std::move(graph_.nodes[at->second]));
      nodes.push_back(std::move(graph_.nodes[id]));
    }
    graph_.nodes = std::move(nodes);
    for (const NodeId id : graph_.nodes.ids())
      for (const ValueId output : graph_.nodes[id].outputs)
        if (output.valid()) graph_.values[output].producer = id;
  }

 private:
  Graph& graph_;
  GraphBuilder builder_;
  std::multimap<NodeId, NodeId> added_;  ///< keys are readers
};

/// Lets the group's nodes read what the Reshapes merge.
int rewrite(Graph& graph, const ValueGroups& groups, const MergedGroup& group, Cutter& cutter) {
  int changes = 0;
  for (const ValueId id : groups.values()) {
    const NodeId maker = graph.values[id].producer;
    std::vector<ValueId> inputs = graph.nodes[maker].inputs;
    for (ValueId& input : inputs) {
      if (!input.valid() || graph.values[input].shape.size() != kMergedRank) continue;
      if (group.enters(input)) {
        input = graph.nodes[graph.values[input].producer].inputs[0];
      } else if (!groups.is_in_last(input)) {
        input = cutter.cut(input, group.split(graph.values[input].shape), maker);
      } else {
        continue;
      }
      ++changes;
    }
    Node& node = graph.nodes[maker];
    node.inputs = std::move(inputs);
    if (node.op == OpKind::kSoftmax) set_param(node, &AxisParams<-1>::axis, -1);
  }
  for (const ValueId id : groups.values()) {
    graph.values[id].shape = group.split(graph.values[id].shape);
    graph.values[id].content = std::nullopt;
  }
  return changes;
}

bool merged_product(const Graph& graph, const Node& node) {
  return node.op == OpKind::kMatMul && node.inputs.size() == 2 && node.epilogue.empty() &&
         graph.values[node.inputs[0]].shape.size() == kMergedRank &&
         graph.values[node.inputs[1]].shape.size() == kMergedRank;
}

}  // namespace

Result<int> split_batches(Graph& graph, const PassContext& /*context*/) {
  std::vector<NodeId> products;
  for (const NodeId id : graph.nodes.ids())
    if (merged_product(graph, graph.nodes[id])) products.push_back(id);
  if (products.empty()) return 0;
  ValueGroups groups(graph);
  MergedGroup group(graph, groups);
  Cutter cutter(graph);
  int changes = 0;
  for (const NodeId id : products) {
    const Node& node = graph.nodes[id];
    if (groups.has(node.outputs[0]) || !group.collect(node)) continue;
    changes += rewrite(graph, groups, group, cutter);
  }
  cutter.finish();
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
