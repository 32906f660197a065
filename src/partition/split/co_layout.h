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

/// Adds these Transposes to a graph with channels first; `region_of` is the region of each node,
/// invalid: the CPU. The result is equivalent. Appends the new nodes to `nodes`; they belong to the
/// region, or to the CPU, of the node next to them. Only images between islands of convolutions are
/// transposed. Returns their number. O(V+E).
int turn_crossing_images(const IdVector<NodeId, RegionId>& region_of, Graph& graph,
                         IdVector<NodeId, CoNode>& nodes);

}  // namespace parallax
