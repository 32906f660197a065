// Turns CastLike into Cast. Removes nodes whose result is their first input, element for element,
// whatever sizes are bound, and repetitions of elements for operators that broadcast anyway.
#include <algorithm>

#include "ops/op.h"
#include "ops/params/movement.h"
#include "ops/params/numbers.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

/// Returns the elements of a small integer input as expressions; nullopt if they are not known.
Content elements(const Graph& graph, const Node& node, std::size_t i) {
  if (i >= node.inputs.size() || !node.inputs[i].valid()) return std::nullopt;
  const Value& value = graph.values[node.inputs[i]];
  if (value.content) return value.content;
  if (!value.constant) return std::nullopt;
  const auto numbers = integers(*value.constant, kMaxContent);
  if (!numbers) return std::nullopt;
  return std::vector<Expr>(numbers->begin(), numbers->end());
}

bool has(const Node& node, std::size_t i) {
  return i < node.inputs.size() && node.inputs[i].valid();
}

/// Returns whether input i exists and all its elements are known to be `number`.
bool all_are(const Graph& graph, const Node& node, std::size_t i, std::int64_t number) {
  const auto known = elements(graph, node, i);
  return known && std::ranges::all_of(*known, [&](const Expr& e) { return e == Expr(number); });
}

/// Inference assumes that dimensions that it cannot compare are equal; here they must be known to
/// be.
bool expands_nothing(const Graph& graph, const Node& node) {
  const auto target = elements(graph, node, 1);
  const Shape& shape = graph.values[node.inputs[0]].shape;
  if (!target || target->size() > shape.size()) return false;
  const std::size_t skipped = shape.size() - target->size();
  for (std::size_t i = 0; i < target->size(); ++i) {
    if ((*target)[i] != Expr(1) && (*target)[i] != shape[skipped + i]) return false;
  }
  return true;
}

bool is_identity(const std::vector<std::int64_t>& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  }
  return !perm.empty();
}

/// Returns whether a node leaves its first input unchanged. REQUIRES: its first output has the same
/// dtype and shape.
bool keeps_elements(const Graph& graph, const Node& node) {
  switch (node.op) {
    case OpKind::kIdentity:
    case OpKind::kCast:
    case OpKind::kReshape:
    case OpKind::kFlatten:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
      return true;
    case OpKind::kConcat:
      return node.inputs.size() == 1;
    case OpKind::kExpand:
      return expands_nothing(graph, node);
    case OpKind::kTranspose:
      return graph.values[node.inputs[0]].shape.size() < 2 ||
             is_identity(params_of<TransposeParams>(node).perm);
    case OpKind::kSlice:
      // A step of -1 would keep the shape too.
      return !has(node, 4) || all_are(graph, node, 4, 1);
    case OpKind::kPad:
      return all_are(graph, node, 1, 0);
    case OpKind::kTile:
      return all_are(graph, node, 1, 1);
    default:
      return false;
  }
}

bool does_nothing(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || !has(node, 0) || node.outputs.size() != 1) return false;
  if (!node.outputs[0].valid()) return false;
  const Value& input = graph.values[node.inputs[0]];
  const Value& output = graph.values[node.outputs[0]];
  return input.dtype == output.dtype && input.shape == output.shape && keeps_elements(graph, node);
}

/// Returns whether repeating adds no size that another operand does not have: `expanded` has the
/// dimensions of `other` or 1. Inference assumes that dimensions that it cannot compare are equal,
/// so those of the result are not sufficient.
bool broadcasts_to(const Shape& expanded, const Shape& other) {
  if (expanded.size() > other.size()) return false;
  const std::size_t skipped = other.size() - expanded.size();
  for (std::size_t i = 0; i < expanded.size(); ++i)
    if (expanded[i] != Expr(1) && expanded[i] != other[skipped + i]) return false;
  return true;
}

/// Makes an operator that broadcasts read the input of an Expand. Returns the number of changed
/// inputs.
int skip_expands(const Graph& graph, Node& node) {
  const OpDef& def = op_def(node.op);
  if (!def.elementwise || node.inputs.size() < 2) return 0;
  int changes = 0;
  for (ValueId& input : node.inputs) {
    if (!input.valid() || graph.values[input].kind != ValueKind::kResult) continue;
    const Node& expand = graph.nodes[graph.values[input].producer];
    if (expand.op != OpKind::kExpand) continue;
    const bool served = std::ranges::any_of(node.inputs, [&](ValueId other) {
      return other.valid() && other != input &&
             broadcasts_to(graph.values[input].shape, graph.values[other].shape);
    });
    if (!served) continue;
    input = expand.inputs[0];
    ++changes;
  }
  return changes;
}

bool becomes_cast(const Graph& graph, Node& node) {
  if (node.op != OpKind::kCastLike) return false;
  node.op = OpKind::kCast;
  set_param(node, &CastParams::to, info_of(graph.values[node.inputs[1]].dtype).onnx);
  node.inputs.resize(1);
  return true;
}

}  // namespace

Result<int> remove_no_ops(Graph& graph, const PassContext&) {
  Replacements replacements(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    Node& node = graph.nodes[id];
    replacements.apply(node);
    changes += becomes_cast(graph, node) ? 1 : 0;
    changes += skip_expands(graph, node);
    if (!does_nothing(graph, node)) continue;
    if (replacements.replace(node.outputs[0], node.inputs[0])) ++changes;
  }
  if (changes > 0) replacements.finish();
  return changes;
}

}  // namespace parallax
