#include "partition/split/co_layout.h"

#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "lower/patterns/nhwc_rules.h"
#include "ops/params/movement.h"

namespace parallax {
namespace {

/// Nodes of one region, or of the CPU, that lowering turns together.
class CoIslands {
 public:
  CoIslands(const Graph& graph, const IdVector<NodeId, RegionId>& region_of)
      : graph_(graph), parent_(graph.nodes.size()), can_(graph.nodes.size(), false) {
    for (const NodeId id : graph.nodes.ids()) {
      const Node& node = graph.nodes[id];
      parent_[id] = id;
      can_[id] = can_be_nhwc(graph, node);
      for (std::size_t i = 0; can_[id] && i < node.inputs.size(); ++i) {
        if (!is_image_input(graph, node, i)) continue;
        const Value& image = graph.values[node.inputs[i]];
        if (image.kind == ValueKind::kResult && can_[image.producer] &&
            region_of[image.producer] == region_of[id])
          parent_[root(id)] = root(image.producer);
      }
    }
    convolves_ = IdVector<NodeId, bool>(graph.nodes.size(), false);
    for (const NodeId id : graph.nodes.ids())
      if (can_[id] && graph.nodes[id].op == OpKind::kConv) convolves_[root(id)] = true;
  }

  bool contains(NodeId id) { return can_[id] && convolves_[root(id)]; }
  /// Returns whether `id` reads `value` as an image.
  bool reads(NodeId id, ValueId value) {
    if (!contains(id)) return false;
    const Node& node = graph_.nodes[id];
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == value && is_image_input(graph_, node, i)) return true;
    return false;
  }

 private:
  NodeId root(NodeId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  const Graph& graph_;
  IdVector<NodeId, NodeId> parent_;
  IdVector<NodeId, bool> can_, convolves_;
};

/// Rewrites the nodes in order, with Transposes between them.
class ImageTurner {
 public:
  ImageTurner(const IdVector<NodeId, RegionId>& region_of, Graph& graph,
              IdVector<NodeId, CoNode>& nodes)
      : region_of_(region_of), graph_(graph), nodes_(nodes), names_(graph) {
    find_crossings();
  }

  int run() {
    if (crossings_.empty()) return 0;
    const IdVector<NodeId, Node> old = std::exchange(graph_.nodes, {});
    const IdVector<NodeId, CoNode> infos = std::exchange(nodes_, {});
    for (const NodeId id : old.ids()) {
      Node node = old[id];
      for (ValueId& input : node.inputs) {
        const auto crossing =
            input.valid() ? crossings_.find({input, region_of_[id]}) : crossings_.end();
        if (crossing == crossings_.end()) continue;
        ValueId& back = crossing->second;
        if (!back.valid()) back = turn(last_.at(input), false, infos[id]);
        input = back;
      }
      append(std::move(node), infos[id]);
      for (const ValueId output : old[id].outputs)
        if (const auto turned = last_.find(output); turned != last_.end())
          turned->second = turn(output, true, infos[id]);
    }
    return static_cast<int>(last_.size());
  }

 private:
  /// A value read outside the region that computes it: by a node of a region, or of the CPU.
  using Crossing = std::pair<ValueId, RegionId>;

  void find_crossings() {
    CoIslands islands(graph_, region_of_);
    for (const NodeId id : graph_.nodes.ids()) {
      for (const ValueId input : graph_.nodes[id].inputs) {
        if (!input.valid() || graph_.values[input].kind != ValueKind::kResult) continue;
        const NodeId maker = graph_.values[input].producer;
        if (region_of_[maker] == region_of_[id] ||
            !is_image_rank(graph_.values[input].shape.size()))
          continue;
        if (!islands.contains(maker) || !islands.reads(id, input)) continue;
        crossings_[{input, region_of_[id]}] = {};
        last_[input] = {};
      }
    }
  }

  NodeId append(Node node, const CoNode& info) {
    nodes_.push_back(info);
    const NodeId id = graph_.nodes.push_back(std::move(node));
    for (const ValueId output : graph_.nodes[id].outputs)
      if (output.valid()) graph_.values[output].producer = id;
    return id;
  }

  /// Transposes an image next to a node described by `neighbour`: channels last, or first again.
  ValueId turn(ValueId image, bool channels_last, const CoNode& neighbour) {
    const std::size_t rank = graph_.values[image].shape.size();
    const Permutation perm = channels_last ? to_nhwc(rank) : to_nchw(rank);
    Value value;
    value.name = names_.make(graph_.values[image].name + (channels_last ? ".last" : ".first"));
    value.dtype = graph_.values[image].dtype;
    for (const std::int64_t axis : perm)
      value.shape.push_back(graph_.values[image].shape[static_cast<std::size_t>(axis)]);
    Node node;
    node.op = OpKind::kTranspose;
    node.name = names_.make(value.name + ".turn");
    set_param(node, &TransposeParams::perm, perm);
    node.inputs = {image};
    const ValueId result = graph_.values.push_back(std::move(value));
    node.outputs = {result};
    append(std::move(node), {neighbour.side, neighbour.stage, {}, 0});
    return result;
  }

  const IdVector<NodeId, RegionId>& region_of_;
  Graph& graph_;
  IdVector<NodeId, CoNode>& nodes_;
  UniqueNames names_;
  std::map<Crossing, ValueId> crossings_;  ///< channels first, for those who read there
  std::map<ValueId, ValueId> last_;        ///< channels last
};

}  // namespace

int turn_crossing_images(const IdVector<NodeId, RegionId>& region_of, Graph& graph,
                         IdVector<NodeId, CoNode>& nodes) {
  return ImageTurner(region_of, graph, nodes).run();
}

}  // namespace parallax
