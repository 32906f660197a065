// The functions that operators of f32 are, one list for the kernels of single operators and of
// chains. Pure functions.
#pragma once

#include <optional>

#include "kernels/cpu/elementwise/binary_loops.h"
#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/kernel.h"

namespace parallax {

/// The function of the first input that the node is, where that is f32 and all others are known.
std::optional<Unary> unary_of(const KernelRequest& request);
/// The function of two f32 that `op` is.
std::optional<BinaryFunction> binary_function(OpKind op);

}  // namespace parallax
