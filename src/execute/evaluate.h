// Computes one node whose inputs are known at load: what constant folding asks for.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace parallax {

/// Results larger than this are left to run time: folding must not make a small file take any
/// amount of memory.
inline constexpr std::int64_t kMaxFoldedBytes = std::int64_t{64} << 20;

/// Outputs of `node` by the reference kernel; its inputs are constants. Errors: inputs that are not
/// known, kUnsupported (too large, no kernel), or the kernel's.
Result<std::vector<Constant>> evaluate_node(const Graph& graph, NodeId node);

}  // namespace parallax
