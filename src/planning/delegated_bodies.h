// The regions of bodies: each body is planned as a graph of its own, innermost first, and put back
// into the graph around it. Pure functions.
#pragma once

#include "planning/delegated_plan.h"

namespace parallax {

/// The plan of a graph, then those of its bodies at any depth, outer ones first, in order of nodes.
std::vector<const DelegatedPlan*> all_graphs(const DelegatedPlan& plan);
/// Of all of them.
int count_regions(const DelegatedPlan& plan);
/// Names of the nodes of all regions, with what is before them in the model.
std::vector<std::vector<std::string>> region_names(const DelegatedPlan& plan);
/// The same for regions of a graph that was split: names of the nodes before.
std::vector<std::vector<std::string>> region_origins(const DelegatedPlan& plan);
/// Gives all regions their numbers, in the order of all_graphs(), and counts trips.
void number_regions(DelegatedPlan& plan);

/// Places the regions of the bodies of `canonical`; arguments as of place_for_delegates(). A body
/// whose sizes contradict each other has none. Errors: as place_for_delegates().
Result<std::vector<BodyPlan>> plan_bodies(const Graph& canonical, const Graph& lowered,
                                          const Binding& binding,
                                          std::span<const NamedDelegate> delegates,
                                          const PlanOptions& plan, const DelegatedOptions& options);

/// What the nodes of `graph` that have bodies take with these regions, into `cpu_seconds`.
void add_seconds_of_bodies(const std::vector<BodyPlan>& bodies, const Graph& graph,
                           IdVector<NodeId, double>& cpu_seconds);

/// A graph with its regions and those of its bodies, the rest as the CPU fuses it.
struct PlacedGraph {
  Graph graph;
  Delegation delegation;
};
/// Fills `lowering` too. REQUIRES: number_regions(). Errors: of passes.
Result<PlacedGraph> put_into_graph(DelegatedPlan& plan, const DelegatedOptions& options);

}  // namespace parallax
