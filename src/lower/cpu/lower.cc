#include "lower/cpu/lower.h"

#include <vector>

#include "lower/patterns/patterns.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

constexpr Pass kPasses[] = {
    // Before fuse_activation: a normalisation stands between convolution and activation.
    {"fuse_conv_bn", fuse_conv_bn},
    // Before fuse_activation, which takes Silu and Gelu along.
    {"fuse_silu", fuse_silu},
    {"fuse_gelu", fuse_gelu},
    // Before fuse_activation: the bias is added first.
    {"fuse_matmul_bias", fuse_matmul_bias},
    {"fuse_activation", fuse_activation},
    // A Relu in front may have become an attribute.
    {"fuse_pad", fuse_pad},
    // After the passes that take other operators into matrix products: what is left between two
    // products is attention.
    {"fuse_cosine_attention", fuse_cosine_attention},
    {"fuse_attention", fuse_attention},
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

std::span<const Pass> all_passes() {
  static const std::vector<Pass> passes = [] {
    std::vector<Pass> all(simplify_passes().begin(), simplify_passes().end());
    all.insert(all.end(), std::begin(kPasses), std::end(kPasses));
    return all;
  }();
  return passes;
}

}  // namespace parallax
