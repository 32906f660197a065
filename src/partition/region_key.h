// A number for a set of nodes of a graph at one binding: the same in every process, so that what
// was measured of it can be found again. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "device/support.h"

namespace parallax {

/// Of each node, with its operator, its name, and the names, types and sizes of what it reads and
/// makes. Empty `shapes`: without sizes. `body`: as PartitionOptions::body.
IdVector<NodeId, std::uint64_t> node_keys(const Graph& graph, const ConcreteShapes& shapes,
                                          std::string_view body = {});
/// Of distinct nodes in any order; never 0.
std::uint64_t region_key(const IdVector<NodeId, std::uint64_t>& keys,
                         std::span<const NodeId> nodes);

}  // namespace parallax
