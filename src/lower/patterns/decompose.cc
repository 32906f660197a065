#include "lower/patterns/decompose.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status.h"
#include "lower/patterns/patterns.h"
#include "ops/infer.h"
#include "ops/params/movement.h"
#include "ops/params/window.h"
#include "ops/quantised.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

bool has_input(const Node& node, std::size_t i) {
  return i < node.inputs.size() && node.inputs[i].valid();
}

/// The outermost first: an activation is applied behind a bias, and steps of chains may be fused.
constexpr Decomposition kPatterns[] = {
    {"ElementwiseChain", [](const Node& node) { return node.op == OpKind::kElementwiseChain; },
     decompose_chain},
    // Not of bytes, which are quantised behind it.
    {"activation",
     [](const Node& node) { return node.epilogue.activation && !is_requantised(node); },
     decompose_activation},
    {"MatMul bias",
     [](const Node& node) { return node.op == OpKind::kMatMul && has_input(node, 2); },
     decompose_matmul_bias},
    {"Silu", [](const Node& node) { return node.op == OpKind::kSilu; }, decompose_silu},
    {"FusedAttention", [](const Node& node) { return node.op == OpKind::kFusedAttention; },
     decompose_attention},
    {"CosineAttention", [](const Node& node) { return node.op == OpKind::kCosineAttention; },
     decompose_cosine_attention},
    {"LayerNormalization residual",
     [](const Node& node) { return node.op == OpKind::kLayerNormalization && has_input(node, 3); },
     decompose_norm_residual},
    {"Conv residual",
     [](const Node& node) { return node.op == OpKind::kConv && has_input(node, kConvResidual); },
     decompose_conv_residual},
};

/// Replaces, once, each node to which one of `forms` applies. Returns their number.
int decompose_once(Graph& graph, std::span<const Decomposition> forms, UniqueNames& names) {
  IdVector<NodeId, Node> nodes;
  int changes = 0;
  for (Node& node : graph.nodes) {
    const auto form =
        std::ranges::find_if(forms, [&](const Decomposition& one) { return one.applies(node); });
    if (form == forms.end()) {
      nodes.push_back(std::move(node));
      continue;
    }
    ++changes;
    Parts parts(graph, names, std::move(node));
    form->write(parts);
    for (Node& part : parts.take()) nodes.push_back(std::move(part));
  }
  graph.nodes = std::move(nodes);
  return changes;
}

}  // namespace

ValueId Parts::op(OpKind kind, std::vector<ValueId> inputs, Attributes attributes) {
  Value value;
  value.name = names_.make(node_.name + "/" + std::string(to_string(kind)));
  const std::string name = value.name;
  const ValueId output = graph_.values.push_back(std::move(value));
  nodes_.push_back({name, kind, std::move(attributes), std::move(inputs), {output}});
  return output;
}

void Parts::result(OpKind kind, std::vector<ValueId> inputs, Attributes attributes) {
  nodes_.push_back({node_.name, kind, std::move(attributes), std::move(inputs), node_.outputs});
}

ValueId Parts::output(std::size_t o, OpKind kind, std::vector<ValueId> inputs,
                      Attributes attributes) {
  const std::string name =
      o == 0 ? node_.name : names_.make(node_.name + "/" + std::string(to_string(kind)));
  const ValueId output = node_.outputs[o];
  nodes_.push_back({name, kind, std::move(attributes), std::move(inputs), {output}});
  return output;
}

ValueId Parts::number(float x) {
  return add_constant(graph_, names_, node_.name + "/number", make_f32({}, {x}));
}

ValueId Parts::constant(Constant elements) {
  return add_constant(graph_, names_, node_.name + "/constant", std::move(elements));
}

ValueId Parts::ints(const std::vector<std::int64_t>& elements) {
  return add_constant(graph_, names_, node_.name + "/ints", make_i64(elements));
}

ValueId Parts::transposed(ValueId value, std::vector<std::int64_t> perm) {
  Attributes attributes;
  set_param(attributes, &TransposeParams::perm, std::move(perm));
  return op(OpKind::kTranspose, {value}, std::move(attributes));
}

std::vector<ValueId> Parts::reshape_inputs(ValueId value, const Shape& shape) {
  std::vector<std::int64_t> numbers;
  for (const Expr& size : shape)
    if (const auto number = size.constant()) numbers.push_back(*number);
  if (numbers.size() == shape.size()) return {value, ints(numbers)};
  Value sizes;
  sizes.name = names_.make(node_.name + "/shape");
  sizes.kind = ValueKind::kSymbolic;
  sizes.dtype = DType::kI64;
  sizes.shape = {Expr(static_cast<std::int64_t>(shape.size()))};
  sizes.content = shape;
  return {value, graph_.values.push_back(std::move(sizes))};
}

Attributes Parts::exact_shape() {
  Attributes attributes;
  set_param(attributes, &ReshapeParams::allowzero, true);
  return attributes;
}

void put_parts(Graph& graph, std::vector<ReplacedNode> replaced) {
  IdVector<NodeId, Node> nodes;
  auto next = replaced.begin();
  for (const NodeId id : graph.nodes.ids()) {
    if (next == replaced.end() || next->node != id) {
      nodes.push_back(std::move(graph.nodes[id]));
      continue;
    }
    for (Node& part : next->parts) nodes.push_back(std::move(part));
    ++next;
  }
  graph.nodes = std::move(nodes);
  erase_unused(graph);
}

std::span<const Decomposition> pattern_decompositions() { return kPatterns; }

Result<int> decompose(Graph& graph, std::span<const Decomposition> forms) {
  UniqueNames names(graph);
  int changes = 0;
  while (const int once = decompose_once(graph, forms, names)) {
    changes += once;
    erase_unused(graph);
    PX_RETURN_IF_ERROR(infer_graph(graph));
  }
  return changes;
}

}  // namespace parallax
