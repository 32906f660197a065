// What each operator needs in order to compute on NHWC images instead of NCHW ones. Pure functions
// over one node, besides constants that they append.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "passes/fuse_util.h"

namespace parallax {

inline constexpr int kImageRank = 4;
/// Axis i of an NHWC image is axis kToNhwc[i] of the NCHW one, and back.
inline constexpr std::array<std::int64_t, 4> kToNhwc = {0, 2, 3, 1};
inline constexpr std::array<std::int64_t, 4> kToNchw = {0, 3, 1, 2};

/// True where the node computes on NCHW images of rank 4 and could do so on NHWC ones.
bool can_be_nhwc(const Graph& graph, const Node& node);
/// True where input i of such a node is an image, which changes layout with the node. Other inputs
/// (weights, axes, single numbers) stay as they are.
bool is_image_input(const Graph& graph, const Node& node, std::size_t i);
/// Rewrites attributes, and inputs that are lists of axes, of a node that can_be_nhwc.
void adapt_to_nhwc(Graph& graph, UniqueNames& names, Node& node);

/// `constant` with leading ones up to rank 4, transposed from NCHW to NHWC.
Constant to_nhwc(const Constant& constant);

}  // namespace parallax
