#include "passes/passes.h"

namespace parallax {
namespace {

constexpr Pass kPasses[] = {
    // First, and cheap: what nobody reads should cost no other pass time.
    {"dead_code", dead_code},
    // Before folding: shape arithmetic vanishes without being computed, and constant shapes become
    // inputs that fold_constants can fold with.
    {"fold_shapes", fold_shapes},
    // Before the patterns are matched: these look for constants.
    {"fold_constants", fold_constants},
    // After folding, which is what shows that a condition is constant; before what follows, so that
    // it sees the branch in its place.
    {"inline_if", inline_if},
    // After folding, which is what shows that a Slice or Reshape does nothing.
    {"remove_no_ops", remove_no_ops},
    // After the above, which leave nodes equal that were not; before fusing, which needs sole
    // readers.
    {"common_subexpressions", common_subexpressions},
    // Before fuse_activation: a normalisation stands between convolution and activation.
    {"fuse_conv_bn", fuse_conv_bn},
    // Before fuse_activation, which takes Silu and Gelu along.
    {"fuse_silu", fuse_silu},
    {"fuse_gelu", fuse_gelu},
    // Before fuse_activation: the bias is added first.
    {"fuse_matmul_bias", fuse_matmul_bias},
    {"fuse_activation", fuse_activation},
    // After folding, which makes the pads constants; a Relu in front may have become an attribute.
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

std::span<const Pass> all_passes() { return kPasses; }

}  // namespace parallax
