// The functions that operators and fused epilogues apply to each element, by operator.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "kernels/cpu/elementwise/unary_loops.h"

namespace parallax {

/// Returns the function that a node with one input applies to each element, e.g. Exp or Elu with
/// its `alpha`; nullopt for other operators, and for parameters that no function has.
std::optional<Unary> unary_function(const Node& node);
/// Returns the activation of the node's epilogue, UnaryFunction::kNone if it has none; nullopt if
/// this folder has no implementation of it.
std::optional<Unary> fused_activation(const Node& node);

}  // namespace parallax
