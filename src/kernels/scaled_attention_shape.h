// Sizes of an Attention node and offsets in its tensors, for the kernels of every library. Pure.
// The node is ONNX's Attention; FusedAttention, which passes make of single operators, has
// kernels/cpu/attention/attention_shape.h. Read once, when the kernel is made; the values are
// copied into it.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"
#include "ops/params/attention.h"
#include "ops/scaled_attention.h"

namespace parallax {

/// Strides, in elements, of batches, heads and rows in a tensor [batch, heads, length, size] or
/// [batch, length, heads * size] ("packed"). The elements of a row are contiguous.
struct HeadRows {
  /// Distances in elements, all positive unless the tensor is empty.
  std::int64_t batch = 0, head = 0, row = 0;
  /// Offset of the first element of position `i` of head `h` in batch `b`. Indices are not checked.
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return b * batch + h * head + i * row;
  }
};
/// `size` is the number of elements of a row. Returns the strides of a dense tensor of one of these
/// two layouts.
inline HeadRows head_rows(bool packed, std::int64_t heads, std::int64_t length, std::int64_t size) {
  if (packed) return {length * heads * size, size, heads * size};
  return {heads * length * size, length * size, size};
}

/// Per head, Q is [queries, depth], K is [keys, depth], V is [keys, width], Y is [queries, width].
/// Y = softmax(scale * Q K^T, capped and masked) V. All sizes count elements.
struct ScaledAttentionShape {
  /// Attributes of the node; numbers of heads that it does not state are 0 here, but not below.
  AttentionParams params;
  /// Sequences, heads and positions of Q and Y, elements of a row of Q and K, those of V and Y.
  std::int64_t batch = 0, heads = 0, queries = 0, depth = 0, width = 0;
  /// `added` keys follow `past` ones. Heads of K and V divide `heads`. `past` is 0 if the inputs
  /// past_key and past_value are left out.
  std::int64_t kv_heads = 0, added = 0, past = 0;
  /// Strides of inputs and outputs. Past and present tensors are never packed. Past tensors are
  /// [batch, kv_heads, past, depth or width]; present ones have keys() rows, of which the first
  /// `past` are copies of the past.
  HeadRows q, k, v, y, past_k, past_v, present_k, present_v;

  /// Keys of a sequence, those in the cache included.
  std::int64_t keys() const { return past + added; }
  /// Factor of the scores: the attribute, or 1 / sqrt(depth). It is applied to the product before
  /// the cap and the mask.
  float scale() const { return params.scale.value_or(1 / std::sqrt(static_cast<float>(depth))); }
  /// Head of K and V that query head `head` reads: consecutive query heads share one. REQUIRES: 0
  /// <= head < heads.
  std::int64_t kv_head(std::int64_t head) const { return head / (heads / kv_heads); }
};

/// Reads the sizes of a node: tensors of rank 3 are packed, of rank 4 not. Packed tensors have
/// shape [batch, length, heads * size]; numbers of heads are attributes then. REQUIRES: shape
/// inference accepted it.
inline ScaledAttentionShape scaled_attention_shape(const KernelRequest& request) {
  using In = AttentionInput;
  const Dims& q = request.inputs[In::kQ].dims;
  const Dims& k = request.inputs[In::kK].dims;
  const Dims& v = request.inputs[In::kV].dims;
  const bool packed = q.rank() == 3;
  // Packed tensors of rank 3 need the attributes to state the number of heads.
  ScaledAttentionShape s;
  s.params = params_of<AttentionParams>(request.node);
  s.batch = q[0];
  s.heads = packed ? s.params.q_heads : q[1];
  s.kv_heads = packed ? s.params.kv_heads : k[1];
  s.queries = q[packed ? 1 : 2];
  s.added = k[packed ? 1 : 2];
  s.depth = packed ? q[2] / s.heads : q[3];
  s.width = packed ? v[2] / s.kv_heads : v[3];
  if (request.has(In::kPastKey)) s.past = request.inputs[In::kPastKey].dims[2];
  // Outputs have the layout of Q.
  s.q = head_rows(packed, s.heads, s.queries, s.depth);
  s.k = head_rows(packed, s.kv_heads, s.added, s.depth);
  s.v = head_rows(packed, s.kv_heads, s.added, s.width);
  s.y = head_rows(packed, s.heads, s.queries, s.width);
  s.past_k = head_rows(false, s.kv_heads, s.past, s.depth);
  s.past_v = head_rows(false, s.kv_heads, s.past, s.width);
  s.present_k = head_rows(false, s.kv_heads, s.keys(), s.depth);
  s.present_v = head_rows(false, s.kv_heads, s.keys(), s.width);
  return s;
}

/// Keys [begin, end) that a query sees. Indices count keys of the cache first; the range is empty
/// if begin == end.
struct KeyRange {
  std::int64_t begin = 0, end = 0;
};
/// Returns the keys that causality, the window and `length`, the sequence's valid keys, leave to
/// `query`; possibly an empty range. Returns nullopt if `length` is not in [0, s.keys()]. Causality
/// hides keys after the query's own position; the attributes left and right limit the distance in
/// both directions (-1: no limit). Callers report nullopt as an error of the input
/// nonpad_kv_seqlen.
inline std::optional<KeyRange> visible_keys(const ScaledAttentionShape& s,
                                            std::optional<std::int64_t> length,
                                            std::int64_t query) {
  // Lengths come from an input (nonpad_kv_seqlen), so they are checked here.
  if (length && (*length < 0 || *length > s.keys())) return std::nullopt;
  // Queries are the last positions of the valid keys.
  const std::int64_t offset = length ? *length - s.queries : s.past;
  // Keys up to `position` are the query's past, itself included.
  const std::int64_t position = offset + query;
  KeyRange range{0, length.value_or(s.keys())};
  const auto ends_at = [&](std::int64_t last) { range.end = std::min(range.end, last + 1); };
  if (s.params.causal) ends_at(position);
  if (s.params.right >= 0) ends_at(position + s.params.right);
  if (s.params.left >= 0) range.begin = std::max<std::int64_t>(0, position - s.params.left);
  // A query before the first valid key sees none.
  range.end = std::max<std::int64_t>(range.end, 0);
  range.begin = std::min(range.begin, range.end);
  return range;
}

}  // namespace parallax
