// The functions that operators and fused epilogues apply to each element, by operator.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "kernels/cpu/elementwise/unary_loops.h"

namespace parallax {

/// The function of a node without further inputs, e.g. Exp or Elu with its `alpha`; nothing for
/// operators that are none.
std::optional<Unary> unary_function(const Node& node);
/// The function of the node's epilogue; nothing where it is none of this folder.
std::optional<Unary> fused_activation(const Node& node);

}  // namespace parallax
