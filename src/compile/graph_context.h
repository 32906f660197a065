// What compiling every binding of a graph shares. Immutable but for its weights, which kernels ask
// for and bind() provides.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "branch/branch.h"
#include "compile/alike_nodes.h"
#include "ir/graph.h"
#include "kernels/weights/constant_store.h"
#include "kernels/weights/packed_weights.h"
#include "memory/memory.h"

namespace parallax {

/// The regions that a device runs (run/device.h).
struct Delegation {
  IdVector<NodeId, RegionId> region_of;   ///< empty: nothing
  IdVector<RegionId, double> seconds;     ///< predicted, of each region
  IdVector<RegionId, int> delegate = {};  ///< which of several runs each; empty: one runs all
  /// The CPU runs a region that its device fails to run: the plan has kernels and memory for that.
  bool substitute = false;

  std::size_t delegate_of(RegionId region) const {
    return delegate.contains(region) ? static_cast<std::size_t>(delegate[region]) : 0;
  }
};

/// The parts of a graph that no binding changes and all sessions share. Outlives every Compiled.
struct GraphContext {
  /// Weights that bodies share with the graph around them.
  struct Weights {
    PackedWeights packed;
    ConstantStore constants;
  };
  explicit GraphContext(Graph graph_in, Delegation delegation_in = {},
                        std::shared_ptr<Weights> shared = nullptr);

  const Graph graph;
  const Delegation delegation;
  const BranchGraph branches;
  const IdVector<NodeId, Position> position;  ///< where each node stands in `branches`
  const IdVector<NodeId, NodeId> alike;       ///< find_alike()
  const std::shared_ptr<Weights> weights;
  PackedWeights& packed;
  ConstantStore& constants;
  /// By node with bodies: the context of each body.
  std::map<NodeId, std::vector<std::shared_ptr<GraphContext>>> bodies;
};

}  // namespace parallax
