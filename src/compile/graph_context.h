// What compiling every binding of a graph shares. Immutable but for its weights, which kernels ask
// for and bind() provides.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
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
  /// By node with bodies: the regions of each body. No entry: none of them has any.
  std::map<NodeId, std::vector<Delegation>> bodies = {};
  /// Of a body: what names of its nodes begin with, "loop/body/". Empty: this is no body.
  std::string body = {};
  std::int32_t first = 0;  ///< of its first region, in the numbers of all regions of the model

  std::size_t delegate_of(RegionId region) const {
    return delegate.contains(region) ? static_cast<std::size_t>(delegate[region]) : 0;
  }
};

/// Where constants lie: disjoint, in the order of addresses.
using ConstantPlaces = std::vector<std::span<const std::byte>>;
/// Of `constants`, whose bytes may overlap.
ConstantPlaces places_of(std::vector<std::span<const std::byte>> constants);
/// Of a graph's constants and those of its bodies.
ConstantPlaces places_of(const Graph& graph);

/// The parts of a graph that no binding changes and all sessions share. Outlives every Compiled.
struct GraphContext {
  /// Weights that bodies share with the graph around them.
  struct Weights {
    PackedWeights packed;
    ConstantStore constants;
  };
  /// `outlived_by`: constants that live as long as `shared` does. Others are this graph's own, and
  /// what is packed of them goes with it. Null: all live as long.
  explicit GraphContext(Graph graph_in, Delegation delegation_in = {},
                        std::shared_ptr<Weights> shared = nullptr,
                        const ConstantPlaces* outlived_by = nullptr);
  ~GraphContext();
  GraphContext(const GraphContext&) = delete;
  GraphContext& operator=(const GraphContext&) = delete;

  const Graph graph;
  const Delegation delegation;
  const BranchGraph branches;
  const IdVector<NodeId, Position> position;  ///< where each node stands in `branches`
  const IdVector<NodeId, NodeId> alike;       ///< find_alike()
  const std::shared_ptr<Weights> weights;
  PackedWeights& packed;
  ConstantStore& constants;
  const std::map<ValueId, Object> strings;  ///< constants of strings
  /// By node with bodies: the context of each body.
  std::map<NodeId, std::vector<std::shared_ptr<GraphContext>>> bodies;

 private:
  std::vector<Constant> own_;  // that `weights` outlive
};

}  // namespace parallax
