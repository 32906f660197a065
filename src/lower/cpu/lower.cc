#include "lower/cpu/lower.h"

#include <vector>

#include "lower/patterns/nhwc_rules.h"
#include "lower/patterns/patterns.h"
#include "ops/params/matmul.h"
#include "ops/params/movement.h"
#include "ops/params/numbers.h"
#include "ops/params/quantised.h"
#include "ops/params/window.h"
#include "ops/quantised.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

constexpr Pass kPasses[] = {
    // First: the others know f32 alone.
    {"widen_halves", widen_halves},
    // Integer kernels need scales as the model wrote them.
    {"integer_clusters", integer_clusters, {OpKind::kQuantizeLinear}},
    {"fuse_dynamic_products", fuse_dynamic_products, {OpKind::kMatMulInteger}},
    // After them: a table replaces the nodes that compute the bytes.
    {"fuse_byte_tables", fuse_byte_tables, {OpKind::kQuantizeLinear}},
    // The remaining parts are computed as real numbers; the patterns match their constants.
    {"fold_dequantised", fold_dequantised},
    // Before all that looks for matrix products.
    {"expand_einsum", expand_einsum, {OpKind::kEinsum}},
    // Before fuse_matmul_bias and fuse_activation: a lookup adds no bias and has no activation.
    {"gather_one_hot", gather_one_hot, {OpKind::kOneHot, OpKind::kEqual}},
    // The resulting Conv is treated like any other by all later passes.
    {"turn_conv_transpose", turn_conv_transpose, {OpKind::kConvTranspose}},
    // Before fuse_activation: a normalisation stands between convolution and activation.
    {"fuse_conv_bn", fuse_conv_bn, {OpKind::kConv, OpKind::kConvTranspose}},
    // First of what begins with an Add or a Mul by a constant: these are parts of it.
    pattern_of(OpKind::kLayerNormalization),
    // Behind it: a part of that has no mean either.
    pattern_of(OpKind::kRMSNormalization),
    // Before fuse_activation, which also fuses Silu and Gelu.
    pattern_of(OpKind::kSilu),
    pattern_of(OpKind::kGelu),
    // Before fuse_activation: the bias is added first.
    {"fuse_matmul_bias", fuse_matmul_bias, {OpKind::kMatMul}},
    {"fuse_activation", fuse_activation},
    // A Relu in front may have become an attribute.
    {"fuse_pad", fuse_pad, {OpKind::kPad}},
    // After the passes that fuse operators into matrix products: attention matches what remains
    // between two products.
    pattern_of(OpKind::kCosineAttention),
    pattern_of(OpKind::kFusedAttention),
    {"absorb_transposes", absorb_transposes, {OpKind::kFusedAttention}},
    // After the passes that fuse an Add into a product.
    {"fuse_norm_residual", fuse_norm_residual, {OpKind::kLayerNormalization}},
    // Late: fewer nodes to convert, and no other pass has to know layouts.
    {"layout_nhwc", layout_nhwc},
    // Behind it: kernels add residuals in NHWC. Before fuse_chain, which fuses the same Add.
    {"fuse_conv_residual", fuse_conv_residual, {OpKind::kConv}},
    // After all passes that fuse elementwise operators, or match them individually.
    {"fuse_chain", fuse_chain},
    // Last: what other passes know as Slice, Concat or Transpose is a Gather afterwards.
    {"compose_movement", compose_movement},
};

}  // namespace

std::span<const Pass> lowering_passes() { return kPasses; }

namespace {

/// MatMul whose right operand is transposed on the way.
void decompose_matmul_perm(Parts& parts) {
  std::vector<ValueId> inputs = parts.node().inputs;
  Attributes attributes = parts.node().attributes;
  inputs[1] = parts.transposed(inputs[1], params_of<MatMulParams>(attributes).b_perm);
  erase_param(attributes, &MatMulParams::b_perm);
  parts.result(OpKind::kMatMul, std::move(inputs), std::move(attributes));
}

/// Decomposes an operator of images with NHWC layout.
void decompose_layout(Parts& parts) {
  const std::size_t rank = parts.shape(0).size();
  std::vector<ValueId> inputs = parts.node().inputs;
  Attributes attributes = parts.node().attributes;
  erase_param(attributes, &LayoutParams::layout);
  inputs[0] = parts.transposed(inputs[0], to_nchw(rank));
  const ValueId image = parts.op(parts.node().op, std::move(inputs), std::move(attributes));
  Attributes back;
  set_param(back, &TransposeParams::perm, to_nhwc(rank));
  parts.result(OpKind::kTranspose, {image}, std::move(back));
}

/// Decomposes a byte table: an element of it for each byte, counted from the end for those below
/// zero.
void decompose_byte_table(Parts& parts) {
  Attributes to;
  set_param(to, &CastParams::to, info_of(DType::kI64).onnx);
  const ValueId at = parts.op(OpKind::kCast, {parts.input(0)}, std::move(to));
  const ValueId table = parts.constant(byte_table(parts.node()).value_or(Constant{}));
  parts.result(OpKind::kGather, {table, at});
}

/// Decomposes an integer product whose results are looked up in a table.
void decompose_looked_up(Parts& parts) {
  Attributes attributes = parts.node().attributes, table;
  set_param(table, &ByteTableParams::table, byte_table(parts.node()).value_or(Constant{}));
  erase_param(attributes, &ByteTableParams::table);
  const ValueId bytes = parts.op(parts.node().op, parts.node().inputs, std::move(attributes));
  parts.last_epilogue(parts.node().epilogue);
  parts.result(OpKind::kQuantizeLinear, {bytes}, std::move(table));
}

/// Returns input `i`, repeated if `other` has more elements.
ValueId as_many(Parts& parts, std::size_t i, std::size_t other) {
  const Shape &own = parts.shape(i), &wanted = parts.shape(other);
  if (own == wanted || wanted.size() != 1 || !wanted[0].constant()) return parts.input(i);
  return parts.op(OpKind::kExpand, {parts.input(i), parts.ints({*wanted[0].constant()})});
}

/// Returns an operand of an integer product as real numbers; scales are along `axis`.
ValueId real_operand(Parts& parts, ProductInput operand, std::int64_t axis) {
  const std::size_t zero = operand + kProductXZero, scale = operand + kProductXScale;
  std::vector<ValueId> inputs = {parts.input(operand), parts.input(scale)};
  if (parts.has(zero)) {
    inputs[1] = as_many(parts, scale, zero);
    inputs.push_back(as_many(parts, zero, scale));
  }
  Attributes along;
  set_param(along, &DequantizeLinearParams::axis, axis);
  return parts.op(OpKind::kDequantizeLinear, std::move(inputs), std::move(along));
}

/// Decomposes an integer product into real numbers that are multiplied and quantised.
void decompose_scaled(Parts& parts) {
  const Node& node = parts.node();
  const bool convolves = node.op == OpKind::kConvInteger;
  std::vector<ValueId> operands = {real_operand(parts, kProductX, convolves ? 1 : -2),
                                   real_operand(parts, kProductW, convolves ? 0 : -1)};
  if (parts.has(kProductBias)) operands.push_back(parts.input(kProductBias));
  const OpKind op = convolves ? OpKind::kConv : OpKind::kMatMul;
  if (!is_requantised(node)) {
    parts.result(op, std::move(operands), node.attributes);
    parts.last_epilogue(node.epilogue);
    return;
  }
  const ValueId product = parts.op(op, std::move(operands), node.attributes);
  parts.last_epilogue(node.epilogue);
  parts.result(OpKind::kQuantizeLinear,
               {product, parts.input(kProductYScale), parts.input(kProductYZero)});
}

constexpr Decomposition kOwn[] = {
    {"byte table",
     [](const Node& node) { return node.op == OpKind::kQuantizeLinear && has_byte_table(node); },
     decompose_byte_table},
    {"integer product looked up",
     [](const Node& node) { return node.op != OpKind::kQuantizeLinear && has_byte_table(node); },
     decompose_looked_up},
    {"integer product scaled",
     [](const Node& node) {
       return (node.op == OpKind::kConvInteger || node.op == OpKind::kMatMulInteger) &&
              has_scales(node);
     },
     decompose_scaled},
    {"MatMul of transposed",
     [](const Node& node) { return !params_of<MatMulParams>(node).b_perm.empty(); },
     decompose_matmul_perm},
    {"layout", [](const Node& node) { return channels_last(node); }, decompose_layout},
};

template <class T>
std::vector<T> joined(std::span<const T> first, std::span<const T> second) {
  std::vector<T> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

}  // namespace

std::span<const Decomposition> cpu_decompositions() {
  static const auto forms = joined(pattern_decompositions(), std::span<const Decomposition>(kOwn));
  return forms;
}

std::span<const Pass> all_passes() {
  static const auto passes = joined(simplify_passes(), lowering_passes());
  return passes;
}

}  // namespace parallax
