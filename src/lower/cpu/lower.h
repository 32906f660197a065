// Lowers the canonical graph to the one that this CPU runs: patterns, then passes specific to its
// kernels. lower.cc lists the order of the passes.
//
// The result suits this machine's kernels; regions for devices are chosen on the canonical graph.
#pragma once

#include "lower/patterns/decompose.h"
#include "simplify/pass.h"

namespace parallax {

// The CPU's own passes: each is a Pass::run, documented in its source.
Result<int> widen_halves(Graph& graph, const PassContext& context);
Result<int> integer_clusters(Graph& graph, const PassContext& context);
Result<int> fuse_dynamic_products(Graph& graph, const PassContext& context);
Result<int> fuse_byte_tables(Graph& graph, const PassContext& context);
Result<int> expand_einsum(Graph& graph, const PassContext& context);
Result<int> gather_one_hot(Graph& graph, const PassContext& context);
Result<int> absorb_transposes(Graph& graph, const PassContext& context);
Result<int> layout_nhwc(Graph& graph, const PassContext& context);
Result<int> compose_movement(Graph& graph, const PassContext& context);

/// Returns the patterns that the CPU uses and its own passes, in the order in which they run; the
/// comment next to each row explains its position. Rows live as long as the process; their names
/// are those of LoadOptions::disabled_passes.
std::span<const Pass> lowering_passes();
/// Returns the decompositions of lowered operators: pattern_decompositions(), and those of
/// operators of the CPU's own passes.
std::span<const Decomposition> cpu_decompositions();
/// Returns simplify_passes() followed by lowering_passes().
std::span<const Pass> all_passes();

}  // namespace parallax
