// `parallax plan`: layers, branches and bytes, without running.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "options/profiles.h"
#include "parallax/planner.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

void print_table(const PlanReport& plan) {
  fmt::print("{:>5}  {:>6}  {:>5}  {:>10}  {:>10}  {:<8}  {}\n", "layer", "branch", "nodes", "MMAC",
             "bytes", "runs", "from ... to");
  for (const BranchReport& b : plan.branch_reports) {
    const std::string span =
        b.nodes == 1 ? b.first_node : fmt::format("{} ... {}", b.first_node, b.last_node);
    fmt::print("{:>5}  {:>6}  {:>5}  {:>10.1f}  {:>10}  {:<8}  {}\n", b.layer, b.id, b.nodes,
               static_cast<double>(b.macs) / 1e6, format_bytes(b.peak_bytes),
               b.region >= 0 ? "delegate" : (b.parallel ? "parallel" : "alone"), span);
  }
}

void print_bodies(const PlanReport& plan) {
  for (const BodyReport& b : plan.body_reports) {
    const std::string trips = b.trips ? fmt::format(" x {}", *b.trips) : "";
    fmt::print("  {} ({}{}) {}: ", b.node, b.op, trips, b.body);
    if (!b.error.empty()) {
      fmt::print("no plan: {}\n", b.error);
      continue;
    }
    const std::string regions = b.regions == 0   ? ""
                                : b.regions == 1 ? ", 1 region"
                                                 : fmt::format(", {} regions", b.regions);
    fmt::print("{} nodes in {} branches and {} layers{}, {} of {} set aside in branch {}\n",
               b.nodes, b.branches, b.layers, regions, format_bytes(b.arena_bytes),
               format_bytes(b.workspace_bytes), b.branch);
  }
}

void print_summary(const MemoryBudget& budget, const PlanReport& plan) {
  const ArenaBytes& a = plan.arena_bytes;
  fmt::print(
      "{} nodes in {} branches and {} layers; {} layers run branches in parallel, at most {} at "
      "once\n",
      plan.nodes, plan.branches, plan.layers, plan.parallel_layers, plan.max_branches);
  if (!plan.delegate.empty()) {
    fmt::print("{} regions on {}, {} nodes stay on the CPU; predicted to take {:.4g} ms\n",
               plan.regions, plan.delegate, plan.cpu_nodes.size(), plan.predicted_ms);
    if (!plan.co_execution.empty()) fmt::print("in parallel: {}\n", plan.co_execution);
  }
  fmt::print(
      "activations: {} (lower bound {}, greedy {}, an arena per branch {}, no reuse {}); scratch "
      "{}; packed weights {}\n",
      format_bytes(a.parallax), format_bytes(a.lower_bound), format_bytes(a.greedy),
      format_bytes(a.paper), format_bytes(a.naive), format_bytes(plan.scratch_bytes),
      format_bytes(plan.packed_weight_bytes));
  fmt::print("memory budget: {}\n", budget_text(budget, plan));
}

const std::string& delegate_of(const PlanReport& plan, int region) {
  const auto found = std::ranges::find(plan.region_reports, region, &RegionReport::id);
  return found == plan.region_reports.end() ? plan.delegate : found->delegate;
}

void print_regions(const PlanReport& plan) {
  for (const RegionReport& r : plan.region_reports) {
    const std::string where = r.id >= 0 ? fmt::format("region {} on {}", r.id, r.delegate)
                                        : std::string("region given back to the CPU");
    const std::string trips = r.body.empty() ? ""
                              : r.trips == 1 ? fmt::format(" in {}", r.body)
                                             : fmt::format(" in {} x {}", r.body, r.trips);
    fmt::print(
        "{}{}: N {}, F {:.4g} MAC ({:.4g} by the paper's table), B {}, T_offload {:.4g} ms, T_cpu "
        "{:.4g} ms: {}\n  {} ... {}\n",
        where, trips, r.nodes, static_cast<double>(r.macs), static_cast<double>(r.paper_flops),
        format_bytes(r.boundary_bytes), r.delegate_ms, r.cpu_ms, r.reason, r.node_names.front(),
        r.node_names.back());
  }
}

void print_cpu_nodes(const PlanReport& plan) {
  for (const CpuNodeReport& node : plan.cpu_nodes)
    fmt::print("{} ({}) stays on the CPU: {}\n", node.node, node.op, node.reason);
}

void print_passes(const PlanReport& plan) {
  if (plan.passes.empty()) fmt::print("no pass ran: the graph came from the cache\n");
  for (const PassReport& pass : plan.passes) {
    if (pass.disabled) {
      fmt::print("pass {}: left out\n", pass.name);
      continue;
    }
    fmt::print("pass {}: {} {}, {:.3f} ms\n", pass.name, pass.changes,
               pass.changes == 1 ? "change" : "changes", pass.time_ms);
    for (const NearMiss& miss : pass.near_misses) {
      fmt::print(
          "  not {}: {}\n",
          miss.count == 1 ? miss.node : fmt::format("{} and {} more", miss.node, miss.count - 1),
          miss.reason);
    }
  }
}

void print_reasons(const PlanReport& plan) {
  fmt::print("\n");
  print_passes(plan);
  print_regions(plan);
  print_cpu_nodes(plan);
  std::map<int, const BranchReport*> by_id;
  for (const BranchReport& b : plan.branch_reports) by_id[b.id] = &b;
  for (const LayerReport& layer : plan.layer_reports) {
    fmt::print("layer {}: {}\n", layer.id, layer.reason);
    for (const int id : layer.branches) {
      const BranchReport& b = *by_id.at(id);
      fmt::print("  branch {}: {}{}, predicted {:.4g} ms: {}\n", id,
                 b.nodes == 1 ? "1 node" : fmt::format("{} nodes", b.nodes),
                 b.region >= 0
                     ? fmt::format(", region {} on {}", b.region, delegate_of(plan, b.region))
                     : "",
                 b.predicted_ms, b.reason);
    }
  }
}

void print_structure(const PlanReport& plan) {
  fmt::print("{:<16}", "");
  for (const StructureReport& stage : plan.structure) fmt::print("  {:>11}", stage.stage);
  const auto row = [&](const char* name, int StructureReport::*field) {
    fmt::print("\n{:<16}", name);
    for (const StructureReport& stage : plan.structure) fmt::print("  {:>11}", stage.*field);
  };
  row("nodes", &StructureReport::nodes);
  row("layers", &StructureReport::layers);
  row("parallel layers", &StructureReport::parallel_layers);
  row("max branches", &StructureReport::max_branches);
  fmt::print("\n");
}

nlohmann::json branches_json(const PlanReport& plan) {
  nlohmann::json list = nlohmann::json::array();
  for (const BranchReport& b : plan.branch_reports) {
    list.push_back({{"id", b.id},
                    {"layer", b.layer},
                    {"nodes", b.nodes},
                    {"macs", b.macs},
                    {"peak_bytes", b.peak_bytes},
                    {"predicted_ms", b.predicted_ms},
                    {"parallel", b.parallel},
                    {"reason", b.reason},
                    {"first_node", b.first_node},
                    {"last_node", b.last_node}});
    if (b.region >= 0) list.back()["region"] = b.region;
  }
  return list;
}

nlohmann::json layers_json(const PlanReport& plan) {
  nlohmann::json list = nlohmann::json::array();
  for (const LayerReport& layer : plan.layer_reports) {
    list.push_back({{"id", layer.id},
                    {"branches", layer.branches},
                    {"parallel", layer.parallel},
                    {"reason", layer.reason}});
  }
  return list;
}

nlohmann::json passes_json(const PlanReport& plan) {
  nlohmann::json list = nlohmann::json::array();
  for (const PassReport& pass : plan.passes) {
    nlohmann::json misses = nlohmann::json::array();
    for (const NearMiss& miss : pass.near_misses)
      misses.push_back({{"reason", miss.reason}, {"node", miss.node}, {"count", miss.count}});
    list.push_back({{"name", pass.name},
                    {"disabled", pass.disabled},
                    {"changes", pass.changes},
                    {"ms", pass.time_ms},
                    {"near_misses", std::move(misses)}});
  }
  return list;
}

nlohmann::json structure_json(const PlanReport& plan) {
  nlohmann::json json;
  for (const StructureReport& stage : plan.structure) {
    json[stage.stage] = {{"nodes", stage.nodes},
                         {"layers", stage.layers},
                         {"parallel_layers", stage.parallel_layers},
                         {"max_branches", stage.max_branches}};
  }
  return json;
}

void add_delegate(const PlanReport& plan, nlohmann::json& json) {
  nlohmann::json regions = nlohmann::json::array();
  for (const RegionReport& r : plan.region_reports) {
    regions.push_back({{"nodes", r.nodes},
                       {"offloaded", r.id >= 0},
                       {"delegate", r.delegate},
                       {"macs", r.macs},
                       {"paper_flops", r.paper_flops},
                       {"boundary_bytes", r.boundary_bytes},
                       {"memory_bytes", r.memory_bytes},
                       {"offload_ms", r.delegate_ms},
                       {"cpu_ms", r.cpu_ms},
                       {"reason", r.reason},
                       {"node_names", r.node_names}});
    if (r.id >= 0) regions.back()["id"] = r.id;
    if (r.body.empty()) continue;
    regions.back()["body"] = r.body;
    regions.back()["trips"] = r.trips;
  }
  nlohmann::json nodes = nlohmann::json::array();
  for (const CpuNodeReport& n : plan.cpu_nodes)
    nodes.push_back({{"node", n.node}, {"op", n.op}, {"reason", n.reason}});
  json["delegate"] = plan.delegate;
  json["co_execution"] = plan.co_execution;
  json["predicted_ms"] = plan.predicted_ms;
  json["region_list"] = std::move(regions);
  json["cpu_nodes"] = std::move(nodes);
}

void print_threads(const PlanReport& plan) {
  for (const ThreadBytes& t : plan.thread_bytes)
    fmt::print("on {} {}: {} and {} of scratch, at most {} live; the least budget is {} bytes\n",
               t.threads, t.threads == 1 ? "thread" : "threads", format_bytes(t.arena_bytes),
               format_bytes(t.scratch_bytes),
               t.max_branches == 1 ? "1 branch" : fmt::format("{} branches", t.max_branches),
               t.min_bytes);
}

nlohmann::json bodies_json(const PlanReport& plan) {
  nlohmann::json list = nlohmann::json::array();
  for (const BodyReport& b : plan.body_reports) {
    list.push_back({{"node", b.node},
                    {"op", b.op},
                    {"body", b.body},
                    {"branch", b.branch},
                    {"nodes", b.nodes},
                    {"branches", b.branches},
                    {"layers", b.layers},
                    {"regions", b.regions},
                    {"arena_bytes", b.arena_bytes},
                    {"workspace_bytes", b.workspace_bytes}});
    if (b.trips) list.back()["trips"] = *b.trips;
    if (!b.error.empty()) list.back()["error"] = b.error;
  }
  return list;
}

nlohmann::json to_json(const Options& options, const PlanReport& plan) {
  nlohmann::json json = {{"model", options.model},
                         {"nodes", plan.nodes},
                         {"branches", plan.branches},
                         {"layers", plan.layers},
                         {"parallel_layers", plan.parallel_layers},
                         {"max_branches", plan.max_branches},
                         {"regions", plan.regions},
                         {"arena_bytes", arena_json(plan.arena_bytes)},
                         {"memory_budget", budget_json(options.session.budget, plan)},
                         {"scratch_bytes", plan.scratch_bytes},
                         {"staged_bytes", plan.staged_bytes},
                         {"packed_weight_bytes", plan.packed_weight_bytes},
                         {"thread_bytes", threads_json(plan)},
                         {"kernel_list", kernels_json(plan)},
                         {"body_list", bodies_json(plan)},
                         {"pass_list", passes_json(plan)},
                         {"structure", structure_json(plan)},
                         {"layer_list", layers_json(plan)},
                         {"branch_list", branches_json(plan)}};
  if (!plan.delegate.empty()) add_delegate(plan, json);
  return json;
}

Status check_full_delegation(const PlanReport& plan) {
  if (plan.cpu_nodes.empty()) return {};
  int nodes = plan.structure.front().nodes;
  for (const BodyReport& body : plan.body_reports) nodes += body.nodes;
  return tl::unexpected(Error{
      Stage::kPartition,
      ErrorCode::kUnsupported,
      {},
      fmt::format("{} of {} nodes stay on the CPU instead of {}; the list is on standard output",
                  plan.cpu_nodes.size(), nodes, plan.delegate)});
}

}  // namespace

Status plan_command(const Options& options) {
  PlanOptions wanted = options.plan;
  Options used = options;
  if (has_delegates(options)) {
    used.require_full_delegation = false;  // the plan is printed before it fails
    use_delegates(used);
  } else if (!options.delegates.empty()) {
    check_runs(options);
    wanted.profile = find_profile(options.delegates.front());
  }
  auto opened = open_model(used, false);
  if (!opened) return tl::unexpected(opened.error());
  auto plan = Planner(opened->session).plan(dims_of_run(opened->values, 0), wanted);
  if (!plan) return tl::unexpected(plan.error());
  Status full = options.require_full_delegation ? check_full_delegation(*plan) : Status{};
  if (options.json != "-") {
    if (!full) {
      print_cpu_nodes(*plan);
    } else if (options.structure) {
      print_structure(*plan);
    } else {
      print_table(*plan);
      print_bodies(*plan);
      print_summary(options.session.budget, *plan);
    }
    if (options.explain) {
      print_reasons(*plan);
      print_threads(*plan);
    }
  }
  if (!options.json.empty()) {
    if (auto written = write_json(options.json, to_json(options, *plan)); !written) return written;
  }
  return full;
}

}  // namespace parallax::cli
