// Selects the layout of images that pass between the CPU and a device, in a graph that both run.
// The canonical graph has channels first; the CPU, and a device that declares it, compute on images
// with channels last, which would be transposed twice at each crossing:
//
//     Conv (to NCHW) -> (to NHWC) Conv      is written      Conv Transpose -> Transpose Conv
//
// The value that crosses then has channels last, and lowering removes both Transposes.
// Thread-safety: pure functions. Internal to partition/.
#pragma once

#include "ir/dag.h"
#include "partition/co_node.h"

namespace parallax {

/// Inserts these Transposes; the result is equivalent. `graph` has channels first. `region_of`: the
/// region of each node; invalid for nodes of the CPU. Transposed are only images that pass between
/// two groups of nodes, each with a convolution, that lowering converts to channels last
/// (lower/patterns/nhwc_rules.h). Rebuilds graph.nodes and `nodes` in the new order, so node ids
/// change and `region_of` no longer applies. A Transpose has the side and the stage of the node
/// next to it. Returns the number of images transposed; if it is 0, nothing was changed. O(V+E).
/// REQUIRES: the devices of all regions declare channels last; it is not checked here.
int turn_crossing_images(const IdVector<NodeId, RegionId>& region_of, Graph& graph,
                         IdVector<NodeId, CoNode>& nodes);

}  // namespace parallax
