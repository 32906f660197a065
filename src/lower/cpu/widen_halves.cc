// Computes 16-bit floats in f32: kernels would otherwise convert them before and after every
// operator. Values between such operators stay f32; values for other nodes and users are cast back.
// Weights stay 16 bits in their file and are converted when they are bound.
#include <algorithm>
#include <optional>
#include <utility>

#include "ir/charge.h"
#include "lower/cpu/lower.h"
#include "lower/patterns/fuse_util.h"
#include "ops/deferred.h"
#include "ops/op.h"
#include "ops/params/numbers.h"
#include "parallax/elements.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

/// Returns whether the node looks up a constant table: few of its elements are read, so a wider
/// copy of the table would be wasteful.
bool looks_up_constant(const Graph& graph, const Node& node) {
  return (node.op == OpKind::kGather || node.op == OpKind::kGatherND) &&
         graph.values[node.inputs[0]].constant.has_value();
}

/// Returns true if the types of results follow from those of inputs, and numbers from numbers.
bool follows_inputs(OpKind op) {
  const OpDef& def = op_def(op);
  if (def.control_flow || op == OpKind::kCast || op == OpKind::kCastLike ||
      op == OpKind::kBitCast || op == OpKind::kQuantizeLinear || op == OpKind::kDequantizeLinear)
    return false;
  return std::ranges::none_of(def.attributes, [](const AttributeSpec& attribute) {
    return attribute.name == "dtype" || attribute.name == "to" || attribute.name == "value";
  });
}

Constant widened_constant(const Constant& narrow) {
  const auto stored = narrow.dtype == DType::kF16 ? stored_form(narrow, narrow.dims) : std::nullopt;
  const auto fill = [narrow](std::span<std::byte> into) -> Status {
    // Memory that constants are computed in is aligned.
    auto* const to = reinterpret_cast<float*>(into.data());
    read_elements(narrow.dtype, narrow.bytes.data(), 0,
                  std::span<float>(to, into.size() / sizeof(float)));
    return {};
  };
  Constant wide = defer_large(DType::kF32, narrow.dims, {narrow}, fill, stored);
  wide.is_half = narrow.dtype == DType::kF16;
  return wide;
}

/// Rewrites the nodes of a graph in order.
class HalfWidener {
 public:
  HalfWidener(Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), names_(graph) {}

  int run() {
    const IdVector<NodeId, Node> old = std::move(graph_.nodes);
    graph_.nodes = {};
    for (const Node& node : old) {
      if (computes_halves(node)) {
        convert(node);
      } else {
        for (const ValueId input : node.inputs) need_narrow(input);
        append(node);
      }
    }
    for (const ValueId output : graph_.outputs) need_narrow(output);
    return changes_;
  }

 private:
  bool computes_halves(const Node& node) const {
    if (!follows_inputs(node.op) || (context_.closed && context_.closed->contains(node.name)))
      return false;
    if (looks_up_constant(graph_, node)) return false;
    const auto half = [this](ValueId id) { return id.valid() && is_half(graph_.values[id].dtype); };
    return std::ranges::any_of(node.inputs, half) && std::ranges::any_of(node.outputs, half);
  }

  void append(Node node) { graph_.nodes.push_back(std::move(node)); }

  ValueId wide_value(ValueId narrow) {
    Value value;
    value.name = names_.make(graph_.values[narrow].name + "/f32");
    value.dtype = DType::kF32;
    value.shape = graph_.values[narrow].shape;
    return graph_.values.push_back(std::move(value));
  }

  void append_cast(ValueId from, ValueId to) {
    Node node;
    node.op = OpKind::kCast;
    node.name = names_.make(graph_.values[to].name + "/cast");
    set_param(node, &CastParams::to, info_of(graph_.values[to].dtype).onnx);
    node.inputs = {from};
    node.outputs = {to};
    append(std::move(node));
  }

  void convert(Node node) {
    for (ValueId& input : node.inputs)
      if (input.valid() && is_half(graph_.values[input].dtype)) input = wide(input);
    for (ValueId& output : node.outputs) {
      if (!output.valid() || !is_half(graph_.values[output].dtype)) continue;
      const ValueId narrow = output;
      output = wide_value(narrow);
      place(narrow).wide = output;
      place(narrow).only_wide = true;
    }
    append(std::move(node));
    ++changes_;
  }

  /// Returns the f32 form of a value, created if it is missing.
  ValueId wide(ValueId narrow) {
    if (place(narrow).wide.valid()) return place(narrow).wide;
    const auto& constant = graph_.values[narrow].constant;
    if (constant &&
        can_charge(*context_.quota, 2 * std::ssize(constant->bytes), weight_bytes(*constant))) {
      Constant made = widened_constant(*constant);
      charge(context_.quota, made, weight_bytes(*constant));
      const std::string name = graph_.values[narrow].name + "/f32";
      return place(narrow).wide = add_constant(graph_, names_, name, std::move(made));
    }
    const ValueId to = wide_value(narrow);
    append_cast(narrow, to);
    return place(narrow).wide = to;
  }

  /// Something reads the value itself.
  void need_narrow(ValueId id) {
    if (!id.valid() || !std::exchange(place(id).only_wide, false)) return;
    append_cast(place(id).wide, id);
  }

  struct Forms {
    ValueId wide;
    bool only_wide = false;  ///< no node computes the narrow value
  };
  Forms& place(ValueId id) {
    if (forms_.size() < graph_.values.size()) forms_.resize(graph_.values.size());
    return forms_[id];
  }

  Graph& graph_;
  const PassContext& context_;
  UniqueNames names_;
  IdVector<ValueId, Forms> forms_;
  int changes_ = 0;
};

}  // namespace

Result<int> widen_halves(Graph& graph, const PassContext& context) {
  const bool any =
      std::ranges::any_of(graph.values, [](const Value& value) { return is_half(value.dtype); });
  if (!any) return 0;
  const int changes = HalfWidener(graph, context).run();
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
