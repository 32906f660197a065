// The requirements of each operator for computing on NHWC images instead of NCHW ones. This
// includes images of rank 3 (1-D convolutions of sound, say): NCW and NWC. Thread-safety: pure
// functions over one node, except for constants that they append.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lower/patterns/fuse_util.h"

namespace parallax {

using Permutation = std::vector<std::int64_t>;
inline bool is_image_rank(std::size_t rank) { return rank == 3 || rank == 4; }
/// Axis i of an NHWC image is axis to_nhwc(rank)[i] of the NCHW one; to_nchw() is the inverse.
Permutation to_nhwc(std::size_t rank);
Permutation to_nchw(std::size_t rank);

inline bool is_convolution(OpKind op) { return op == OpKind::kConv || op == OpKind::kConvInteger; }
/// Returns whether the node computes on NCHW images, all of one rank, and could do so on NHWC ones.
bool can_be_nhwc(const Graph& graph, const Node& node);
/// Returns whether such a node is a convolution that Winograd's minimal filtering, which needs
/// NHWC, makes so much faster that it is worth a transpose before and after.
bool gains_from_nhwc(const Graph& graph, const Node& node);
/// Returns the rank of the images of such a node.
std::size_t image_rank(const Graph& graph, const Node& node);
/// Returns whether input i of such a node is an image, whose layout changes with the node. Other
/// inputs (weights, axes, single numbers) stay as they are.
bool is_image_input(const Graph& graph, const Node& node, std::size_t i);
/// Adapts attributes, and inputs that are lists of axes, of a node for which can_be_nhwc() is true.
void adapt_to_nhwc(Graph& graph, UniqueNames& names, Node& node, std::size_t rank);

/// Returns `constant` with leading ones up to `rank`, transposed from NCHW to NHWC.
Constant to_nhwc(const Constant& constant, std::size_t rank);

}  // namespace parallax
