// Turns Transposes around FusedAttention, and numbers by which Q or K is multiplied or divided
// before them, into its attributes: the kernel accesses its operands by strides.
//
//     Transpose(FusedAttention(Transpose(Reshape(Mul(q, number))), Transpose(k), Transpose(v)))
//
// becomes FusedAttention(Reshape(q), k, v) with another scale and permutations.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/cpu/lower.h"
#include "lower/patterns/fuse_util.h"
#include "ops/params/fused_attention.h"
#include "ops/params/movement.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

using Perm = std::vector<std::int64_t>;

/// Returns the permutation of a Transpose, explicit or default.
Perm perm_of(const Graph& graph, const Node& transpose) {
  const auto rank = static_cast<std::int64_t>(graph.values[transpose.inputs[0]].shape.size());
  Perm perm = params_of<TransposeParams>(transpose).perm;
  if (perm.empty())
    for (std::int64_t axis = rank; axis-- > 0;) perm.push_back(axis);
  return perm;
}

/// Returns the permutation of transposing by `first` and then by `second`; an empty permutation is
/// the identity.
Perm composed(const Perm& first, const Perm& second) {
  if (second.empty()) return first;
  Perm perm;
  for (const std::int64_t axis : second) perm.push_back(first[static_cast<std::size_t>(axis)]);
  return perm;
}

/// Returns true if the innermost stored axis stays the innermost, or for K, whose columns kernels
/// can also read, becomes the last but one.
bool keeps_rows(const Perm& perm, bool columns_too) {
  const auto last = static_cast<std::int64_t>(perm.size()) - 1;
  if (last < 1) return false;
  return perm.back() == last || (columns_too && perm[perm.size() - 2] == last);
}

class Absorber {
 public:
  Absorber(Graph& graph, const PassContext& context)
      : graph_(graph), readers_(graph), context_(context) {}

  /// Transposes before the attention.
  int absorb_operands(NodeId id) {
    int changes = 0;
    for (std::size_t i = 0; i < kAttentionPerms.size(); ++i) {
      // The number first: it may stand between two transposes.
      if (i < 2 && absorb_factor(graph_.nodes[id], i)) ++changes;
      if (absorb_operand(graph_.nodes[id], i)) ++changes;
    }
    return changes;
  }

  /// Absorbs a Transpose of an attention's result into the attention.
  bool absorb_result(NodeId id) {
    const Node& transpose = graph_.nodes[id];
    const Node* attention = produced_by(graph_, transpose.inputs[0], OpKind::kFusedAttention);
    if (attention == nullptr || !params_of<FusedAttentionParams>(*attention).y_perm.empty())
      return false;
    const Perm perm = perm_of(graph_, transpose);
    if (!readers_.single(transpose.inputs[0])) return missed(kReadElsewhere, transpose);
    if (!keeps_rows(perm, false)) return missed(kTurnsRows, transpose);
    Attributes attributes = attention->attributes;
    set_param(attributes, &FusedAttentionParams::y_perm, perm);
    rewrite_node(graph_, id, OpKind::kFusedAttention, attention->inputs, std::move(attributes));
    return true;
  }

 private:
  static constexpr std::string_view kReadElsewhere = "something else reads what is transposed",
                                    kTurnsRows = "rows would not stay together";
  bool missed(std::string_view why, const Node& node) const {
    context_.missed(why, node);
    return false;
  }

  /// Returns the node that computes `value` if it has no other reader: only then does absorbing
  /// save it.
  const Node* inner_node(ValueId value, OpKind kind) const {
    return readers_.single(value) ? produced_by(graph_, value, kind) : nullptr;
  }

  bool absorb_operand(Node& attention, std::size_t i) {
    Perm perm = params_of<FusedAttentionParams>(attention).*kAttentionPerms[i];
    ValueId operand = attention.inputs[i];
    std::optional<std::pair<ValueId, Perm>> best;
    while (const Node* transpose = inner_node(operand, OpKind::kTranspose)) {
      perm = composed(perm_of(graph_, *transpose), perm);
      operand = transpose->inputs[0];
      if (keeps_rows(perm, i == 1)) best = {operand, perm};
    }
    if (!best) {
      if (operand != attention.inputs[i]) return missed(kTurnsRows, attention);
      if (produced_by(graph_, operand, OpKind::kTranspose) != nullptr)
        return missed(kReadElsewhere, attention);
      return false;
    }
    attention.inputs[i] = best->first;
    set_param(attention, kAttentionPerms[i], best->second);
    return true;
  }

  /// Absorbs a number by which all of Q or K is multiplied; nodes in between only move elements.
  bool absorb_factor(Node& attention, std::size_t i) {
    // Another operand that is the same value would lose the factor too.
    if (std::ranges::count(attention.inputs, attention.inputs[i]) != 1) return false;
    ValueId* reads = &attention.inputs[i];
    while (true) {
      const ValueId value = *reads;
      if (!readers_.single(value)) return false;
      if (const auto product = factor_of(value)) {
        const float scale = params_of<FusedAttentionParams>(attention).scale;
        set_param(attention, &FusedAttentionParams::scale, scale * product->second);
        *reads = product->first;
        return true;
      }
      Node* mover = moving_node(value);
      if (mover == nullptr) return false;
      reads = &mover->inputs[0];
    }
  }

  /// Returns the x and the number of x * number, or of x / (1 / number), of the same shape.
  std::optional<std::pair<ValueId, float>> factor_of(ValueId value) const {
    for (const OpKind kind : {OpKind::kMul, OpKind::kDiv}) {
      const Node* product = produced_by(graph_, value, kind);
      if (product == nullptr) continue;
      for (const std::size_t side : {0U, 1U}) {
        const ValueId x = product->inputs[side];
        const auto number = scalar_constant(graph_, product->inputs[1 - side]);
        if (!number || graph_.values[x].shape != graph_.values[value].shape) continue;
        if (kind == OpKind::kMul) return std::pair(x, *number);
        if (side == 0 && std::isfinite(1.0F / *number)) return std::pair(x, 1.0F / *number);
      }
    }
    return std::nullopt;
  }

  /// Returns the Reshape or Transpose that computes `value`.
  Node* moving_node(ValueId value) {
    for (const OpKind kind : {OpKind::kReshape, OpKind::kTranspose}) {
      if (produced_by(graph_, value, kind) != nullptr)
        return &graph_.nodes[graph_.values[value].producer];
    }
    return nullptr;
  }

  Graph& graph_;
  Readers readers_;
  const PassContext& context_;
};

}  // namespace

Result<int> absorb_transposes(Graph& graph, const PassContext& context) {
  Absorber absorber(graph, context);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    if (graph.nodes[id].op == OpKind::kFusedAttention) changes += absorber.absorb_operands(id);
    if (graph.nodes[id].op == OpKind::kTranspose && absorber.absorb_result(id)) ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
