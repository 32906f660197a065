#include "lower/patterns/unit_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/op.h"
#include "ops/params/movement.h"
#include "ops/params/reduce.h"

namespace parallax {
namespace {

const std::vector<std::int64_t> kSwapHeads = {0, 2, 1, 3}, kSwapLast = {0, 1, 3, 2},
                                kHeadsToColumns = {0, 2, 3, 1};

bool is_transpose(const Node& node, const std::vector<std::int64_t>& perm) {
  return node.op == OpKind::kTranspose && params_of<TransposeParams>(node).perm == perm;
}

}  // namespace

bool swaps_heads(const Node& node) { return is_transpose(node, kSwapHeads); }

ValueId before_swap(const Graph& graph, ValueId value) {
  const Node* node = produced_by(graph, value, OpKind::kTranspose);
  return node != nullptr && swaps_heads(*node) ? node->inputs[0] : ValueId{};
}

std::optional<UnitVectors::Unit> UnitVectors::heads(ValueId value) const {
  if (auto unit = unit_vectors(value)) {
    unit->x = before_swap(graph_, unit->x);
    return unit->x.valid() ? unit : std::nullopt;
  }
  const Node* turned = inner_node(value, OpKind::kTranspose);
  const bool heads = turned != nullptr && swaps_heads(*turned);
  return heads ? unit_vectors(turned->inputs[0]) : std::nullopt;
}

std::optional<UnitVectors::Unit> UnitVectors::columns(ValueId value) const {
  const Node* turned = inner_node(value, OpKind::kTranspose);
  if (turned == nullptr) return std::nullopt;
  if (is_transpose(*turned, kSwapLast)) return heads(turned->inputs[0]);
  return is_transpose(*turned, kHeadsToColumns) ? unit_vectors(turned->inputs[0]) : std::nullopt;
}

/// Returns the x of x / max(|x|, epsilon), or of x times the reciprocal.
std::optional<UnitVectors::Unit> UnitVectors::unit_vectors(ValueId value) const {
  if (const Node* div = inner_node(value, OpKind::kDiv))
    return unit_of(div->inputs[0], div->inputs[1], graph_.values[value].shape);
  const Node* product = inner_node(value, OpKind::kMul);
  if (product == nullptr) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const ValueId length = inverted(without_expand(product->inputs[1 - side]));
    if (!length.valid()) continue;
    if (auto unit = unit_of(product->inputs[side], length, graph_.values[value].shape)) return unit;
  }
  return std::nullopt;
}

std::optional<UnitVectors::Unit> UnitVectors::unit_of(ValueId x, ValueId length,
                                                      const Shape& shape) const {
  if (graph_.values[x].shape != shape) return std::nullopt;
  Unit unit{x, 0};
  length = without_lower_bound(without_expand(length), unit.epsilon);
  if (const Node* turned = inner_node(length, OpKind::kTranspose)) {
    length = swaps_heads(*turned) ? turned->inputs[0] : length;
    x = before_swap(graph_, x);
  }
  const Node* norm = inner_node(length, OpKind::kReduceL2);
  if (norm != nullptr)
    return norm->inputs[0] == x && is_last_axis(*norm) ? std::optional(unit) : std::nullopt;
  const Node* root = inner_node(length, OpKind::kSqrt);
  if (root == nullptr) return std::nullopt;
  float least_square = 0;
  const ValueId sum = without_lower_bound(root->inputs[0], least_square);
  const Node* squares = inner_node(sum, OpKind::kReduceSum);
  if (squares == nullptr || !is_last_axis(*squares) || !is_square(squares->inputs[0], x))
    return std::nullopt;
  unit.epsilon = std::max(unit.epsilon, std::sqrt(least_square));
  return unit;
}

ValueId UnitVectors::without_expand(ValueId value) const {
  const Node* expand = inner_node(value, OpKind::kExpand);
  return expand == nullptr ? value : expand->inputs[0];
}

/// Returns the y of 1 / y.
ValueId UnitVectors::inverted(ValueId value) const {
  if (const Node* node = inner_node(value, OpKind::kReciprocal)) return node->inputs[0];
  const Node* node = inner_node(value, OpKind::kDiv);
  const bool of_one = node != nullptr && scalar_constant(graph_, node->inputs[0]) == 1.0F;
  return of_one ? node->inputs[1] : ValueId{};
}

/// Returns the operand of a Clip or Max with a lower bound, which goes to `low`; `value` itself,
/// with `low` unchanged, if it is neither.
ValueId UnitVectors::without_lower_bound(ValueId value, float& low) const {
  const auto take = [&](ValueId bound) {
    const auto number = scalar_constant(graph_, bound);
    if (number && *number >= 0) low = *number;
    return number && *number >= 0;
  };
  if (const Node* clip = inner_node(value, OpKind::kClip)) {
    const bool high = clip->inputs.size() > 2 && clip->inputs[2].valid();
    return !high && clip->inputs.size() > 1 && take(clip->inputs[1]) ? clip->inputs[0] : value;
  }
  const Node* most = inner_node(value, OpKind::kMax);
  if (most == nullptr || most->inputs.size() != 2) return value;
  for (const std::size_t side : {0U, 1U})
    if (graph_.values[most->inputs[side]].shape == graph_.values[value].shape &&
        take(most->inputs[1 - side]))
      return most->inputs[side];
  return value;
}

bool UnitVectors::is_square(ValueId value, ValueId x) const {
  if (const Node* product = inner_node(value, OpKind::kMul)) {
    const Node* size = inner_node(product->inputs[0], OpKind::kAbs);
    const ValueId factor = size == nullptr ? product->inputs[0] : size->inputs[0];
    return product->inputs[0] == product->inputs[1] && factor == x;
  }
  const Node* power = inner_node(value, OpKind::kPow);
  return power != nullptr && power->inputs[0] == x &&
         scalar_constant(graph_, power->inputs[1]) == 2.0F;
}

/// Returns true if the reduction is along the last of four axes and keeps it.
bool UnitVectors::is_last_axis(const Node& node) const {
  if (!params_of<ReduceParams>(node).keepdims || node.inputs.size() < 2 || !node.inputs[1].valid())
    return false;
  const auto& axes = graph_.values[node.inputs[1]].constant;
  const auto known = axes ? integers(*axes, 1) : std::nullopt;
  return known && known->size() == 1 && (known->front() == -1 || known->front() == 3);
}

}  // namespace parallax
