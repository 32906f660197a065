// In which order the images lie that pass between the CPU and a device, in a graph that both run
// together. The canonical graph has channels first; the CPU, and a device that says so, compute on
// images with channels last, which would be turned at each crossing, twice:
//
//     Conv (to NCHW) -> (to NHWC) Conv      is written      Conv Transpose -> Transpose Conv
//
// What passes is then a value with channels last, and lowering drops both Transposes. Pure
// functions. Internal to partition/.
#pragma once

#include "ir/dag.h"
#include "partition/co_node.h"

namespace parallax {

/// Adds these Transposes to a graph with channels first, of which `region_of` says who runs each
/// node: none, the CPU. It computes the same. `nodes` get the new ones, which join the region, or
/// the CPU's, of the node beside them. Only images between islands of convolutions are turned. How
/// many are. O(V+E).
int turn_crossing_images(const IdVector<NodeId, RegionId>& region_of, Graph& graph,
                         IdVector<NodeId, CoNode>& nodes);

}  // namespace parallax
