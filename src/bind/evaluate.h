// Computes one node whose inputs are known at load, for constant folding.
//
// Passes call it through PassContext (simplify/pass.h). Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// The largest result in bytes that is folded; larger ones are computed in each run, so that a
/// small file cannot make folding use any amount of memory.
inline constexpr std::int64_t kMaxFoldedBytes = std::int64_t{64} << 20;

/// Computes the outputs of `node`, whose inputs must be constants, with the reference kernel.
/// Errors: kUnsupported for inputs that are not constant, results above kMaxFoldedBytes and nodes
/// without a kernel; kInternal; those of the kernel.
Result<std::vector<Constant>> evaluate_node(const Graph& graph, NodeId node);
/// Computes the only output of `node` into `into`, which must have its size; of any size. Errors:
/// as evaluate_node(), without that limit.
Status evaluate_into(const Graph& graph, NodeId node, std::span<std::byte> into);

}  // namespace parallax
