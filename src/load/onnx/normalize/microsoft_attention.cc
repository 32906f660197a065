// Attention as ONNX Runtime writes it, in products, Softmax and masks.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "load/onnx/normalize/microsoft_attention.h"

namespace parallax {
namespace {

/// The lowest finite number of a floating-point type of 16 bits; for others that of f32.
double lowest_of(DType dtype) {
  if (dtype == DType::kF16) return -65504;
  if (dtype == DType::kBF16) return -0x1.FEp127;
  return std::numeric_limits<float>::lowest();
}

/// For each query and key whether the query sees it.
ValueId visible(Rewriting& to, const AttentionParts& parts) {
  ValueId query = to.unsqueeze(counted(to, to.dim(parts.query, 2)), {1});
  if (parts.past.valid()) query = to.add(query, parts.past);
  const ValueId key = counted(to, to.dim(parts.key, 2));
  ValueId seen = to.op(OpKind::kLessOrEqual, {key, query});
  if (parts.window < 0) return seen;
  const ValueId since = to.sub(query, to.int_number(parts.window));
  return to.op(OpKind::kAnd, {seen, to.op(OpKind::kGreater, {key, since})});
}

/// The parts of a list of biases of queries, keys and values, each added to its own.
void add_biases(Rewriting& to, ValueId bias, std::vector<ValueId>& projected,
                const std::vector<ValueId>& like) {
  if (!bias.valid()) return;
  std::vector<ValueId> sizes;
  for (const ValueId x : like) sizes.push_back(to.dim(x, -1));
  const auto parts = to.ops(OpKind::kSplit, {bias, to.concat(sizes, 0)}, with_axis(0), like.size());
  for (std::size_t i = 0; i < like.size(); ++i) projected[i] = to.add(projected[i], parts[i]);
}

/// Keys or values behind those of the past, which become a result.
ValueId with_past(Rewriting& to, ValueId past, ValueId x, std::size_t output) {
  const ValueId all = past.valid() ? to.concat({past, x}, 2) : x;
  to.output(output, all);
  return all;
}

/// Attention of what `projected` holds: queries, keys and values side by side. `mask` and `past`
/// are numbers of inputs.
void attend(Rewriting& to, ValueId projected, std::size_t mask, std::size_t past) {
  const std::int64_t heads = take_heads(to, "num_heads");
  const auto sizes = to.take<std::vector<std::int64_t>>("qkv_hidden_sizes", {});
  AttentionParts parts;
  parts.causal = to.take_int("unidirectional", 0) != 0;
  parts.scale = to.take_float("scale", 0);
  const float filter = to.take_float("mask_filter_value", -10000);
  expect_off(to, "past_present_share_buffer");
  expect_off(to, "do_rotary");
  to.take_int("rotary_embedding_dim", 0);
  const bool equal = sizes.empty();
  const auto qkv = to.ops(
      OpKind::kSplit, equal ? std::vector{projected} : std::vector{projected, to.ints(sizes)},
      equal ? with_axis(-1, {{"num_outputs", std::int64_t{3}}}) : with_axis(-1), 3);
  parts.query = split_heads(to, qkv[0], heads);
  parts.key = split_heads(to, qkv[1], heads);
  parts.value = split_heads(to, qkv[2], heads);
  if (to.has(past)) {
    const auto before =
        to.ops(OpKind::kSplit, {to.in(past)}, attributes_of({{"num_outputs", std::int64_t{2}}}), 2);
    parts.past = to.dim(to.in(past), 3);
    parts.key = to.concat({to.squeeze(before[0], {0}), parts.key}, 2);
    parts.value = to.concat({to.squeeze(before[1], {0}), parts.value}, 2);
  }
  if (to.reads_output(1)) {
    to.output(1, OpKind::kConcat, {to.unsqueeze(parts.key, {0}), to.unsqueeze(parts.value, {0})},
              with_axis(0));
  }
  if (to.has(mask)) parts.biases.push_back(mask_bias(to, to.in(mask), parts.key, filter));
  if (past == 4 && to.has(5)) parts.biases.push_back(to.in(5));
  to.result(write_attention(to, parts));
}

}  // namespace

ValueId counted(Rewriting& to, ValueId length) {
  return to.op(OpKind::kRange, {to.int_number(0), to.reshape(length, {}), to.int_number(1)});
}

ValueId rotate(Rewriting& to, ValueId x, const Rotation& rotation) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  ValueId turned = x, rest;
  if (rotation.rotated > 0 && rotation.rotated != to.dimension(x, 3)) {
    turned = to.slice(x, 0, rotation.rotated, 3);
    rest = to.slice(x, rotation.rotated, kEnd, 3);
  }
  ValueId first, second;
  const Attributes halves = with_axis(-1, {{"num_outputs", std::int64_t{2}}});
  if (rotation.interleaved) {
    const auto pairs = to.ops(OpKind::kSplit, {to.reshape(turned, {0, 0, 0, -1, 2})}, halves, 2);
    first = to.squeeze(pairs[0], {-1});
    second = to.squeeze(pairs[1], {-1});
  } else {
    const auto parts = to.ops(OpKind::kSplit, {turned}, halves, 2);
    first = parts[0];
    second = parts[1];
  }
  const ValueId real = to.sub(to.mul(first, rotation.cos), to.mul(second, rotation.sin));
  const ValueId other = to.add(to.mul(first, rotation.sin), to.mul(second, rotation.cos));
  ValueId result;
  if (rotation.interleaved) {
    const ValueId pairs = to.concat({to.unsqueeze(real, {-1}), to.unsqueeze(other, {-1})}, -1);
    result = to.reshape_like(pairs, turned);
  } else {
    result = to.concat({real, other}, -1);
  }
  return rest.valid() ? to.concat({result, rest}, -1) : result;
}

Rotation rotation_at(Rewriting& to, ValueId cos, ValueId sin, ValueId positions) {
  Rotation rotation;
  rotation.cos = to.op(OpKind::kGather, {cos, positions});
  rotation.sin = to.op(OpKind::kGather, {sin, positions});
  if (to.rank(positions) == 2) {
    rotation.cos = to.unsqueeze(rotation.cos, {1});
    rotation.sin = to.unsqueeze(rotation.sin, {1});
  }
  return rotation;
}

std::int64_t take_heads(Rewriting& to, const char* name) {
  const std::int64_t heads = to.take_int(name, 0);
  constexpr std::int64_t kMax = 1 << 20;
  if (heads < 1 || heads > kMax) to.invalid(fmt::format("{} is out of range", name));
  return heads;
}

void expect_off(Rewriting& to, const char* name, std::int64_t off) {
  if (to.take_int(name, off) != off) to.refuse(fmt::format("{} is not supported", name));
}

void expect_absent(Rewriting& to, std::size_t input, const char* name) {
  if (to.has(input)) to.refuse(fmt::format("input {} is not supported", name));
}

ValueId split_heads(Rewriting& to, ValueId x, std::int64_t heads) {
  return to.transpose(to.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

ValueId mask_bias(Rewriting& to, ValueId mask, ValueId key, float filter) {
  const int rank = to.rank(mask);
  ValueId kept;
  if (rank == 1) {
    if (to.shape(mask)[0] != to.shape(key)[0]) to.refuse("this form of mask is not supported");
    const ValueId place = to.cast_to(counted(to, to.dim(key, 2)), to.dtype(mask));
    kept = to.cast(to.op(OpKind::kLess, {place, to.unsqueeze(mask, {1})}), to.dtype(key));
  } else {
    kept = to.cast_to(mask, to.dtype(key));
  }
  if (rank < 1 || rank > 3) to.refuse("a mask of this rank is not supported");
  // (1 - kept) * filter, where 0 times an infinity would be NaN.
  const double least = lowest_of(to.dtype(key));
  const ValueId bias =
      to.mul(to.sub(to.number(1, key), kept), std::max(static_cast<double>(filter), least));
  return rank == 3 ? to.unsqueeze(bias, {1}) : to.unsqueeze(bias, {1, 2});
}

ValueId write_attention(Rewriting& to, const AttentionParts& parts) {
  const ValueId query = parts.query;
  ValueId scores = to.op(OpKind::kMatMul, {query, to.transpose(parts.key, {0, 1, 3, 2})});
  if (parts.scale != 0) {
    scores = to.mul(scores, parts.scale);
  } else if (const std::int64_t size = to.dimension(query, 3); size > 0) {
    scores = to.mul(scores, 1 / std::sqrt(static_cast<double>(size)));
  } else {
    const ValueId root = to.op(OpKind::kSqrt, {to.cast(to.dim(query, 3), to.dtype(query))});
    scores = to.div(scores, root);
  }
  if (parts.softcap > 0) {
    scores = to.op(OpKind::kTanh, {to.mul(scores, 1.0 / parts.softcap)});
    scores = to.mul(scores, parts.softcap);
  }
  for (const ValueId bias : parts.biases) scores = to.add(scores, bias);
  if (parts.causal)
    scores = to.op(OpKind::kWhere,
                   {visible(to, parts), scores, to.number(lowest_of(to.dtype(scores)), scores)});
  const ValueId weights = to.op(OpKind::kSoftmax, {scores}, with_axis(-1));
  const ValueId heads = to.op(OpKind::kMatMul, {weights, parts.value});
  return to.reshape(to.transpose(heads, {0, 2, 1, 3}), {0, 0, -1});
}

Status rewrite_ms_attention(FileNode& file) {
  Rewriting to(file);
  expect_absent(to, 6, "past_sequence_length");
  ValueId projected = to.op(OpKind::kMatMul, {to.need(0), to.need(1)});
  if (to.has(2)) projected = to.add(projected, to.in(2));
  attend(to, projected, 3, 4);
  return to.finish();
}

/// The same with quantised input and weights.
Status rewrite_ms_q_attention(FileNode& file) {
  Rewriting to(file);
  const ValueId product =
      to.op(OpKind::kMatMulInteger, {to.need(0), to.need(1), to.in(6), to.in(7)});
  const ValueId scale = to.mul(to.need(3), to.need(4));
  const ValueId real = to.mul(to.cast(product, DType::kF32), scale);
  attend(to, to.add(real, to.need(2)), 5, 8);
  return to.finish();
}

Status rewrite_ms_multi_head_attention(FileNode& file) {
  Rewriting to(file);
  const std::int64_t heads = take_heads(to, "num_heads");
  AttentionParts parts;
  parts.causal = to.take_int("unidirectional", 0) != 0;
  parts.scale = to.take_float("scale", 0);
  const float filter = to.take_float("mask_filter_value", -10000);
  expect_absent(to, 8, "past_sequence_length");
  expect_absent(to, 9, "cache_indirection");
  const ValueId query = to.need(0);
  std::vector<ValueId> qkv;
  if (!to.has(1)) {  // [batch, length, heads, 3, size]
    const ValueId turned = to.transpose(query, {3, 0, 2, 1, 4});
    for (const ValueId part :
         to.ops(OpKind::kSplit, {turned}, attributes_of({{"num_outputs", std::int64_t{3}}}), 3))
      qkv.push_back(to.squeeze(part, {0}));
    if (to.has(3)) to.refuse("a bias of packed heads is not supported");
  } else if (to.rank(to.in(1)) == 5) {
    to.refuse("packed keys and values are not supported");
  } else {
    qkv = {query, to.in(1), to.need(2)};
    const bool split = to.rank(qkv[1]) == 4;  // keys and values of an encoder
    if (to.has(3) && split) to.refuse("a bias of heads is not supported");
    if (to.has(3)) add_biases(to, to.in(3), qkv, {query, to.in(1), to.need(2)});
    for (std::size_t i = 0; i < qkv.size(); ++i)
      if (i == 0 || !split) qkv[i] = split_heads(to, qkv[i], heads);
  }
  if (to.failed()) return to.finish();
  if (to.has(6)) parts.past = to.dim(to.in(6), 2);
  parts.query = qkv[0];
  parts.key = with_past(to, to.in(6), qkv[1], 1);
  parts.value = with_past(to, to.in(7), qkv[2], 2);
  if (to.has(4)) parts.biases.push_back(mask_bias(to, to.in(4), parts.key, filter));
  if (to.has(5)) parts.biases.push_back(to.in(5));
  to.result(write_attention(to, parts));
  return to.finish();
}

Status rewrite_ms_rotary_embedding(FileNode& file) {
  Rewriting to(file);
  const bool interleaved = to.take_int("interleaved", 0) != 0;
  std::int64_t heads = to.take_int("num_heads", 0);
  const std::int64_t rotated = to.take_int("rotary_embedding_dim", 0);
  expect_off(to, "is_packed_batching");
  if (to.take_float("scale", 1) != 1) to.refuse("scale is not supported");
  const ValueId x = to.need(0), cos = to.need(2);
  ValueId positions = to.need(1);
  const bool split = to.rank(x) == 4;
  const std::int64_t size = rotated > 0 ? 0 : 2 * to.dimension(cos, 1);
  if (!split && heads == 0 && size > 0) heads = to.dimension(x, 2) / size;
  if (!split && heads < 1) to.refuse("the number of heads must be known");
  const ValueId turned = split ? x : split_heads(to, x, heads);
  if (to.rank(positions) == 1)
    positions = to.add(counted(to, to.dim(turned, 2)), to.cast_to(positions, DType::kI64));
  Rotation rotation = rotation_at(to, cos, to.need(3), positions);
  rotation.interleaved = interleaved;
  rotation.rotated = rotated;
  const ValueId result = rotate(to, turned, rotation);
  to.result(split ? result : to.reshape(to.transpose(result, {0, 2, 1, 3}), {0, 0, -1}));
  return to.finish();
}

}  // namespace parallax
