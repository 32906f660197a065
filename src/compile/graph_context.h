// The data shared by all bindings of a graph. Immutable except for its weights, which kernels
// request and bind() provides. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "branch/branch.h"
#include "compile/equivalent_nodes.h"
#include "ir/graph.h"
#include "kernels/weights/constant_store.h"
#include "kernels/weights/packed_weights.h"
#include "memory/memory.h"

namespace parallax {

/// The regions that devices run (run/device.h). Immutable once it is part of a GraphContext.
struct Delegation {
  IdVector<NodeId, RegionId> region_of;   ///< empty: there are no regions
  IdVector<RegionId, double> seconds;     ///< predicted, for each region
  IdVector<RegionId, int> delegate = {};  ///< the delegate that runs each region; empty: there is
                                          ///< only one
  /// The CPU can run a region that its device fails to run: the plan has kernels and memory for
  /// that.
  bool substitute = false;
  /// The regions of each body, by the node that has it. No entry: its bodies have no regions.
  std::map<NodeId, std::vector<Delegation>> bodies = {};
  /// For a body: the prefix of its nodes' names, "loop/body/". Empty: this is no body.
  std::string body = {};
  std::int32_t first = 0;  ///< number of its first region among all regions of the model

  std::size_t delegate_of(RegionId region) const {
    return delegate.contains(region) ? static_cast<std::size_t>(delegate[region]) : 0;
  }
};

/// The address ranges of constants: disjoint and ascending.
using ConstantPlaces = std::vector<std::span<const std::byte>>;
/// Merges the ranges of `constants`, which may overlap. Ranges that touch are merged, too; empty
/// ones are dropped.
ConstantPlaces places_of(std::vector<std::span<const std::byte>> constants);
/// Returns the ranges of a graph's constants and those of its bodies.
ConstantPlaces places_of(const Graph& graph);

/// The parts of a graph that no binding changes and all sessions share. It must outlive every
/// Compiled.
struct GraphContext {
  /// The weights that bodies share with the surrounding graph.
  struct Weights {
    PackedWeights packed;
    ConstantStore constants;
  };
  /// `outlived_by`: constants that live as long as `shared`. Other constants belong to this graph,
  /// and their packed forms are released with it. Null: all of them live as long.
  explicit GraphContext(Graph graph_in, Delegation delegation_in = {},
                        std::shared_ptr<Weights> shared = nullptr,
                        const ConstantPlaces* outlived_by = nullptr);
  /// Releases the packed and copied forms of constants that `weights` outlives.
  ~GraphContext();
  GraphContext(const GraphContext&) = delete;
  GraphContext& operator=(const GraphContext&) = delete;

  const Graph graph;
  const Delegation delegation;
  const BranchGraph branches;
  /// Position of each node in `branches`. A region without a substitute on the CPU counts as one
  /// node, so all of its nodes have index 0.
  const IdVector<NodeId, Position> position;
  const IdVector<NodeId, NodeId> alike;  ///< result of find_equivalent()
  const std::shared_ptr<Weights> weights;
  PackedWeights& packed;
  ConstantStore& constants;
  const std::map<ValueId, Object> strings;  ///< string constants
  /// The contexts of each node's bodies.
  std::map<NodeId, std::vector<std::shared_ptr<GraphContext>>> bodies;

 private:
  std::vector<Constant> own_;  // constants that `weights` outlives
};

}  // namespace parallax
