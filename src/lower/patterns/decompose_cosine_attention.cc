// Decomposes CosineAttention into the operators that fuse_cosine_attention.cc matches.
#include <cstdint>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "ops/params/attention.h"
#include "ops/params/movement.h"

namespace parallax {
namespace {

const std::vector<std::int64_t> kHeadsFirst = {0, 2, 1, 3}, kColumnsFirst = {0, 1, 3, 2};

/// Returns x / max(|x|, epsilon) along the last axis.
ValueId unit_vectors(Parts& parts, ValueId x) {
  ValueId length = parts.op(OpKind::kReduceL2, {x, parts.ints({-1})});
  const float epsilon = params_of<CosineAttentionParams>(parts.node()).epsilon;
  // Not Clip, which makes infinity the greatest finite number if it has no upper bound.
  if (epsilon != 0) length = parts.op(OpKind::kMax, {length, parts.number(epsilon)});
  return parts.op(OpKind::kDiv, {x, length});
}

/// Adds masks [masks, queries, keys] to scores [batches, heads, queries, keys]; batches use them in
/// turn.
ValueId add_masks(Parts& parts, ValueId scores, ValueId masks) {
  const auto part_of_shape = [&](ValueId value, std::int64_t start, std::int64_t end) {
    Attributes attributes;
    set_param(attributes, &ShapeParams::start, start);
    set_param(attributes, &ShapeParams::end, end);
    return parts.op(OpKind::kShape, {value}, std::move(attributes));
  };
  const auto reshaped = [&](ValueId value, ValueId shape) {
    Attributes attributes;
    set_param(attributes, &ReshapeParams::allowzero, true);
    return parts.op(OpKind::kReshape, {value, shape}, std::move(attributes));
  };
  const ValueId count = part_of_shape(masks, 0, 1);
  const ValueId rounds = parts.op(OpKind::kDiv, {part_of_shape(scores, 0, 1), count});
  Attributes along;
  set_param(along, &AxisParams<0>::axis, 0);
  const ValueId split =
      parts.op(OpKind::kConcat, {rounds, count, part_of_shape(scores, 1, 4)}, std::move(along));
  const ValueId mask = parts.op(OpKind::kUnsqueeze, {masks, parts.ints({1})});
  const ValueId sum = parts.op(OpKind::kAdd, {reshaped(scores, split), mask});
  return reshaped(sum, part_of_shape(scores, 0, 4));
}

}  // namespace

void decompose_cosine_attention(Parts& parts) {
  const ValueId q = unit_vectors(parts, parts.transposed(parts.input(0), kHeadsFirst));
  const ValueId k = unit_vectors(parts, parts.transposed(parts.input(1), kHeadsFirst));
  const ValueId v = parts.transposed(parts.input(2), kHeadsFirst);
  const ValueId scale = parts.op(OpKind::kUnsqueeze, {parts.input(3), parts.ints({1, 2})});
  ValueId scores = parts.op(OpKind::kMatMul, {q, parts.transposed(k, kColumnsFirst)});
  scores = parts.op(OpKind::kMul, {scores, scale});
  if (parts.has(4)) scores = parts.op(OpKind::kAdd, {scores, parts.input(4)});
  if (parts.has(5)) scores = add_masks(parts, scores, parts.input(5));
  Attributes swapped;
  set_param(swapped, &TransposeParams::perm, kHeadsFirst);
  const ValueId y = parts.op(OpKind::kMatMul, {parts.op(OpKind::kSoftmax, {scores}), v});
  parts.result(OpKind::kTranspose, {y}, std::move(swapped));
}

}  // namespace parallax
