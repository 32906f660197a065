#include "partition/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>

namespace parallax {
namespace {

/// A graph without shapes: the time of each node on the CPU, its edges, and regions with their
/// times on the device.
struct Case {
  IdVector<NodeId, double> cpu;
  Dag edges;
  std::vector<Region> regions;

  explicit Case(std::vector<double> seconds, const std::vector<std::pair<int, int>>& pairs = {}) {
    for (const double s : seconds) cpu.push_back(s);
    edges.successors.resize(seconds.size());
    edges.predecessors.resize(seconds.size());
    for (const auto& [from, to] : pairs) {
      edges.successors[NodeId{from}].push_back(NodeId{to});
      edges.predecessors[NodeId{to}].push_back(NodeId{from});
    }
  }
  Case& region(const std::vector<int>& nodes, double seconds) {
    Region& region = regions.emplace_back();
    for (const int node : nodes) {
      region.nodes.emplace_back(node);
      region.cost.cpu_seconds += cpu[NodeId{node}];
    }
    region.cost.delegate_seconds = seconds;
    if (region.cost.saved_seconds() <= 0) region.verdict.reason = CpuReason::kLoses;
    return *this;
  }
  std::vector<bool> offloaded() const {
    std::vector<bool> result;
    for (const Region& region : regions)
      result.push_back(region.verdict.reason == CpuReason::kNone);
    return result;
  }
  double seconds(const std::vector<bool>& offloaded) const {
    return Overlap(edges, cpu, regions).seconds(offloaded);
  }
  double choose(std::optional<int> max_regions = {}) {
    return choose_by_overlap(Overlap(edges, cpu, regions), regions, max_regions);
  }
};

const std::vector<std::pair<int, int>> kDiamond = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};

TEST(Overlap, RunsBothAtOnce) {
  const Case both = Case({1, 2, 4, 1}, kDiamond).region({1}, 3);
  EXPECT_EQ(both.seconds({false}), 8);
  EXPECT_EQ(both.seconds({true}), 1 + 4 + 1);
  const Case late = Case({1, 2, 4, 1}, kDiamond).region({1}, 6);
  EXPECT_EQ(late.seconds({true}), 1 + 6 + 1);
}

TEST(Overlap, TheDeviceRunsOneRegionAtATime) {
  const Case both = Case({1, 2, 4, 1}, kDiamond).region({1}, 3).region({2}, 2);
  EXPECT_EQ(both.seconds({true, true}), 1 + 3 + 2 + 1);
}

TEST(Overlap, EachDeviceRunsItsOwnRegions) {
  Case both = Case({1, 2, 4, 1}, kDiamond).region({1}, 3).region({2}, 2);
  both.regions[1].delegate = 1;
  EXPECT_EQ(both.seconds({true, true}), 1 + 3 + 1);
}

TEST(Overlap, TheLongestPathGoesFirst) {
  // 0 before 1, though both are ready: a region waits for 0.
  const Case graph = Case({1, 5, 6}, {{0, 2}}).region({2}, 4);
  EXPECT_EQ(graph.seconds({true}), 6);
}

TEST(Overlap, ARegionWaitsForAllItsInputs) {
  const Case chain = Case({1, 1, 1, 1}, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}).region({1, 2}, 5);
  EXPECT_EQ(chain.seconds({true}), 7);
}

TEST(ChooseByOverlap, OffloadsALoserThatRunsBesideTheCpu) {
  Case graph = Case({1, 4, 4, 1}, kDiamond).region({1}, 5);
  EXPECT_EQ(graph.choose(), 1 + 5 + 1);
  EXPECT_THAT(graph.offloaded(), testing::ElementsAre(true));
  EXPECT_EQ(graph.regions[0].verdict.detail,
            "the whole takes 7000 ms offloaded < 1e+04 ms on the CPU");
}

TEST(ChooseByOverlap, LeavesAWinnerToAnIdleCpu) {
  Case graph = Case({1, 4, 4, 1}, kDiamond).region({1}, 3).region({2}, 3);
  EXPECT_EQ(graph.choose(), 1 + 4 + 1);
  EXPECT_EQ(std::accumulate(graph.regions.begin(), graph.regions.end(), 0,
                            [](int n, const Region& r) {
                              return n + (r.verdict.reason == CpuReason::kNone ? 1 : 0);
                            }),
            1);
}

TEST(ChooseByOverlap, KeepsALoserOfAChainOnTheCpu) {
  Case graph = Case({1, 4, 1}, {{0, 1}, {1, 2}}).region({1}, 4.5);
  EXPECT_EQ(graph.choose(), 6);
  EXPECT_THAT(graph.offloaded(), testing::ElementsAre(false));
}

TEST(ChooseByOverlap, OffloadsNoMoreThanItMay) {
  Case graph = Case({1, 4, 4, 1}, kDiamond).region({1}, 1).region({2}, 1);
  graph.regions[1].verdict.reason = CpuReason::kLoses;
  graph.choose(1);
  EXPECT_THAT(graph.offloaded(), testing::UnorderedElementsAre(true, false));
  Case none = Case({1, 4, 4, 1}, kDiamond).region({1}, 5);
  EXPECT_EQ(none.choose(0), 10);
}

TEST(ChooseByOverlap, LeavesWhatIsTaken) {
  // The taken region loses; with it, the other one wins only as long as it is counted.
  Case graph = Case({1, 4, 4, 1}, kDiamond).region({1}, 9).region({2}, 3);
  graph.regions[0].verdict.reason = CpuReason::kNone;
  graph.regions[1].delegate = 1;
  EXPECT_EQ(choose_by_overlap(Overlap(graph.edges, graph.cpu, graph.regions), graph.regions, 1, 1),
            1 + 9 + 1);
  EXPECT_THAT(graph.offloaded()[0], true);
}

TEST(ChooseByOverlap, LeavesWhatDoesNotFit) {
  Case graph = Case({1, 4, 4, 1}, kDiamond).region({1}, 1);
  graph.regions[0].verdict.reason = CpuReason::kMemory;
  EXPECT_EQ(graph.choose(), 10);
  EXPECT_EQ(graph.regions[0].verdict.reason, CpuReason::kMemory);
}

TEST(ChooseByOverlap, TakesNoReplayForEachOfVeryManyRegions) {
  constexpr int kRegions = 20'000;
  Case graph(std::vector<double>(kRegions, 1));
  for (int i = 0; i < kRegions; ++i) {
    graph.region({i}, 5);
    graph.regions.back().verdict.reason = CpuReason::kNone;
  }
  EXPECT_EQ(graph.choose(kRegions), kRegions) << "nothing is offloaded";
  EXPECT_EQ(graph.regions.back().verdict.reason, CpuReason::kLoses);
  EXPECT_EQ(graph.choose(), graph.seconds(graph.offloaded()));
}

/// Layers of nodes with edges to the next one; regions are single nodes.
Case random_case() {
  const int layers = *rc::gen::inRange(1, 6), width = *rc::gen::inRange(1, 4);
  std::vector<double> seconds;
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < layers * width; ++i) {
    seconds.push_back(*rc::gen::inRange(0, 9));
    for (int to = (i / width + 1) * width; to < std::min(layers, i / width + 2) * width; ++to)
      if (*rc::gen::arbitrary<bool>()) pairs.emplace_back(i, to);
  }
  Case result(seconds, pairs);
  for (int i = 0; i < layers * width; ++i)
    if (*rc::gen::arbitrary<bool>()) result.region({i}, *rc::gen::inRange(0, 9));
  return result;
}

TEST(ChooseByOverlapProperty, IsNeverWorseThanWinnersNorThanNothing) {
  EXPECT_TRUE(rc::check([] {
    Case graph = random_case();
    const double winners = graph.seconds(graph.offloaded());
    const double nothing = graph.seconds(std::vector<bool>(graph.regions.size(), false));
    const double best = graph.choose();
    RC_ASSERT(best <= winners);
    RC_ASSERT(best <= nothing);
    RC_ASSERT(best == graph.seconds(graph.offloaded()));
    double all = 0;
    for (const double s : graph.cpu) all += s;
    RC_ASSERT(nothing == all);
  }));
}

}  // namespace
}  // namespace parallax
