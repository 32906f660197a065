#include "simplify/simplify.h"

namespace parallax {
namespace {

constexpr Pass kPasses[] = {
    // First, and cheap: nodes that are not read should cost no other pass time.
    {"dead_code", dead_code},
    // Before all that look at shapes: those of tensors in sequences are known less well.
    {"static_objects", static_objects},
    // Before folding: shape arithmetic vanishes without being computed, and constant shapes become
    // inputs that fold_constants can fold with.
    {"fold_shapes", fold_shapes},
    // Before what looks for constants: patterns, and the passes below.
    {"fold_constants", fold_constants},
    // After folding, which is what shows that a condition is constant; before what follows, so that
    // it sees the branch in its place.
    {"inline_if", inline_if},
    // After folding, which makes axes and shapes constants; before remove_no_ops, which removes the
    // Reshapes that do nothing then.
    {"keep_reduced_axes", keep_reduced_axes},
    {"split_batches", split_batches},
    // After folding, which is what shows that a Slice or Reshape does nothing.
    {"remove_no_ops", remove_no_ops},
    // After the above, which leave nodes equal that were not; before fusing, which needs sole
    // readers.
    {"common_subexpressions", common_subexpressions},
};

}  // namespace

std::span<const Pass> simplify_passes() { return kPasses; }

}  // namespace parallax
