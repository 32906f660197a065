// `parallax plan`: layers, branches and bytes, without running.
#include <fmt/format.h>

#include "report.h"

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
               b.parallel ? "parallel" : "alone", span);
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
    fmt::print("{} nodes in {} branches and {} layers, {} of {} set aside in branch {}\n", b.nodes,
               b.branches, b.layers, format_bytes(b.arena_bytes), format_bytes(b.workspace_bytes),
               b.branch);
  }
}

void print_summary(const MemoryBudget& budget, const PlanReport& plan) {
  const ArenaBytes& a = plan.arena_bytes;
  fmt::print(
      "{} nodes in {} branches and {} layers; {} layers run branches in parallel, at most {} at "
      "once\n",
      plan.nodes, plan.branches, plan.layers, plan.parallel_layers, plan.max_branches);
  fmt::print(
      "activations: {} (lower bound {}, greedy {}, an arena per branch {}, no reuse {}); scratch "
      "{}; packed weights {}\n",
      format_bytes(a.parallax), format_bytes(a.lower_bound), format_bytes(a.greedy),
      format_bytes(a.paper), format_bytes(a.naive), format_bytes(plan.scratch_bytes),
      format_bytes(plan.packed_weight_bytes));
  fmt::print("memory budget: {}\n", budget_text(budget, plan));
}

void print_reasons(const PlanReport& plan) {
  fmt::print("\n");
  for (const BranchReport& b : plan.branch_reports)
    fmt::print("layer {}, branch {}: {}\n", b.layer, b.id, b.reason);
}

void print_threads(const PlanReport& plan) {
  for (const ThreadBytes& t : plan.thread_bytes)
    fmt::print("on {} {}: {} and {} of scratch, at most {} at once\n", t.threads,
               t.threads == 1 ? "thread" : "threads", format_bytes(t.arena_bytes),
               format_bytes(t.scratch_bytes),
               t.max_branches == 1 ? "1 branch" : fmt::format("{} branches", t.max_branches));
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
                    {"arena_bytes", b.arena_bytes},
                    {"workspace_bytes", b.workspace_bytes}});
    if (b.trips) list.back()["trips"] = *b.trips;
    if (!b.error.empty()) list.back()["error"] = b.error;
  }
  return list;
}

nlohmann::json to_json(const Options& options, const PlanReport& plan) {
  nlohmann::json branches = nlohmann::json::array();
  for (const BranchReport& b : plan.branch_reports) {
    branches.push_back({{"id", b.id},
                        {"layer", b.layer},
                        {"nodes", b.nodes},
                        {"macs", b.macs},
                        {"peak_bytes", b.peak_bytes},
                        {"parallel", b.parallel},
                        {"reason", b.reason},
                        {"first_node", b.first_node},
                        {"last_node", b.last_node}});
  }
  nlohmann::json threads = nlohmann::json::array();
  for (const ThreadBytes& t : plan.thread_bytes) {
    threads.push_back({{"threads", t.threads},
                       {"arena_bytes", t.arena_bytes},
                       {"scratch_bytes", t.scratch_bytes},
                       {"max_branches", t.max_branches}});
  }
  return {{"model", options.model},
          {"nodes", plan.nodes},
          {"branches", plan.branches},
          {"layers", plan.layers},
          {"parallel_layers", plan.parallel_layers},
          {"max_branches", plan.max_branches},
          {"regions", plan.regions},
          {"arena_bytes", arena_json(plan.arena_bytes)},
          {"memory_budget", budget_json(options.session.budget, plan)},
          {"scratch_bytes", plan.scratch_bytes},
          {"packed_weight_bytes", plan.packed_weight_bytes},
          {"thread_bytes", threads},
          {"body_list", bodies_json(plan)},
          {"branch_list", branches}};
}

}  // namespace

Status plan_command(const Options& options) {
  auto model = Model::load(options.model, options.load);
  if (!model) return tl::unexpected(model.error());
  const CacheWarning warning(*model);
  auto session = Session::create(*model, options.session);
  if (!session) return tl::unexpected(session.error());
  auto values = symbol_values(options, *model);
  if (!values) return tl::unexpected(values.error());
  auto plan = session->plan(dims_of_run(*values, 0));
  if (!plan) return tl::unexpected(plan.error());
  if (options.json != "-") {
    print_table(*plan);
    print_bodies(*plan);
    print_summary(options.session.budget, *plan);
    if (options.explain) {
      print_reasons(*plan);
      print_threads(*plan);
    }
  }
  return options.json.empty() ? Status{} : write_json(options.json, to_json(options, *plan));
}

}  // namespace parallax::cli
