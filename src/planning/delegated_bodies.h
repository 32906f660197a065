// The regions of bodies of If, Loop and Scan: each body is planned as a graph of its own, innermost
// first, and put back into the graph around it. Pure functions.
#pragma once

#include "planning/delegated_plan.h"

namespace parallax {

/// Returns the plan of a graph, then those of its bodies at any depth, outer ones first, in order
/// of nodes. The pointers are valid while `plan` is.
std::vector<const DelegatedPlan*> all_graphs(const DelegatedPlan& plan);
/// Returns the number of regions of a graph and of all its bodies.
int count_regions(const DelegatedPlan& plan);
/// Returns the names of the nodes of all regions, in the order of all_graphs(), each with the names
/// of the bodies around it: "loop/body/conv".
std::vector<std::vector<std::string>> region_names(const DelegatedPlan& plan);
/// Returns the same names; for a graph that was split those of the nodes before the split.
std::vector<std::vector<std::string>> region_origins(const DelegatedPlan& plan);
/// Numbers all regions in the order of all_graphs(), and computes the trips of each graph.
void number_regions(DelegatedPlan& plan);

/// Places the regions of the bodies of `canonical`; arguments as of place_for_delegates(). A body
/// whose sizes contradict each other gets no regions. Errors: as place_for_delegates().
Result<std::vector<BodyPlan>> plan_bodies(const Graph& canonical, const Graph& lowered,
                                          const Binding& binding,
                                          std::span<const NamedDelegate> delegates,
                                          const PlanOptions& plan, const DelegatedOptions& options);

/// Sets the times of the nodes of `graph` that have bodies to those with these regions.
void add_seconds_of_bodies(const std::vector<BodyPlan>& bodies, const Graph& graph,
                           IdVector<NodeId, double>& cpu_seconds);

/// A graph with its regions and those of its bodies; all other nodes as the CPU fuses them.
struct PlacedGraph {
  Graph graph;
  Delegation delegation;  ///< the regions, by the nodes of `graph`
};
/// Makes the graph that runs, and fills `plan.lowering`. REQUIRES: number_regions(). Errors: those
/// of passes.
Result<PlacedGraph> put_into_graph(DelegatedPlan& plan, const DelegatedOptions& options);

}  // namespace parallax
