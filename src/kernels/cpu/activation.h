// The functions that operators and fused epilogues apply to each element, by operator. Factories of
// this folder call them at plan time and hand the result to apply_unary() or to an epilogue
// (cpu/gemm/epilogue.h). Pure functions.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "kernels/cpu/elementwise/unary_loops.h"

namespace parallax {

/// Returns the function that a node with one input applies to each element, e.g. Exp or Elu with
/// its `alpha`; nullopt for other operators, and for parameters that no function has. Attributes
/// that the node lacks have ONNX's defaults. A Celu with alpha <= 0 has no function.
std::optional<Unary> unary_function(const Node& node);
/// Returns the activation of the node's epilogue, UnaryFunction::kNone if it has none; nullopt if
/// this folder has no implementation of it. A factory that gets nullopt declines the request, so
/// that another kernel runs it. Silu is known with alpha 1 and 1.702 only.
std::optional<Unary> fused_activation(const Node& node);

}  // namespace parallax
