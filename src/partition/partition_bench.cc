// Measures the time of partitioning: random graphs in which a quarter of the nodes cannot run, the
// worst mix, and chains, which resemble models.
#include <benchmark/benchmark.h>

#include <random>

#include "partition/regions.h"

namespace parallax {
namespace {

void candidates(benchmark::State& state, int reach) {
  std::mt19937 random(1);
  const auto n = static_cast<std::int32_t>(state.range(0));
  Dag edges;
  edges.predecessors.resize(static_cast<std::size_t>(n));
  edges.successors.resize(static_cast<std::size_t>(n));
  IdVector<NodeId, bool> can_run(static_cast<std::size_t>(n), true);
  for (std::int32_t i = 1; i < n; ++i) {
    can_run[NodeId{i}] = random() % 4 != 0;
    const auto far = static_cast<std::uint32_t>(std::min(i, reach));
    const NodeId from{i - 1 - static_cast<std::int32_t>(random() % far)};
    edges.predecessors[NodeId{i}].push_back(from);
    edges.successors[from].push_back(NodeId{i});
    if (from.value == i - 1 || reach == 1) continue;
    edges.predecessors[NodeId{i}].push_back(NodeId{i - 1});
    edges.successors[NodeId{i - 1}].push_back(NodeId{i});
  }
  bool maximal = true;
  for (auto _ : state) maximal &= !find_candidates(edges, can_run).exhausted();
  state.counters["maximal"] = maximal ? 1 : 0;
}
void chain(benchmark::State& state) { candidates(state, 1); }
void local(benchmark::State& state) { candidates(state, 8); }
void wild(benchmark::State& state) { candidates(state, 1 << 30); }

BENCHMARK(chain)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(local)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(wild)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parallax
