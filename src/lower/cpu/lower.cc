#include "lower/cpu/lower.h"

#include <vector>

#include "lower/cpu/layout_nhwc_rules.h"
#include "lower/patterns/patterns.h"
#include "ops/matmul.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

constexpr Pass kPasses[] = {
    // Before fuse_activation: a normalisation stands between convolution and activation.
    {"fuse_conv_bn", fuse_conv_bn},
    // First of what begins with an Add or a Mul by a constant: these are parts of it.
    pattern_of(OpKind::kLayerNormalization),
    // Behind it: a part of that has no mean either.
    pattern_of(OpKind::kRMSNormalization),
    // Before fuse_activation, which takes Silu and Gelu along.
    pattern_of(OpKind::kSilu),
    pattern_of(OpKind::kGelu),
    // Before fuse_activation: the bias is added first.
    {"fuse_matmul_bias", fuse_matmul_bias},
    {"fuse_activation", fuse_activation},
    // A Relu in front may have become an attribute.
    {"fuse_pad", fuse_pad},
    // After the passes that take other operators into matrix products: what is left between two
    // products is attention.
    pattern_of(OpKind::kCosineAttention),
    pattern_of(OpKind::kFusedAttention),
    {"absorb_transposes", absorb_transposes},
    // After the passes that take an Add into a product.
    {"fuse_norm_residual", fuse_norm_residual},
    // Late: fewer nodes to convert, and no other pass has to know layouts.
    {"layout_nhwc", layout_nhwc},
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
  inputs[1] = parts.transposed(inputs[1], attributes.get_ints(kMatMulPerm));
  attributes.erase(kMatMulPerm);
  parts.result(OpKind::kMatMul, std::move(inputs), std::move(attributes));
}

/// An operator of images, on images of layout NHWC.
void decompose_layout(Parts& parts) {
  const std::size_t rank = parts.shape(0).size();
  std::vector<ValueId> inputs = parts.node().inputs;
  Attributes attributes = parts.node().attributes;
  attributes.erase("layout");
  inputs[0] = parts.transposed(inputs[0], to_nchw(rank));
  const ValueId image = parts.op(parts.node().op, std::move(inputs), std::move(attributes));
  Attributes back;
  back.set("perm", to_nhwc(rank));
  parts.result(OpKind::kTranspose, {image}, std::move(back));
}

constexpr Decomposition kOwn[] = {
    {"MatMul of transposed",
     [](const Node& node) { return node.attributes.find(kMatMulPerm) != nullptr; },
     decompose_matmul_perm},
    {"layout",
     [](const Node& node) { return node.attributes.get_string("layout", "NCHW") == "NHWC"; },
     decompose_layout},
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
