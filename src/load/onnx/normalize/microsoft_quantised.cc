// Operators on quantised tensors: DequantizeLinear of each operand, the operator on real numbers,
// QuantizeLinear; products of dynamically quantised operands as MatMulInteger.
#include <fmt/core.h>

#include "base/status.h"
#include "load/onnx/normalize/microsoft.h"
#include "load/onnx/tensor.h"
#include "ops/params/axis.h"

namespace parallax {
namespace {

/// Input `i` as real numbers, its scale and zero point behind it. `axis`: of scales that are
/// several.
ValueId real(Rewriting& to, std::size_t i, std::int64_t axis = 1) {
  return to.op(OpKind::kDequantizeLinear, {to.need(i), to.need(i + 1), to.in(i + 2)},
               with_axis(axis));
}

/// The result is `x` quantised by inputs `scale` and the next, to the type of `like` where there is
/// no zero point.
void quantise(Rewriting& to, ValueId x, std::size_t scale, ValueId like) {
  Attributes attributes;
  if (!to.has(scale + 1))
    attributes.set("output_dtype", std::int64_t{info_of(to.dtype(like)).onnx});
  to.result(OpKind::kQuantizeLinear, {x, to.need(scale), to.in(scale + 1)}, std::move(attributes));
}

/// An operator of two operands: three inputs each, then the result's scale and zero point.
Status quantised_binary(FileNode& file, OpKind kind) {
  Rewriting to(file);
  const ValueId a = real(to, 0), b = real(to, 3);
  quantise(to, to.op(kind, {a, b}), 6, to.in(0));
  return to.finish();
}

/// One of a single operand.
Status quantised_unary(FileNode& file, OpKind kind) {
  Rewriting to(file);
  const ValueId x = real(to, 0);
  quantise(to, to.op(kind, {x}, to.take_all()), 3, to.in(0));
  return to.finish();
}

/// The same on images, whose channels may be the last axis.
Status quantised_images(FileNode& file, OpKind kind) {
  Rewriting to(file);
  const bool channels_last = to.take_int("channels_last", 0) != 0;
  ValueId x = real(to, 0);
  if (channels_last) x = to_nchw(to, x);
  x = to.op(kind, {x}, to.take_all());
  quantise(to, channels_last ? to_nhwc(to, x) : x, 3, to.in(0));
  return to.finish();
}

/// A product of integers as real numbers, with a bias if there is one.
void scaled_product(Rewriting& to, ValueId product, ValueId scale, ValueId bias) {
  const ValueId whole = to.cast(product, DType::kF32);
  if (!bias.valid()) return to.result(OpKind::kMul, {whole, scale});
  to.result(OpKind::kAdd, {to.mul(whole, scale), bias});
}

/// [directions, inputs, 4 * hidden] of quantised weights as LSTM has them. Scales are one for each
/// direction, or one for each of its columns.
ValueId recurrent_weights(Rewriting& to, std::size_t weights, std::size_t scale) {
  if (to.rank(to.need(scale)) == 1) {  // a scale for each direction
    const ValueId real =
        to.op(OpKind::kDequantizeLinear, {to.need(weights), to.need(scale), to.need(scale + 1)},
              attributes_of({{"axis", std::int64_t{0}}}));
    return to.transpose(real, {0, 2, 1});
  }
  const auto spread = [&](ValueId x) { return to.unsqueeze(x, {1}); };
  const ValueId whole = to.cast(to.need(weights), DType::kF32);
  const ValueId zero = to.cast(spread(to.need(scale + 1)), DType::kF32);
  return to.transpose(to.mul(to.sub(whole, zero), spread(to.need(scale))), {0, 2, 1});
}

}  // namespace

Status rewrite_ms_qlinear_add(FileNode& file) { return quantised_binary(file, OpKind::kAdd); }
Status rewrite_ms_qlinear_mul(FileNode& file) { return quantised_binary(file, OpKind::kMul); }
Status rewrite_ms_qlinear_sigmoid(FileNode& file) {
  return quantised_unary(file, OpKind::kSigmoid);
}
Status rewrite_ms_qlinear_leaky_relu(FileNode& file) {
  return quantised_unary(file, OpKind::kLeakyRelu);
}
Status rewrite_ms_qlinear_average_pool(FileNode& file) {
  return quantised_images(file, OpKind::kAveragePool);
}
Status rewrite_ms_qlinear_global_average_pool(FileNode& file) {
  return quantised_images(file, OpKind::kGlobalAveragePool);
}

Status rewrite_ms_qlinear_softmax(FileNode& file) {
  Rewriting to(file);
  const std::int64_t opset = to.take_int("opset", 13),
                     axis = to.take_int(param_name(&AxisParams<0>::axis), -1);
  ValueId x = real(to, 0);
  const ValueId whole = x;
  const bool block = opset < 13 && axis != -1 && axis != to.rank(x) - 1;
  if (block) x = to.op(OpKind::kFlatten, {x}, with_axis(axis));
  x = to.op(OpKind::kSoftmax, {x}, with_axis(block ? 1 : axis));
  quantise(to, block ? to.reshape_like(x, whole) : x, 3, to.in(0));
  return to.finish();
}

Status rewrite_ms_qlinear_reduce_mean(FileNode& file) {
  Rewriting to(file);
  const auto axes = to.take<std::vector<std::int64_t>>("axes", {});
  const ValueId x = real(to, 0);
  const ValueId which = axes.empty() ? ValueId{} : to.ints(axes);
  quantise(to, to.op(OpKind::kReduceMean, {x, which}, to.take_all()), 3, to.in(0));
  return to.finish();
}

/// Scale and zero point of the result come first.
Status rewrite_ms_qlinear_concat(FileNode& file) {
  Rewriting to(file);
  std::vector<ValueId> parts;
  for (std::size_t i = 2; i < to.inputs() && !to.failed(); i += 3) parts.push_back(real(to, i));
  quantise(to, to.op(OpKind::kConcat, std::move(parts), to.take_all()), 0, to.need(2));
  return to.finish();
}

Status rewrite_ms_qlinear_where(FileNode& file) {
  Rewriting to(file);
  const ValueId condition = to.need(0), x = real(to, 1), y = real(to, 4);
  quantise(to, to.op(OpKind::kWhere, {condition, x, y}), 7, to.in(1));
  return to.finish();
}

Status rewrite_ms_qlinear_conv(FileNode& file) {
  Rewriting to(file);
  const bool channels_last = to.take_int("channels_last", 0) != 0;
  ValueId x = real(to, 0), bias;
  const ValueId weights = real(to, 3, 0);
  if (to.has(8)) {
    const ValueId scale = to.mul(to.in(1), to.in(4));
    bias = to.op(OpKind::kDequantizeLinear, {to.in(8), scale}, with_axis(0));
  }
  if (channels_last) x = to_nchw(to, x);
  x = to.op(OpKind::kConv, {x, weights, bias}, to.take_all());
  quantise(to, channels_last ? to_nhwc(to, x) : x, 6, to.in(0));
  return to.finish();
}

/// The bias has the scale of the product. Without a scale of the result that is real.
Status rewrite_ms_q_gemm(FileNode& file) {
  Rewriting to(file);
  const float alpha = to.take_float("alpha", 1);
  const bool turned = file.node.attributes.get_int("transB", 0) != 0;
  const ValueId a = real(to, 0), b = real(to, 3, turned ? 0 : 1);
  ValueId bias;
  if (to.has(6)) {
    const ValueId scale = to.mul(to.mul(to.in(1), to.in(4)), alpha);
    bias = to.mul(to.cast(to.in(6), DType::kF32), scale);
  }
  Attributes attributes = to.take_all();
  attributes.set("alpha", alpha);
  const ValueId y = to.op(OpKind::kGemm, {a, b, bias}, std::move(attributes));
  if (to.has(7)) {
    quantise(to, y, 7, to.in(0));
  } else {
    to.result(y);
  }
  return to.finish();
}

Status rewrite_ms_matmul_integer_to_float(FileNode& file) {
  Rewriting to(file);
  const ValueId product =
      to.op(OpKind::kMatMulInteger, {to.need(0), to.need(1), to.in(4), to.in(5)});
  scaled_product(to, product, to.mul(to.need(2), to.need(3)), to.in(6));
  return to.finish();
}

Status rewrite_ms_dynamic_matmul(FileNode& file) {
  Rewriting to(file);
  const auto a = to.ops(OpKind::kDynamicQuantizeLinear, {to.need(0)}, {}, 3);
  const ValueId product = to.op(OpKind::kMatMulInteger, {a[0], to.need(1), a[2], to.in(3)});
  scaled_product(to, product, to.mul(a[1], to.need(2)), to.in(4));
  return to.finish();
}

/// Inputs are real: quantising them again in each step would only lose digits.
Status rewrite_ms_dynamic_lstm(FileNode& file) {
  Rewriting to(file);
  const ValueId weights = recurrent_weights(to, 1, 8), recurrence = recurrent_weights(to, 2, 10);
  if (to.failed()) return to.finish();
  auto& inputs = file.node.inputs;
  inputs.resize(8);
  inputs[1] = weights;
  inputs[2] = recurrence;
  while (!inputs.back().valid()) inputs.pop_back();
  file.node.op = OpKind::kLSTM;
  return {};
}

}  // namespace parallax
