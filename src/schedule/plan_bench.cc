// Benchmarks planning for graphs of 100,000 nodes: branches, layers, refinement, offsets, steps.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "branch/branch.h"
#include "memory/memory.h"
#include "schedule/plan.h"

namespace parallax {
namespace {

enum class Kind : std::uint8_t { kChain, kFan, kFanOfChains, kBlocks, kLocalDag, kRandomDag };

/// Returns the predecessors of node `i` of `nodes`.
std::vector<int> predecessors(Kind kind, int i, int nodes, std::mt19937& random) {
  const auto before = [&](int reach) {
    return i - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(i, reach)));
  };
  switch (kind) {
    case Kind::kChain:
      return {i - 1};
    case Kind::kFan:
      return {0};
    case Kind::kFanOfChains:
      return {i % 10 == 1 ? 0 : i - 1};
    case Kind::kBlocks:  // a splitter, four chains of four, a merger
      if (i % 18 == 0) return {i - 1};
      if (i % 18 == 17) return {i - 13, i - 9, i - 5, i - 1};
      return {i % 18 % 4 == 1 ? i - i % 18 : i - 1};
    case Kind::kLocalDag:
      return i % 3 == 0 ? std::vector<int>{before(30), before(30)} : std::vector<int>{i - 1};
    case Kind::kRandomDag:
      return i % 3 == 0 ? std::vector<int>{before(nodes), before(nodes)} : std::vector<int>{i - 1};
  }
  return {};
}

Dag make_dag(Kind kind, int nodes) {
  std::mt19937 random(1);
  Dag dag;
  dag.predecessors.resize(static_cast<std::size_t>(nodes));
  dag.successors.resize(static_cast<std::size_t>(nodes));
  for (int i = 1; i < nodes; ++i) {
    auto& list = dag.predecessors[NodeId{i}];
    for (int p : predecessors(kind, i, nodes, random)) {
      if (!list.empty() && list.back() == NodeId{p}) continue;
      list.push_back(NodeId{p});
      dag.successors[NodeId{p}].push_back(NodeId{i});
    }
  }
  return dag;
}

/// Makes a problem with one tensor per node.
MemoryProblem make_problem(const Dag& dag, const BranchGraph& branches) {
  std::mt19937 random(2);
  MemoryProblem problem;
  IdVector<NodeId, Position> position(dag.successors.size());
  for (BranchId branch : branches.branches.ids()) {
    std::int32_t index = 0;
    for (NodeId node : branches.branches[branch]) position[node] = {branch, index++};
    problem.branch_length.push_back(index);
  }
  for (NodeId node : dag.successors.ids()) {
    Buffer buffer{static_cast<std::int64_t>(random() % 1'000'000), position[node], {}};
    for (NodeId reader : dag.successors[node]) buffer.reads.push_back(position[reader]);
    problem.buffers.push_back(std::move(buffer));
  }
  return problem;
}

void plan_graph(benchmark::State& state, Kind kind, bool tight) {
  const Dag dag = make_dag(kind, 100'000);
  ScheduleOptions options;
  options.threads = 4;
  if (tight) {  // a tenth more than running one branch after the other needs
    const BranchGraph branches = find_branches(coarsen(dag));
    const auto groups =
        refine_by_time(branches, IdVector<BranchId, double>(branches.branches.size(), 1.0));
    ScheduleOptions sequential;
    sequential.parallel = false;
    const auto plan = make_plan(branches, groups, make_problem(dag, branches), sequential);
    if (!plan) return state.SkipWithError(plan.error().message.c_str());
    options.budget = plan->offsets.bytes + plan->offsets.bytes / 10;
  }
  const MemoryProblem problem = make_problem(dag, find_branches(coarsen(dag)));
  for (auto _ : state) {
    const BranchGraph branches = find_branches(coarsen(dag));
    const auto groups =
        refine_by_time(branches, IdVector<BranchId, double>(branches.branches.size(), 1.0));
    auto plan = make_plan(branches, groups, problem, options);
    if (!plan) return state.SkipWithError(plan.error().message.c_str());
    state.counters["branches"] = static_cast<double>(branches.branches.size());
    state.counters["arena"] = static_cast<double>(plan->figures.parallax);
    state.counters["paper"] = static_cast<double>(plan->figures.paper);
    state.counters["greedy"] = static_cast<double>(plan->figures.greedy);
    state.counters["bound"] = static_cast<double>(plan->figures.lower_bound);
  }
}

const bool kRegistered = [] {
  const std::pair<const char*, Kind> kinds[] = {{"chain", Kind::kChain},
                                                {"fan", Kind::kFan},
                                                {"fan_of_chains", Kind::kFanOfChains},
                                                {"blocks", Kind::kBlocks},
                                                {"local_dag", Kind::kLocalDag},
                                                {"random_dag", Kind::kRandomDag}};
  for (const auto& [name, kind] : kinds) {
    for (bool tight : {false, true}) {
      benchmark::RegisterBenchmark((std::string("plan/") + name + (tight ? "/budget" : "")).c_str(),
                                   plan_graph, kind, tight)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace parallax
