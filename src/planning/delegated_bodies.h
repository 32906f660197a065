// The regions of bodies of If, Loop and Scan: each body is planned as a graph of its own, innermost
// first, and put back into the graph around it. delegated_plan.cc calls plan_bodies(),
// add_seconds_of_bodies(), number_regions() and put_into_graph() in this order; the other functions
// list regions, also for sessions and reports. Thread-safe for different plans; several threads may
// read one. Only plan_bodies() calls delegates, which may block: its caller holds no lock but turns
// (base/lock_order.h).
#pragma once

#include "planning/delegated_plan.h"

namespace parallax {

/// Returns the plan of a graph, then those of its bodies at any depth, outer ones first, in order
/// of nodes. The pointers are valid while `plan` is.
std::vector<const DelegatedPlan*> all_graphs(const DelegatedPlan& plan);
/// Returns the number of regions of a graph and of all its bodies.
int count_regions(const DelegatedPlan& plan);
/// Returns for each region, in the order of all_graphs(), the names of its nodes, each with the
/// names of the bodies around it: "loop/body/conv".
std::vector<std::vector<std::string>> region_names(const DelegatedPlan& plan);
/// As region_names(). But if the outermost graph was split between CPU and delegate, its own
/// regions list the nodes that were split (DelegatedPlan::origins) instead of their parts, and no
/// nodes that only move rows.
std::vector<std::vector<std::string>> region_origins(const DelegatedPlan& plan);
/// Sets two fields of each graph. DelegatedPlan::first: the number of its first region, in the
/// order of all_graphs(). DelegatedPlan::trips: the product of the known trips of the loops around
/// it.
void number_regions(DelegatedPlan& plan);

/// Returns the plan of each body of each node of `canonical`, in order of nodes; arguments and
/// errors as of place_for_delegates() (planning/delegated_plan.h). A body whose sizes contradict
/// each other gets no regions.
Result<std::vector<BodyPlan>> plan_bodies(const Graph& canonical, const Graph& lowered,
                                          const Binding& binding,
                                          std::span<const NamedDelegate> delegates,
                                          const PlanOptions& plan, const DelegatedOptions& options);

/// Sets the seconds of each node that has bodies, and of no other: the predicted time of its
/// slowest body with these regions, times its trips. An If counts as one trip, and so does a loop
/// of unknown length. `graph`: DelegatedPlan::graph. REQUIRES: `cpu_seconds` has the times of all
/// nodes without bodies.
void add_seconds_of_bodies(const std::vector<BodyPlan>& bodies, const Graph& graph,
                           IdVector<NodeId, double>& cpu_seconds);

/// A graph that can run: its nodes in regions, all others as the CPU fuses them.
struct PlacedGraph {
  Graph graph;
  Delegation delegation;  ///< the regions, by the nodes of `graph`, and those of its bodies
};
/// Makes the graph that runs. Unless kernels are reference kernels only, sets `plan.lowering` to
/// the reports of the passes over the CPU's part, bodies included. If a node has a region in one of
/// its bodies, the plans of all its bodies get their own `lowering` too. REQUIRES:
/// number_regions(). Errors: those of run_passes() (simplify/pass.h).
Result<PlacedGraph> put_into_graph(DelegatedPlan& plan, const DelegatedOptions& options);

}  // namespace parallax
