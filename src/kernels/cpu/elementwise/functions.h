// Which functions operators of f32 compute: one list for the kernels of single operators and those
// of chains. Pure functions, thread-safe.
#pragma once

#include <optional>

#include "kernels/cpu/elementwise/binary_loops.h"
#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/kernel.h"

namespace parallax {

/// Returns the function of the first input that the node computes, e.g. Clip with its bounds;
/// nullopt if it computes no such function, if that input is not f32, or if other inputs are not
/// known at plan time. A missing bound of Clip is the lowest or greatest finite f32. Pow is a
/// function of its first input if its exponent is one constant of -1, 1/2, 1, 2 or 3.
std::optional<Unary> unary_of(const KernelRequest& request);
/// Returns the function of two f32 that `op` computes; nullopt for other operators.
std::optional<BinaryFunction> binary_function(OpKind op);

}  // namespace parallax
