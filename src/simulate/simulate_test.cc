#include "simulate/simulate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace parallax {
namespace {

SimulatedNode node(double seconds, std::int64_t tiles = 1, double bytes = 0) {
  return {{seconds}, bytes, tiles};
}
/// A node with different times on two kinds of cores.
SimulatedNode uneven(double fast, double slow, std::int64_t tiles = 1) {
  return {{fast, slow}, 0, tiles};
}

Workload workload(std::vector<std::vector<SimulatedNode>> branches,
                  std::vector<std::vector<int>> waits) {
  Workload result;
  for (auto& nodes : branches) result.branches.push_back(std::move(nodes));
  for (const auto& list : waits) {
    const BranchId branch = result.waits.push_back({});
    for (const int before : list) result.waits[branch].push_back(BranchId{before});
  }
  result.delegate_seconds.resize(result.branches.size());
  return result;
}

double seconds(const Workload& w, const SimulatedCpu& cpu) {
  const auto simulation = simulate(w, cpu);
  EXPECT_TRUE(simulation.has_value());
  return simulation ? simulation->seconds : -1;
}

TEST(Simulate, KnownAnswers) {
  const SimulatedCpu one{{0}, 0, 0, 0}, two{{0, 0}, 0, 0, 0}, mixed{{0, 1}, 0, 0, 0};
  const Workload chain = workload({{node(3), node(4)}}, {{}});
  const Workload tiled = workload({{node(4, 4)}}, {{}});
  const Workload diamond =
      workload({{node(1)}, {node(3)}, {node(2)}, {node(1)}}, {{}, {0}, {0}, {1, 2}});
  struct Case {
    const char* what;
    const Workload& workload;
    SimulatedCpu cpu;
    double seconds;
  } const cases[] = {
      {"a chain", chain, one, 7},
      {"one tile cannot be shared", chain, two, 7},
      {"four tiles on two cores", tiled, two, 2},
      {"the slow core takes one tile of four", workload({{uneven(4, 8, 4)}}, {{}}), mixed, 3},
      {"what a core is slow at", workload({{uneven(2, 20, 2), uneven(2, 2, 2)}}, {{}}), mixed, 11},
      {"only slow cores", workload({{uneven(4, 8, 4)}}, {{}}), {{1}, 0, 0, 0}, 8},
      {"a diamond one after the other", diamond, one, 7},
      {"both sides of a diamond in parallel", diamond, two, 5},
      {"every node costs to start", chain, {{0}, 0, 0.5, 0}, 8},
      {"joining costs", tiled, {{0, 0}, 0, 0, 0.5}, 2.5},
      {"nothing at all", workload({}, {}), one, 0},
      {"nodes without tiles", workload({{node(9, 0)}}, {{}}), one, 0},
  };
  for (const Case& c : cases) {
    EXPECT_DOUBLE_EQ(seconds(c.workload, c.cpu), c.seconds) << c.what;
  }
}

TEST(Simulate, CoresShareTheMemory) {
  // Each branch alone draws 8 bytes per second.
  const Workload pair = workload({{node(1, 1, 8)}, {node(1, 1, 8)}}, {{}, {}});
  EXPECT_DOUBLE_EQ(seconds(pair, {{0, 0}, 16, 0, 0}), 1);
  // The first tile starts alone at full speed, the second finds half of the bandwidth taken.
  EXPECT_DOUBLE_EQ(seconds(pair, {{0, 0}, 8, 0, 0}), 2);
}

TEST(Simulate, ADelegateRunsBesideTheCpu) {
  Workload w = workload({{}, {node(3)}, {node(1)}}, {{}, {}, {0, 1}});
  w.delegate_seconds[BranchId{0}] = 2;
  const auto simulation = simulate(w, {{0}, 0, 0, 0});
  ASSERT_TRUE(simulation.has_value());
  EXPECT_DOUBLE_EQ(simulation->seconds, 4);
  EXPECT_DOUBLE_EQ(simulation->busy_seconds, 4);
  EXPECT_DOUBLE_EQ(simulation->spans[BranchId{0}].end, 2);
}

TEST(Simulate, ADelegateTakesOneRegionAfterTheOther) {
  Workload w = workload({{}, {}, {node(1)}}, {{}, {}, {}});
  w.delegate_seconds[BranchId{0}] = 2;
  w.delegate_seconds[BranchId{1}] = 3;
  const auto simulation = simulate(w, {{0}, 0, 0, 0});
  ASSERT_TRUE(simulation.has_value());
  EXPECT_DOUBLE_EQ(simulation->seconds, 5);
  EXPECT_DOUBLE_EQ(simulation->spans[BranchId{1}].begin, 2);
  EXPECT_DOUBLE_EQ(simulation->spans[BranchId{1}].end, 5);
}

TEST(Simulate, RefusesWhatCannotRun) {
  EXPECT_FALSE(simulate(workload({{}, {}}, {{1}, {0}}), {{0}, 0, 0, 0}).has_value());
  EXPECT_FALSE(simulate(workload({{}}, {{}}), {{}, 0, 0, 0}).has_value());
  EXPECT_FALSE(simulate(workload({{}, {}}, {{}}), {{0}, 0, 0, 0}).has_value());
  EXPECT_FALSE(simulate(workload({{node(1)}}, {{}}), {{0, 1}, 0, 0, 0}).has_value());
}

RC_GTEST_PROP(SimulateProperty, StaysBetweenItsBounds, ()) {
  const int count = *rc::gen::inRange(1, 20);
  std::vector<std::vector<SimulatedNode>> branches;
  std::vector<std::vector<int>> waits;
  double work = 0, longest_tile = 0;
  int nodes = 0;
  for (int i = 0; i < count; ++i) {
    branches.emplace_back();
    for (int k = *rc::gen::inRange(0, 4); k > 0; --k, ++nodes) {
      branches.back().push_back(node(*rc::gen::inRange(0, 100), *rc::gen::inRange(1, 9)));
      work += branches.back().back().seconds[0];
      longest_tile = std::max(longest_tile, branches.back().back().seconds[0]);
    }
    waits.emplace_back();
    for (int j = 0; j < i; ++j)
      if (*rc::gen::inRange(0, 4) == 0) waits.back().push_back(j);
  }
  const Workload w = workload(branches, waits);
  const auto threads = static_cast<std::size_t>(*rc::gen::inRange(1, 5));
  const SimulatedCpu cpu{std::vector<std::size_t>(threads, 0), 0, 0, 0};
  const auto simulation = simulate(w, cpu);
  RC_ASSERT(simulation.has_value());
  const double epsilon = 1e-9 * (work + 1);
  RC_ASSERT(simulation->seconds <= work + epsilon);
  RC_ASSERT(simulation->seconds >= work / static_cast<double>(threads) - epsilon);
  RC_ASSERT(std::abs(simulation->busy_seconds - work) <= epsilon);
  for (const BranchId branch : w.branches.ids())
    for (const BranchId before : w.waits[branch])
      RC_ASSERT(simulation->spans[before].end <= simulation->spans[branch].begin + epsilon);
  RC_ASSERT(simulate(w, cpu)->seconds == simulation->seconds);
}

}  // namespace
}  // namespace parallax
