// The paper's estimate of a node's work, as its appendix prints it, in addition to the exact count
// of OpDef::macs, so that the cost model `paper` decides by the paper's numbers. Thread-safety:
// pure functions.
//
//     Conv (any groups)        2 Cin Hout Wout Kh Kw Cout
//     MatMul, Gemm             2 M N K
//     elementwise              number of output elements
//     pooling, reduction       Hout Wout Kh Kw
//     everything else          0
//
// Flaws of the paper are kept: a factor of two although thresholds are in MAC, groups are ignored
// (a depthwise convolution counts C times too much), batch is ignored for convolution, pooling and
// matrix products, channels for pooling; Softmax, normalisation and activations count as
// elementwise.
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph.h"

namespace parallax {

/// Returns the estimate. `inputs` and `outputs`: concrete dims in the node's order, rank 0 for
/// those left out. Saturates.
std::int64_t paper_flops(const Node& node, std::span<const Dims> inputs,
                         std::span<const Dims> outputs);

}  // namespace parallax
