// Computes a hash of a set of nodes of a graph at one binding: the same in every process, so that
// measurements can be found again. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "device/support.h"

namespace parallax {

/// Returns a hash of each node: its operator and name, and the names, types and sizes of its inputs
/// and outputs. Empty `shapes`: without sizes. `body`: as PartitionOptions::body.
IdVector<NodeId, std::uint64_t> node_keys(const Graph& graph, const ConcreteShapes& shapes,
                                          std::string_view body = {});
/// Returns a hash of distinct nodes in any order; never 0.
std::uint64_t region_key(const IdVector<NodeId, std::uint64_t>& keys,
                         std::span<const NodeId> nodes);

}  // namespace parallax
