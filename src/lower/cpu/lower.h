// The canonical graph becomes the one that this CPU runs: patterns, then what suits its kernels
// alone. lower.cc says in which order the passes run.
#pragma once

#include "lower/patterns/decompose.h"
#include "simplify/pass.h"

namespace parallax {

// The CPU's own: each is a Pass::run, and its source says what it does.
Result<int> widen_halves(Graph& graph, const PassContext& context);
Result<int> integer_clusters(Graph& graph, const PassContext& context);
Result<int> fuse_dynamic_products(Graph& graph, const PassContext& context);
Result<int> fuse_byte_tables(Graph& graph, const PassContext& context);
Result<int> expand_einsum(Graph& graph, const PassContext& context);
Result<int> absorb_transposes(Graph& graph, const PassContext& context);
Result<int> layout_nhwc(Graph& graph, const PassContext& context);
Result<int> compose_movement(Graph& graph, const PassContext& context);

/// The patterns that the CPU takes and its own passes, in the order in which they run; the comment
/// beside each row says why there.
std::span<const Pass> lowering_passes();
/// What lowered nodes mean: pattern_decompositions(), and of what the CPU's own passes make.
std::span<const Decomposition> cpu_decompositions();
/// simplify_passes(), then lowering_passes().
std::span<const Pass> all_passes();

}  // namespace parallax
