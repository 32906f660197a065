// Removes sequences and optionals whose structure is known: readers of an element read the value
// that was put there, and tensors are split or joined directly instead of through a sequence.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ir/builder.h"
#include "ops/control_flow.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/params/sequences.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

/// Elements of a sequence that is spelled out.
constexpr std::size_t kMaxElements = 1024;

class ObjectRemover {
 public:
  explicit ObjectRemover(Graph& graph) : graph_(graph), builder_(graph) {}

  int run() {
    const std::size_t count = graph_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      const NodeId id{static_cast<std::int32_t>(i)};
      if (!look(id)) order_.push_back(id);
    }
    if (changes_ > 0) reorder();
    return changes_;
  }

 private:
  /// The values of which an object is made.
  using Elements = std::vector<ValueId>;

  const Elements* known(const Node& node, std::size_t input) const {
    if (input >= node.inputs.size()) return nullptr;
    const auto found = known_.find(node.inputs[input]);
    return found == known_.end() ? nullptr : &found->second;
  }

  /// Records the sequences that the node makes, or rewrites it. Returns true if it is already in
  /// its place in the order.
  bool look(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.outputs.size() != 1 || !node.outputs[0].valid()) return false;
    switch (node.op) {
      case OpKind::kSequenceConstruct:
      case OpKind::kSequenceEmpty:
        remember(id, node.inputs);
        return false;
      case OpKind::kOptional:
        if (!node.inputs.empty()) remember(id, node.inputs);
        return false;
      case OpKind::kIdentity:
        if (const Elements* const all = known(node, 0)) remember(id, *all);
        return false;
      case OpKind::kSequenceInsert:
        insert(id);
        return false;
      case OpKind::kSequenceErase:
        erase(id);
        return false;
      case OpKind::kSplitToSequence:
        return split(id);
      case OpKind::kSequenceAt:
        if (const auto at = place(id, 1)) become_identity(id, (*known(node, 0))[*at]);
        return false;
      case OpKind::kOptionalGetElement:
        get(id);
        return false;
      case OpKind::kOptionalHasElement:
        has(id);
        return false;
      case OpKind::kSequenceLength:
        length(id);
        return false;
      case OpKind::kConcatFromSequence:
        return concat(id);
      default:
        return false;
    }
  }

  void remember(NodeId id, Elements elements) {
    if (elements.size() <= kMaxElements)
      known_.insert_or_assign(graph_.nodes[id].outputs[0], std::move(elements));
  }

  /// Returns the position in the sequence (input 0) to which input `i` points; the end if it is
  /// left out. nullopt if either is not known or the position does not exist.
  std::optional<std::size_t> place(NodeId id, std::size_t i, bool end_too = false) const {
    const Node& node = graph_.nodes[id];
    const Elements* const all = known(node, 0);
    if (all == nullptr) return std::nullopt;
    const auto size = static_cast<std::int64_t>(all->size());
    if (i >= node.inputs.size() || !node.inputs[i].valid()) {
      if (end_too) return all->size();
      return size == 0 ? std::nullopt : std::optional(all->size() - 1);
    }
    auto at = known_scalar(graph_.values[node.inputs[i]]);
    if (!at) return std::nullopt;
    if (*at < 0 && *at >= -size) *at += size;
    if (*at < 0 || *at > size || (*at == size && !end_too)) return std::nullopt;
    return static_cast<std::size_t>(*at);
  }

  void insert(NodeId id) {
    const auto at = place(id, 2, true);
    if (!at) return;
    const Node& node = graph_.nodes[id];
    Elements elements = *known(node, 0);
    elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(*at), node.inputs[1]);
    remember(id, std::move(elements));
  }

  void erase(NodeId id) {
    const auto at = place(id, 1);
    if (!at) return;
    Elements elements = *known(graph_.nodes[id], 0);
    elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(*at));
    remember(id, std::move(elements));
  }

  void become_identity(NodeId id, ValueId of) {
    Node& node = graph_.nodes[id];
    node.op = OpKind::kIdentity;
    node.inputs = {of};
    node.attributes = {};
    if (const auto found = known_.find(of); found != known_.end())
      remember(id, Elements(found->second));
    ++changes_;
  }

  bool is_optional(ValueId id) const {
    const ContainerType& container = graph_.values[id].container;
    return container != nullptr && container->types[0] == ObjectType::kOptional;
  }

  void get(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (!is_optional(node.inputs[0])) return become_identity(id, node.inputs[0]);
    if (const Elements* const all = known(node, 0)) become_identity(id, (*all)[0]);
  }

  void has(NodeId id) {
    const Node& node = graph_.nodes[id];
    const bool given = !node.inputs.empty() && node.inputs[0].valid();
    if (given && is_optional(node.inputs[0]) && known(node, 0) == nullptr) return;
    const std::byte answer{given};
    become_constant(id, make_constant(DType::kBool, {}, std::span(&answer, 1)));
  }

  void length(NodeId id) {
    const Elements* const all = known(graph_.nodes[id], 0);
    if (all == nullptr) return;
    const auto size = static_cast<std::int64_t>(all->size());
    become_constant(id, make_constant(DType::kI64, {}, std::as_bytes(std::span(&size, 1))));
  }

  void become_constant(NodeId id, Constant constant) {
    make_constant_value(graph_, graph_.nodes[id].outputs[0], std::move(constant));
    ++changes_;
  }

  /// Returns the length of each part, if their number is known.
  std::optional<std::vector<std::int64_t>> parts(const Node& node, std::size_t axis) const {
    const auto whole = graph_.values[node.inputs[0]].shape[axis].constant();
    if (!whole) return std::nullopt;
    std::int64_t each = 1;
    if (node.inputs.size() > 1 && node.inputs[1].valid()) {
      const Value& split = graph_.values[node.inputs[1]];
      if (!split.constant) return std::nullopt;
      auto lengths = integers(*split.constant, kMaxElements);
      if (!lengths) return std::nullopt;
      if (!split.shape.empty()) return lengths;
      each = (*lengths)[0];
    }
    if (each < 1 || *whole / each >= static_cast<std::int64_t>(kMaxElements)) return std::nullopt;
    std::vector<std::int64_t> lengths;
    for (std::int64_t at = 0; at < *whole; at += each)
      lengths.push_back(std::min(each, *whole - at));
    return lengths;
  }

  /// Writes a Split, and a Squeeze of each part if the axis is dropped.
  bool split(NodeId id) {
    const Node node = graph_.nodes[id];
    const Value& input = graph_.values[node.inputs[0]];
    const auto axis =
        normalize_axis(params_of<AxisParams<0>>(node).axis, static_cast<int>(input.shape.size()));
    if (!axis || input.dtype == DType::kString) return false;
    const auto lengths = parts(node, static_cast<std::size_t>(*axis));
    if (!lengths || lengths->empty()) return false;
    const ValueId sizes = builder_.ints(node.name + "/parts", *lengths);
    Attributes attributes;
    set_param(attributes, &AxisParams<0>::axis, *axis);
    const NodeId cut = builder_.node(OpKind::kSplit, {node.inputs[0], sizes}, std::move(attributes),
                                     node.name + "/split", static_cast<int>(lengths->size()));
    order_.push_back(cut);
    Elements elements = graph_.nodes[cut].outputs;
    const bool whole = node.inputs.size() > 1 && node.inputs[1].valid();
    if (!whole && !params_of<SplitToSequenceParams>(node).keepdims)
      for (ValueId& element : elements)
        element = reshaped(OpKind::kSqueeze, element, *axis, node.name + "/squeeze");
    remember(id, std::move(elements));
    order_.push_back(id);
    return true;
  }

  ValueId reshaped(OpKind op, ValueId value, int axis, const std::string& name) {
    const ValueId axes = builder_.ints(name + "/axes", std::vector<std::int64_t>{axis});
    const NodeId node = builder_.node(op, {value, axes}, {}, name);
    order_.push_back(node);
    return graph_.nodes[node].outputs[0];
  }

  /// Writes a Concat, of elements with one more axis if that axis is new.
  bool concat(NodeId id) {
    const Elements* const all = known(graph_.nodes[id], 0);
    if (all == nullptr || all->empty()) return false;
    Elements elements = *all;
    const Node& node = graph_.nodes[id];
    const bool add = params_of<ConcatFromSequenceParams>(node).new_axis;
    const int rank = static_cast<int>(graph_.values[node.outputs[0]].shape.size());
    const auto axis = normalize_axis(params_of<AxisParams<0>>(node).axis, rank);
    if (!axis) return false;
    const std::string name = node.name;
    if (add)
      for (ValueId& element : elements)
        element = reshaped(OpKind::kUnsqueeze, element, *axis, name + "/unsqueeze");
    Node& changed = graph_.nodes[id];
    changed.op = OpKind::kConcat;
    changed.inputs = std::move(elements);
    changed.attributes = {};
    set_param(changed, &AxisParams<0>::axis, *axis);
    ++changes_;
    order_.push_back(id);
    return true;
  }

  void reorder() {
    IdVector<NodeId, Node> nodes;
    for (const NodeId id : order_) {
      const NodeId now = nodes.push_back(std::move(graph_.nodes[id]));
      for (const ValueId output : nodes[now].outputs)
        if (output.valid() && graph_.values[output].kind == ValueKind::kResult)
          graph_.values[output].producer = now;
    }
    graph_.nodes = std::move(nodes);
  }

  Graph& graph_;
  GraphBuilder builder_;
  std::map<ValueId, Elements> known_;
  std::vector<NodeId> order_;
  int changes_ = 0;  ///< readers of objects that are none any more
};

bool has_objects(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return op_def(node.op).objects; });
}

}  // namespace

Result<int> static_objects(Graph& graph, const PassContext& context) {
  if (!has_objects(graph)) return 0;
  Graph changed = graph;
  const int changes = ObjectRemover(changed).run();
  // If no reader was removed, the nodes added next to the sequence are useless.
  if (changes == 0) return 0;
  erase_unused(changed);
  // Inference may reject nodes that fail only in runs that reach them.
  if (!infer_graph(changed, *context.quota)) return 0;
  graph = std::move(changed);
  return changes;
}

}  // namespace parallax
