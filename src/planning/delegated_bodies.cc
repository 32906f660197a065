#include "planning/delegated_bodies.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "bind/evaluate.h"
#include "lower/cpu/lower.h"
#include "ops/control_flow.h"
#include "partition/remainder.h"

namespace parallax {
namespace {

/// Returns a body as a separate graph, whose symbols are unrelated to those outside.
Graph alone(const Graph& body) {
  Graph result = body;
  for (Symbol& symbol : result.symbols) symbol.outer = {};
  return result;
}

/// Converts `graph`, which was made from alone(body), back to a body.
Graph inside(Graph graph, const Graph& body) {
  for (const SymbolId id : body.symbols.ids()) graph.symbols[id].outer = body.symbols[id].outer;
  return graph;
}

std::map<std::string_view, NodeId> nodes_with_bodies(const Graph& graph) {
  std::map<std::string_view, NodeId> result;
  for (const NodeId id : graph.nodes.ids())
    if (!graph.nodes[id].bodies.empty()) result.emplace(graph.nodes[id].name, id);
  return result;
}

std::optional<std::int64_t> element_of(const Graph& graph, const Binding& binding, ValueId id) {
  const Value& value = graph.values[id];
  if (value.constant) {
    const auto elements = integers(*value.constant, 1);
    return elements && elements->size() == 1 ? std::optional(elements->front()) : std::nullopt;
  }
  if (!value.content || value.content->size() != 1) return std::nullopt;
  return value.content->front().evaluate(binding.symbols);
}

/// Returns the plan of a body that the CPU runs entirely.
DelegatedPlan without_regions(Graph graph) {
  DelegatedPlan plan;
  plan.partition.placement.resize(graph.nodes.size());
  plan.reasons.resize(graph.nodes.size());
  plan.graph = std::move(graph);
  return plan;
}

/// Plans the bodies of one graph.
class BodyPlanner {
 public:
  BodyPlanner(const Graph& canonical, const Graph& lowered, const Binding& binding,
              std::span<const NamedDelegate> delegates, const PlanOptions& plan,
              const DelegatedOptions& options)
      : canonical_(canonical),
        lowered_(lowered),
        binding_(binding),
        delegates_(delegates),
        plan_(plan),
        options_(options) {
    plan_.co_execution = false;  // the CPU has no other work meanwhile
  }

  Result<std::vector<BodyPlan>> run() {
    if (nodes_with_bodies(canonical_).empty()) return std::vector<BodyPlan>();
    on_cpu_ = nodes_with_bodies(lowered_);
    if (options_.whole != nullptr) compiled_ = nodes_with_bodies(options_.whole->graph());
    PX_ASSIGN(shapes_, concrete_shapes(canonical_, binding_));
    for (const NodeId id : canonical_.nodes.ids())
      for (std::size_t i = 0; i < canonical_.nodes[id].bodies.size(); ++i)
        PX_RETURN_IF_ERROR(add(id, i));
    return std::move(result_);
  }

 private:
  Status add(NodeId id, std::size_t i) {
    const Node& node = canonical_.nodes[id];
    BodyPlan body{node.name, i, 1, {}};
    if (node.op != OpKind::kIf) {
      PX_ASSIGN(const auto trips, known_trips(node, shapes_, [&](ValueId value) {
                  return element_of(canonical_, binding_, value);
                }));
      body.trips = trips.value_or(1);
    }
    DelegatedOptions how = options_;
    how.body = fmt::format("{}{}/{}/", options_.body, node.name, body_name(node.op, i));
    how.whole = compiled(node, i);
    const Graph graph = alone(*node.bodies[i]);
    const Binding binding = binding_of_body(*node.bodies[i], binding_);
    if (concrete_shapes(graph, binding)) {
      PX_ASSIGN(body.plan,
                place_for_delegates(graph, on_cpu(node, i), binding, delegates_, plan_, how));
    } else {
      body.plan = without_regions(graph);
      body.plan.body = how.body;
    }
    if (plan_.max_regions)
      *plan_.max_regions = std::max(0, *plan_.max_regions - count_regions(body.plan));
    result_.push_back(std::move(body));
    return {};
  }

  /// Returns the body that the CPU alone would run; the canonical body if the former lacks symbols
  /// that determine sizes.
  Graph on_cpu(const Node& node, std::size_t i) const {
    const Graph& canonical = *node.bodies[i];
    const auto found = on_cpu_.find(node.name);
    if (found == on_cpu_.end()) return alone(canonical);
    const auto& bodies = lowered_.nodes[found->second].bodies;
    const bool same = bodies.size() == node.bodies.size() &&
                      bodies[i]->symbols.size() == canonical.symbols.size();
    return alone(same ? *bodies[i] : canonical);
  }

  std::shared_ptr<const Compiled> compiled(const Node& node, std::size_t i) const {
    const auto found = compiled_.find(node.name);
    if (found == compiled_.end()) return nullptr;
    const auto& bodies = options_.whole->nodes[found->second].bodies;
    return i < bodies.size() ? bodies[i].compiled : nullptr;
  }

  const Graph& canonical_;
  const Graph& lowered_;
  const Binding& binding_;
  const std::span<const NamedDelegate> delegates_;
  PlanOptions plan_;  ///< max_regions: the number that is left
  const DelegatedOptions& options_;
  ConcreteShapes shapes_;
  std::map<std::string_view, NodeId> on_cpu_, compiled_;
  std::vector<BodyPlan> result_;
};

void add_graphs(const DelegatedPlan& plan, std::vector<const DelegatedPlan*>& list) {
  list.push_back(&plan);
  for (const BodyPlan& body : plan.bodies) add_graphs(body.plan, list);
}

void number_from(DelegatedPlan& plan, std::int64_t trips, std::int32_t& next) {
  plan.first = next;
  plan.trips = trips;
  next += static_cast<std::int32_t>(plan.partition.regions.size());
  for (BodyPlan& body : plan.bodies)
    number_from(body.plan, checked_mul(trips, body.trips).value_or(trips), next);
}

void add_reports(const std::vector<PassReport>& more, std::vector<PassReport>& reports) {
  for (std::size_t i = 0; i < std::min(more.size(), reports.size()); ++i) {
    reports[i].changes += more[i].changes;
    reports[i].time_ms += more[i].time_ms;
    reports[i].near_misses.insert(reports[i].near_misses.end(), more[i].near_misses.begin(),
                                  more[i].near_misses.end());
  }
}

/// The regions of bodies, after they were put into a graph.
struct PlacedBodies {
  std::map<std::string, std::vector<Delegation>, std::less<>> regions;  ///< keys: names of nodes
  std::vector<PassReport> lowering;
};

/// Makes all bodies of the nodes that have a region in some body, each separately. Passes may
/// change the other bodies, which have no regions, together with the graph.
Result<PlacedBodies> place_bodies(DelegatedPlan& plan, const DelegatedOptions& options,
                                  Graph& graph) {
  PlacedBodies placed;
  std::set<std::string_view> used;
  for (const BodyPlan& body : plan.bodies)
    if (count_regions(body.plan) > 0) used.insert(body.node);
  const auto nodes = nodes_with_bodies(graph);
  std::vector<std::pair<NodeId, BodyPlan*>> wanted;  // `nodes` refers to names that may move
  for (BodyPlan& body : plan.bodies)
    if (const auto found = nodes.find(body.node); used.contains(body.node) && found != nodes.end())
      wanted.emplace_back(found->second, &body);
  for (const auto& [id, body] : wanted) {
    PX_ASSIGN(PlacedGraph made, put_into_graph(body->plan, options));
    auto& slot = graph.nodes[id].bodies[body->index];
    slot = std::make_shared<const Graph>(inside(std::move(made.graph), *slot));
    placed.regions[body->node].push_back(std::move(made.delegation));
    if (placed.lowering.empty()) {
      placed.lowering = body->plan.lowering;
    } else {
      add_reports(body->plan.lowering, placed.lowering);
    }
  }
  return placed;
}

}  // namespace

std::vector<const DelegatedPlan*> all_graphs(const DelegatedPlan& plan) {
  std::vector<const DelegatedPlan*> list;
  add_graphs(plan, list);
  return list;
}

int count_regions(const DelegatedPlan& plan) {
  std::size_t count = 0;
  for (const DelegatedPlan* const each : all_graphs(plan)) count += each->partition.regions.size();
  return static_cast<int>(count);
}

std::vector<std::vector<std::string>> region_names(const DelegatedPlan& plan) {
  std::vector<std::vector<std::string>> all;
  for (const DelegatedPlan* const each : all_graphs(plan)) {
    for (const Region& region : each->partition.regions) {
      std::vector<std::string>& names = all.emplace_back();
      for (const NodeId node : region.nodes)
        names.push_back(each->body + each->graph.nodes[node].name);
    }
  }
  return all;
}

std::vector<std::vector<std::string>> region_origins(const DelegatedPlan& plan) {
  std::vector<std::vector<std::string>> all = region_names(plan);
  if (plan.origins.empty()) return all;
  std::size_t number = 0;  // only the outermost graph is split; its regions come first
  for (const Region& region : plan.partition.regions) {
    std::vector<std::string>& names = all[number++];
    names.clear();
    for (const NodeId node : region.nodes)
      if (!plan.origins[node].empty()) names.push_back(plan.origins[node]);
  }
  return all;
}

void number_regions(DelegatedPlan& plan) {
  std::int32_t next = 0;
  number_from(plan, 1, next);
}

Result<std::vector<BodyPlan>> plan_bodies(const Graph& canonical, const Graph& lowered,
                                          const Binding& binding,
                                          std::span<const NamedDelegate> delegates,
                                          const PlanOptions& plan,
                                          const DelegatedOptions& options) {
  return BodyPlanner(canonical, lowered, binding, delegates, plan, options).run();
}

void add_seconds_of_bodies(const std::vector<BodyPlan>& bodies, const Graph& graph,
                           IdVector<NodeId, double>& cpu_seconds) {
  if (bodies.empty()) return;
  cpu_seconds.resize(graph.nodes.size());
  std::map<std::string_view, double> seconds;  // an If counts as its slower branch
  for (const BodyPlan& body : bodies) {
    double& most = seconds[body.node];
    most = std::max(most, body.plan.partition.seconds * static_cast<double>(body.trips));
  }
  for (const NodeId id : graph.nodes.ids())
    if (const auto found = seconds.find(graph.nodes[id].name); found != seconds.end())
      cpu_seconds[id] = found->second;
}

Result<PlacedGraph> put_into_graph(DelegatedPlan& plan, const DelegatedOptions& options) {
  Graph graph = plan.graph;
  PX_ASSIGN(PlacedBodies bodies, place_bodies(plan, options, graph));
  auto closed = std::make_shared<std::set<std::string>>();
  for (const auto& [node, regions] : bodies.regions) closed->insert(node);

  Graph remainder = cpu_remainder(graph, plan.partition);
  if (!options.kernels.reference_only) {
    const std::vector<Detour> detours = detours_of(graph, plan.partition);
    PassContext context{evaluate_node};
    context.closed = std::move(closed);
    context.detours = detours;
    PX_ASSIGN(plan.lowering,
              run_passes(lowering_passes(), remainder, context, options.disabled_passes));
    add_reports(bodies.lowering, plan.lowering);
  }
  PartitionedGraph all = merge_regions(graph, plan.partition, std::move(remainder));
  PlacedGraph result{std::move(all.graph), {std::move(all.region_of), {}, {}, options.substitute}};
  Delegation& delegation = result.delegation;
  for (const Region& region : plan.partition.regions) {
    delegation.seconds.push_back(region.cost.delegate_seconds);
    delegation.delegate.push_back(region.delegate);
  }
  delegation.body = plan.body;
  delegation.first = plan.first;
  for (const NodeId id : result.graph.nodes.ids())
    if (const auto found = bodies.regions.find(result.graph.nodes[id].name);
        found != bodies.regions.end() && !result.graph.nodes[id].bodies.empty())
      delegation.bodies[id] = std::move(found->second);
  return result;
}

}  // namespace parallax
