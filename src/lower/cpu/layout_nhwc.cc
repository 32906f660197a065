// Converts connected groups of nodes around convolutions ("islands") to NHWC as a whole, because
// convolutions run on NHWC images. A Transpose is added only where an image enters or leaves an
// island; existing Transposes are combined with the conversion; conversions of images with one
// channel or one pixel are Reshapes.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/charge.h"
#include "lower/cpu/lower.h"
#include "lower/patterns/nhwc_rules.h"
#include "ops/params/movement.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

bool is_identity(const Permutation& permutation) {
  return std::is_sorted(permutation.begin(), permutation.end());
}

/// Returns the permutation of Transpose(Transpose(x, first), second).
Permutation compose(const Permutation& first, const Permutation& second) {
  Permutation result;
  for (const std::int64_t axis : second) result.push_back(first[static_cast<std::size_t>(axis)]);
  return result;
}

/// Returns the permutation of a Transpose of this rank.
Permutation permutation_of(const Node& transpose, std::size_t rank) {
  Permutation perm = params_of<TransposeParams>(transpose).perm;
  if (perm.size() == rank) return perm;
  Permutation reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return reversed;
}

/// Returns the image [N, C, H, W] that `node` turns into [N, H W, C] by Transpose(Reshape(image)),
/// as patch embeddings do; otherwise an invalid id.
ValueId flattened_image(const Graph& graph, const IdVector<NodeId, Node>& nodes, const Node& node) {
  if (node.op != OpKind::kTranspose) return {};
  const Value& flat = graph.values[node.inputs[0]];
  if (flat.shape.size() != 3 || permutation_of(node, 3) != Permutation{0, 2, 1}) return {};
  if (flat.kind != ValueKind::kResult || nodes[flat.producer].op != OpKind::kReshape) return {};
  const ValueId image = nodes[flat.producer].inputs[0];
  const Shape& shape = graph.values[image].shape;
  if (shape.size() != 4) return {};
  for (const std::size_t axis : {0, 1})
    if (!shape[axis].constant() || shape[axis].constant() != flat.shape[axis].constant()) return {};
  return flat.shape[2].constant() ? image : ValueId{};
}

/// Which nodes change layout.
class Islands {
 public:
  Islands(const Graph& graph, const PassContext& context) : parent_(graph.nodes.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    std::vector<bool> convertible(graph.nodes.size());
    const Readers readers(graph);
    for (const NodeId id : graph.nodes.ids()) {
      const Node& node = graph.nodes[id];
      convertible[index(id)] = may_convert(graph, node, context) &&
                               !cuts_nchw(graph, node, convertible, readers) &&
                               !widens_turn(graph, node, convertible, readers);
      if (!convertible[index(id)]) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!is_image_input(graph, node, i)) continue;
        const NodeId producer = graph.values[node.inputs[i]].producer;
        if (producer.valid() && convertible[index(producer)]) join(id, producer);
      }
    }
    // A convolution alone converts its tiles itself, close to the cache, unless its image comes or
    // is wanted as NHWC, or fewer multiplications pay for two transposes.
    std::vector<int> convolutions(graph.nodes.size(), 0);
    for (const NodeId id : graph.nodes.ids()) {
      const bool counts = convertible[index(id)] && is_convolution(graph.nodes[id].op);
      if (counts) convolutions[root(index(id))] += gains_from_nhwc(graph, graph.nodes[id]) ? 2 : 1;
      const ValueId image = flattened_image(graph, graph.nodes, graph.nodes[id]);
      const NodeId maker = image.valid() ? graph.values[image].producer : NodeId{};
      if (maker.valid() && is_convolution(graph.nodes[maker].op))
        ++convolutions[root(index(maker))];
    }
    const std::vector<int> turns = count_turns(graph, convertible);
    member_.resize(graph.nodes.size());
    for (const NodeId id : graph.nodes.ids()) {
      const std::size_t island = root(index(id));
      const bool near = convertible[index(id)] && convolutions[island] > 0;
      member_[index(id)] = near && convolutions[island] + turns[island] >= 2;
      if (near && !member_[index(id)] && is_convolution(graph.nodes[id].op))
        context.missed("no other convolution is near", graph.nodes[id]);
    }
  }

  bool contains(NodeId id) const { return id.valid() && member_[index(id)]; }
  bool any() const { return std::ranges::find(member_, true) != member_.end(); }

 private:
  static std::size_t index(NodeId id) { return static_cast<std::size_t>(id.value); }

  bool may_convert(const Graph& graph, const Node& node, const PassContext& context) {
    if (!can_be_nhwc(graph, node)) {
      if (node.op == OpKind::kConv) context.missed("no kernel has this convolution in NHWC", node);
      return false;
    }
    if (may_turn(graph, node, *context.quota)) return true;
    context.missed("loading may not copy more constants", node);
    return false;
  }

  /// Invalid for what no node makes.
  static NodeId maker_of(const Graph& graph, ValueId id) {
    return graph.values[id].kind == ValueKind::kResult ? graph.values[id].producer : NodeId{};
  }
  /// Returns whether `id` is a Transpose of an image into this order.
  static bool turns_to(const Graph& graph, NodeId id, Permutation (*order)(std::size_t)) {
    if (!id.valid() || graph.nodes[id].op != OpKind::kTranspose) return false;
    const std::size_t rank = graph.values[graph.nodes[id].inputs[0]].shape.size();
    return is_image_rank(rank) && permutation_of(graph.nodes[id], rank) == order(rank);
  }

  /// Returns whether the node is a Slice of an NCHW value: less has to be transposed after it.
  static bool cuts_nchw(const Graph& graph, const Node& node, const std::vector<bool>& convertible,
                        const Readers& readers) {
    if (node.op != OpKind::kSlice || readers.of(node.inputs[0]).size() > 1) return false;
    const NodeId maker = maker_of(graph, node.inputs[0]);
    return !maker.valid() || !(convertible[index(maker)] || turns_to(graph, maker, to_nchw));
  }

  /// Between real numbers and bytes at the border of an island: bytes are less to turn.
  static bool widens_turn(const Graph& graph, const Node& node,
                          const std::vector<bool>& convertible, const Readers& readers) {
    const bool enters =
        node.op == OpKind::kQuantizeLinear && graph.values[node.inputs[0]].dtype == DType::kF32;
    if (enters) {
      const NodeId maker = maker_of(graph, node.inputs[0]);
      return !maker.valid() || !convertible[index(maker)];
    }
    if (node.op != OpKind::kDequantizeLinear) return false;
    return std::ranges::none_of(readers.of(node.outputs[0]), [&](NodeId reader) {
      return can_be_nhwc(graph, graph.nodes[reader]);
    });
  }

  /// Returns the number of transposes next to each island that become superfluous, by its root.
  std::vector<int> count_turns(const Graph& graph, const std::vector<bool>& convertible) {
    std::vector<int> turns(graph.nodes.size(), 0);
    for (const NodeId id : graph.nodes.ids()) {
      const Node& node = graph.nodes[id];
      const NodeId maker = node.op == OpKind::kTranspose ? maker_of(graph, node.inputs[0]) : id;
      if (maker.valid() && convertible[index(maker)] && turns_to(graph, id, to_nhwc))
        ++turns[root(index(maker))];
      for (std::size_t i = 0; convertible[index(id)] && i < node.inputs.size(); ++i)
        if (is_image_input(graph, node, i) &&
            turns_to(graph, maker_of(graph, node.inputs[i]), to_nchw))
          ++turns[root(index(id))];
    }
    return turns;
  }

  /// Returns whether the quota covers copies of the constants among the node's images, in addition
  /// to those of earlier nodes.
  bool may_turn(const Graph& graph, const Node& node, const LoadQuota& quota) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid() || !is_image_input(graph, node, i)) continue;
      const auto& constant = graph.values[node.inputs[i]].constant;
      const std::pair key(node.inputs[i], image_rank(graph, node));
      if (!constant || turned_.contains(key)) continue;
      const std::int64_t more = turned_bytes_ + std::ssize(constant->bytes);
      if (!can_charge(quota, more)) return false;
      turned_bytes_ = more;
      turned_.insert(key);
    }
    return true;
  }

  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(NodeId a, NodeId b) { parent_[root(index(a))] = root(index(b)); }

  std::vector<std::size_t> parent_;
  std::vector<bool> member_;
  std::set<std::pair<ValueId, std::size_t>> turned_;  ///< constants and the ranks of images
  std::int64_t turned_bytes_ = 0;
};

/// Rewrites the nodes of a graph in order.
class Rewriter {
 public:
  Rewriter(Graph& graph, const PassContext& context, Islands islands)
      : graph_(graph), quota_(context.quota), names_(graph), islands_(std::move(islands)) {
    nhwc_.resize(graph.values.size());
    find_wanted_nchw();
  }

  int run() {
    IdVector<NodeId, Node> old = std::move(graph_.nodes);
    graph_.nodes = {};
    graph_.nodes.reserve(old.size());
    int changes = 0;
    for (const NodeId id : old.ids()) {
      if (islands_.contains(id)) {
        convert(old, take(old[id]));
        ++changes;
      } else if (!merge_transpose(old, old[id])) {
        append(take(old[id]));
      }
    }
    return changes;
  }

 private:
  /// Later nodes look at what Transposes and Reshapes read; of others they ask the kind alone.
  static Node take(Node& node) {
    const bool stays = node.op == OpKind::kTranspose || node.op == OpKind::kReshape;
    return stays ? Node(node) : std::move(node);
  }

  /// Images made in an island that something outside reads as NCHW.
  void find_wanted_nchw() {
    wanted_nchw_ = IdVector<ValueId, bool>(graph_.values.size(), false);
    for (const ValueId output : graph_.outputs) wanted_nchw_[output] = true;
    for (const NodeId id : graph_.nodes.ids()) {
      const Node& node = graph_.nodes[id];
      if (node.op == OpKind::kTranspose) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const bool as_nhwc = islands_.contains(id) && is_image_input(graph_, node, i);
        if (node.inputs[i].valid() && !as_nhwc) wanted_nchw_[node.inputs[i]] = true;
      }
    }
  }

  /// Returns the NHWC form of an image that an island computes. Invalid for other values: those
  /// from outside, and the result of a reduction without kept axes, which has no layout.
  ValueId nhwc_of(ValueId value) const {
    const Value& v = graph_.values[value];
    const bool made = v.kind == ValueKind::kResult && islands_.contains(v.producer);
    return made ? nhwc_[value] : ValueId{};
  }

  void append(Node node) { graph_.nodes.push_back(std::move(node)); }

  /// Returns a value like `model`, an NCHW image, with its axes in NHWC order.
  ValueId nhwc_value(ValueId model) {
    Value value;
    value.name = names_.make(graph_.values[model].name + "/nhwc");
    value.dtype = graph_.values[model].dtype;
    const Shape& shape = graph_.values[model].shape;
    for (const std::int64_t axis : to_nhwc(shape.size()))
      value.shape.push_back(shape[static_cast<std::size_t>(axis)]);
    return graph_.values.push_back(std::move(value));
  }

  void convert(const IdVector<NodeId, Node>& old, Node node) {
    const std::size_t rank = image_rank(graph_, node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_image_input(graph_, node, i)) node.inputs[i] = as_nhwc(old, node.inputs[i], rank);
    }
    adapt_to_nhwc(graph_, names_, node, rank);
    std::vector<std::pair<ValueId, ValueId>> back;
    for (ValueId& output : node.outputs) {
      // A reduction without its axes leaves no image.
      if (!output.valid() || graph_.values[output].shape.size() != rank) continue;
      const ValueId original = output;
      output = nhwc_value(original);
      nhwc_[original] = output;
      if (wanted_nchw_[original]) back.emplace_back(output, original);
    }
    append(std::move(node));
    for (const auto& [from, to] : back) append_permutation(from, to, to_nchw(rank));
  }

  /// Returns the NHWC form of a value among images of `rank`, created if it is missing. A constant
  /// may have one for each rank.
  ValueId as_nhwc(const IdVector<NodeId, Node>& old, ValueId value, std::size_t rank) {
    if (graph_.values[value].constant) {
      ValueId& turned = turned_[{value, rank}];
      if (turned.valid()) return turned;
      const std::string name = graph_.values[value].name + "/nhwc";
      const Constant& nchw = *graph_.values[value].constant;
      Constant nhwc = to_nhwc(nchw, rank);
      charge(quota_, nhwc, weight_bytes(nchw));  // Islands has asked for all of them
      return turned = add_constant(graph_, names_, name, std::move(nhwc));
    }
    const ValueId known = nhwc_[value];
    if (known.valid() && graph_.values[known].shape.size() == rank) return known;
    const NodeId producer = graph_.values[value].producer;
    const bool transposed = producer.valid() && old[producer].op == OpKind::kTranspose;
    ValueId from = value;
    Permutation permutation = to_nhwc(rank);
    if (transposed) {
      from = old[producer].inputs[0];
      permutation = compose(permutation_of(old[producer], rank), permutation);
      if (const ValueId image = nhwc_of(from); image.valid()) {
        from = image;
        permutation = compose(to_nchw(rank), permutation);
      }
      if (is_identity(permutation)) return nhwc_[value] = from;
    }
    const ValueId result = nhwc_value(value);
    append_permutation(from, result, permutation);
    return nhwc_[value] = result;
  }

  /// Makes a Transpose of an island's image read the NHWC form. False for other nodes.
  bool merge_transpose(const IdVector<NodeId, Node>& old, const Node& node) {
    const ValueId pixels = flattened_image(graph_, old, node);
    if (const ValueId image = pixels.valid() ? nhwc_of(pixels) : ValueId{}; image.valid()) {
      std::vector<std::int64_t> dims;
      for (const Expr& dim : graph_.values[node.outputs[0]].shape) dims.push_back(*dim.constant());
      append_view(image, node.outputs[0], dims, node.name);
      return true;
    }
    if (node.op != OpKind::kTranspose) return false;
    const ValueId image = nhwc_of(node.inputs[0]);
    if (!image.valid()) return false;
    const std::size_t rank = graph_.values[image].shape.size();
    const Permutation permutation = compose(to_nchw(rank), permutation_of(node, rank));
    append_permutation(image, node.outputs[0], permutation, node.name);
    return true;
  }

  /// Appends to = Transpose(from), or a view if no element moves.
  void append_permutation(ValueId from, ValueId to, const Permutation& permutation,
                          std::string name = {}) {
    Node node;
    node.name = name.empty() ? names_.make(graph_.values[to].name + "/permute") : std::move(name);
    node.outputs = {to};
    node.inputs = {from};
    if (is_identity(permutation)) {
      node.op = OpKind::kIdentity;
    } else if (const auto dims = dims_if_view(to, permutation)) {
      return append_view(from, to, *dims, std::move(node.name));
    } else {
      node.op = OpKind::kTranspose;
      set_param(node, &TransposeParams::perm, permutation);
    }
    append(std::move(node));
  }

  void append_view(ValueId from, ValueId to, const std::vector<std::int64_t>& dims,
                   std::string name) {
    Node node;
    node.op = OpKind::kReshape;
    node.name = std::move(name);
    node.outputs = {to};
    node.inputs = {from, add_constant(graph_, names_, node.name + "/shape", make_i64(dims))};
    append(std::move(node));
  }

  /// Returns the known dimensions of `to` if axes longer than one keep their order.
  std::optional<std::vector<std::int64_t>> dims_if_view(ValueId to,
                                                        const Permutation& permutation) const {
    std::vector<std::int64_t> dims;
    std::int64_t last = -1;
    for (std::size_t i = 0; i < permutation.size(); ++i) {
      const auto dim = graph_.values[to].shape[i].constant();
      if (!dim || *dim == 0) return std::nullopt;
      dims.push_back(*dim);
      if (*dim == 1) continue;
      if (permutation[i] < last) return std::nullopt;
      last = permutation[i];
    }
    return dims;
  }

  Graph& graph_;
  const std::shared_ptr<LoadQuota>& quota_;
  UniqueNames names_;
  Islands islands_;
  IdVector<ValueId, ValueId> nhwc_;  ///< NHWC version of each NCHW value that is not a constant
  std::map<std::pair<ValueId, std::size_t>, ValueId> turned_;  ///< constants, by rank of the image
  IdVector<ValueId, bool> wanted_nchw_;
};

}  // namespace

Result<int> layout_nhwc(Graph& graph, const PassContext& context) {
  Islands islands(graph, context);
  if (!islands.any()) return 0;
  const int changes = Rewriter(graph, context, std::move(islands)).run();
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
