// GroupQueryAttention: heads of keys and values that several queries share, and a cache of them.
#include <algorithm>

#include "base/status.h"
#include "load/onnx/normalize/microsoft_attention.h"

namespace parallax {
namespace {

/// Each head as often as queries share it.
ValueId repeated_heads(Rewriting& to, ValueId x, std::int64_t times, std::int64_t heads) {
  if (times == 1) return x;
  const ValueId many = to.op(OpKind::kExpand, {to.unsqueeze(x, {2}), to.ints({1, 1, times, 1, 1})});
  const ValueId shape = to.concat({to.dim(x, 0), to.ints({heads}), to.dim(x, 2), to.dim(x, 3)}, 0);
  return to.op(OpKind::kReshape, {many, shape});
}

/// The cache of GroupQueryAttention: keys and values of a sample begin at its index 0,
/// and behind those of the past there may be room.
struct SharedCache {
  ValueId past;    ///< number of keys of each sample; invalid: no cache
  ValueId total;   ///< the most that there are afterwards: [1]
  ValueId length;  ///< length of the cache afterwards: [1]
};

/// seqlens_k is one less than how many each sample has afterwards, total_sequence_length the most
/// of them. A cache that is too short grows, by the new ones at most: what is then beyond its end,
/// TensorScatter refuses.
SharedCache shared_cache(Rewriting& to, ValueId query) {
  if (!to.has(3)) return {};
  const ValueId last = to.reshape(to.cast_to(to.need(5), DType::kI64), {-1});
  const ValueId total = to.reshape(to.cast_to(to.need(6), DType::kI64), {1});
  const ValueId added = to.dim(query, 1), there = to.dim(to.in(3), 2);
  // A prompt may be padded at its end.
  const ValueId past =
      to.op(OpKind::kMax, {to.sub(to.add(last, to.int_number(1)), added), to.int_number(0)});
  const ValueId longest = to.op(OpKind::kMin, {total, to.add(there, added)});
  return {past, total, to.op(OpKind::kMax, {there, longest})};
}

/// The cache with `x` behind what each sample has, which becomes a result.
ValueId in_cache(Rewriting& to, const SharedCache& cache, ValueId past, ValueId x,
                 std::size_t output) {
  ValueId all = x;
  if (cache.past.valid()) {
    const ValueId room = to.sub(cache.length, to.dim(past, 2));
    const ValueId pads = to.concat({to.ints({0, 0, 0, 0, 0, 0}), room, to.ints({0})}, 0);
    all = to.op(OpKind::kTensorScatter, {to.op(OpKind::kPad, {past, pads}), x, cache.past});
  }
  to.output(output, all);
  return all;
}

/// Without the room at the end, of which a bias has nothing.
ValueId used_part(Rewriting& to, const SharedCache& cache, ValueId x) {
  if (!cache.past.valid()) return x;
  return to.op(OpKind::kSlice, {x, to.ints({0}), cache.total, to.ints({2})});
}

void refuse_unknown_forms(Rewriting& to) {
  if (to.take_int("smooth_softmax", 0) > 0) to.refuse("smooth_softmax is not supported");
  expect_off(to, "qk_output");
  expect_off(to, "kv_cache_bit_width");
  expect_off(to, "sliding_window_cache");
  to.take_float("qk_norm_epsilon", 0);
  for (const char* name : {"k_quant_type", "v_quant_type"})
    if (to.take_string(name, "NONE") != "NONE") to.refuse("a quantised cache is not supported");
  for (std::size_t i = 11; i < to.inputs(); ++i) expect_absent(to, i, "from 11 on");
}

/// Queries, keys and values, which may lie side by side.
std::vector<ValueId> query_key_value(Rewriting& to, std::int64_t heads, std::int64_t shared) {
  if (to.has(1)) return {to.need(0), to.in(1), to.need(2)};
  const ValueId packed = to.need(0);
  const std::int64_t width = to.dimension(packed, 2), all = heads + 2 * shared;
  if (width < 0 || width % all != 0) to.refuse("packed heads must have a known size");
  const std::int64_t size = width / all;
  return to.ops(OpKind::kSplit, {packed, to.ints({heads * size, shared * size, shared * size})},
                with_axis(-1), 3);
}

}  // namespace

Status rewrite_ms_group_query_attention(FileNode& file) {
  Rewriting to(file);
  const std::int64_t heads = take_heads(to, "num_heads");
  const std::int64_t shared = take_heads(to, "kv_num_heads");
  AttentionParts parts;
  parts.causal = to.take_int("causal", 1) != 0;
  parts.scale = to.take_float("scale", 0);
  parts.softcap = to.take_float("softcap", 0);
  parts.window = to.take_int("local_window_size", -1);
  const bool rotary = to.take_int("do_rotary", 0) != 0;
  const bool interleaved = to.take_int("rotary_interleaved", 0) != 0;
  refuse_unknown_forms(to);
  if (!parts.causal && to.has(3)) to.refuse("a cache without causal is not supported");
  if (!to.failed() && heads % shared != 0) to.invalid("num_heads must be a multiple");
  if (to.failed()) return to.finish();

  const std::vector<ValueId> qkv = query_key_value(to, heads, shared);
  const SharedCache cache = shared_cache(to, qkv[0]);
  parts.query = split_heads(to, qkv[0], heads);
  ValueId key = split_heads(to, qkv[1], shared);
  if (cache.past.valid()) parts.past = to.reshape(cache.past, {-1, 1, 1, 1});
  if (rotary) {
    ValueId positions = to.in(9);
    if (!positions.valid()) {
      positions = counted(to, to.dim(qkv[0], 1));
      if (cache.past.valid()) positions = to.add(to.reshape(cache.past, {-1, 1}), positions);
    }
    Rotation rotation = rotation_at(to, to.need(7), to.need(8), positions);
    rotation.interleaved = interleaved;
    rotation.rotated = 2 * std::max<std::int64_t>(to.dimension(to.in(7), 1), 0);
    parts.query = rotate(to, parts.query, rotation);
    key = rotate(to, key, rotation);
  }
  ValueId value = split_heads(to, qkv[2], shared);
  key = in_cache(to, cache, to.in(3), key, 1);
  value = in_cache(to, cache, to.in(4), value, 2);
  if (to.has(10)) {
    parts.biases.push_back(to.in(10));
    key = used_part(to, cache, key);
    value = used_part(to, cache, value);
  }
  parts.key = repeated_heads(to, key, heads / shared, heads);
  parts.value = repeated_heads(to, value, heads / shared, heads);
  to.result(write_attention(to, parts));
  return to.finish();
}

}  // namespace parallax
