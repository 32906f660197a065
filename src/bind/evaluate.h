// Computes one node whose inputs are known at load, for constant folding.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// Larger results are left to run time: a small file must not make folding take any amount of
/// memory.
inline constexpr std::int64_t kMaxFoldedBytes = std::int64_t{64} << 20;

/// Outputs of `node` by the reference kernel; its inputs are constants. Errors: inputs that are not
/// known, kUnsupported (too large, no kernel), or the kernel's.
Result<std::vector<Constant>> evaluate_node(const Graph& graph, NodeId node);
/// The same of a node with one output, whose bytes `into` are. Of any size.
Status evaluate_into(const Graph& graph, NodeId node, std::span<std::byte> into);

}  // namespace parallax
