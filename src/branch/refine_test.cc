// Tests which branches of a layer run concurrently.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "branch/branch.h"
#include "branch/dag_test_util.h"
#include "branch/numbers_test_util.h"

namespace parallax {
namespace {

struct RefineCase {
  const char* name;
  std::vector<std::pair<int, double>> branches;  ///< nodes (0: a delegate's), ms or MAC
  Numbers parallel;
  std::vector<int> sequential;
};

void PrintTo(const RefineCase& c, std::ostream* out) { *out << c.name; }

struct Layer {
  explicit Layer(const std::vector<std::pair<int, double>>& branches) {
    graph.layers.resize(1);
    for (const auto& [nodes, cost] : branches) {
      const auto count = static_cast<std::size_t>(std::max(nodes, 1));
      graph.layers[0].push_back(graph.branches.push_back(std::vector<NodeId>(count, NodeId{0})));
      graph.region.push_back(nodes == 0 ? RegionId{0} : RegionId{});
      costs.push_back(cost);
    }
  }
  BranchGraph graph;
  IdVector<BranchId, double> costs;
};

void expect_groups(const std::vector<LayerGroups>& groups, const RefineCase& expected) {
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(numbers(groups[0].parallel), expected.parallel);
  std::vector<int> sequential;
  for (BranchId branch : groups[0].sequential) sequential.push_back(branch.value);
  EXPECT_EQ(sequential, expected.sequential);
}

class RefineByTime : public testing::TestWithParam<RefineCase> {};

TEST_P(RefineByTime, GroupsBalancedBranches) {
  Layer layer(GetParam().branches);
  for (double& cost : layer.costs) cost *= 1e-3;
  expect_groups(refine_by_time(layer.graph, layer.costs), GetParam());
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    Layers, RefineByTime,
    testing::Values(
        RefineCase{"alone", {{9, 5}}, {}, {0}},
        RefineCase{"exactly_beta", {{1, 2}, {1, 3}}, {{0, 1}}, {}},
        RefineCase{"above_beta", {{3, 2}, {3, 3.001}}, {}, {0, 1}},
        RefineCase{"too_short", {{9, 0.01}, {9, 0.01}, {1, 0.011}, {1, 0.011}}, {{2, 3}}, {0, 1}},
        RefineCase{"no_time", {{3, 0}, {3, 0}, {3, -1}}, {}, {0, 1, 2}},
        RefineCase{
            "not_a_number", {{3, kNan}, {3, kInf}, {3, kInf}, {3, 1}, {3, 1}}, {{3, 4}}, {0, 1, 2}},
        RefineCase{
            "two_groups", {{3, 10}, {3, 100}, {3, 11}, {3, 120}, {3, 40}}, {{1, 3}, {0, 2}}, {4}},
        RefineCase{"heaviest_first", {{3, 10}, {3, 7}, {3, 6}, {3, 5}}, {{0, 1}, {2, 3}}, {}},
        // A delegate's branch joins the heaviest group or the longest branch, whatever its time.
        RefineCase{"delegate_and_group", {{3, 5}, {0, 900}, {3, 5}, {3, 1}}, {{0, 1, 2}}, {3}},
        RefineCase{"delegate_and_branch", {{3, 1}, {0, 900}, {3, 5}}, {{1, 2}}, {0}},
        RefineCase{"delegate_alone", {{0, 1}}, {}, {0}},
        RefineCase{"two_delegates", {{0, 1}, {0, 9}}, {{0, 1}}, {}}),
    [](const auto& test) { return std::string(test.param.name); });

class RefineByPaper : public testing::TestWithParam<RefineCase> {};

TEST_P(RefineByPaper, ALayerIsParallelAsAWholeOrNotAtAll) {
  const Layer layer(GetParam().branches);
  expect_groups(refine_by_paper(layer.graph, layer.costs), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Layers, RefineByPaper,
    testing::Values(RefineCase{"alone", {{9, 5}}, {}, {0}},
                    RefineCase{"exactly_beta", {{3, 2}, {3, 3}, {4, 2}}, {{0, 1, 2}}, {}},
                    RefineCase{"above_beta", {{3, 2}, {3, 3.001}}, {}, {0, 1}},
                    RefineCase{"one_has_too_few_nodes", {{2, 2}, {3, 2}, {3, 2}}, {}, {0, 1, 2}},
                    RefineCase{"one_is_empty", {{3, 0}, {3, 2}, {3, 2}}, {}, {0, 1, 2}},
                    RefineCase{"all_are_empty", {{3, 0}, {3, 0}}, {}, {0, 1}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(RefineNothing, EveryLayerOfSeveralBranchesIsParallel) {
  for (const RefineCase& layer :
       {RefineCase{"one", {{9, 5}}, {}, {0}}, RefineCase{"uneven", {{1, 0}, {3, 9}}, {{0, 1}}, {}}})
    expect_groups(refine_nothing(Layer(layer.branches).graph), layer);
}

TEST(RefineProperty, GroupsPartitionTheLayerAndAreBalanced) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    BranchGraph graph = find_branches(coarsen(random_dag(seed)));
    RandomDag random(seed);
    IdVector<BranchId, double> work;
    for (const BranchId branch : graph.branches.ids()) {
      work.push_back(random.below(10) * 5e-6);
      if (random.below(6) == 0) graph.region[branch] = RegionId{branch.value};
    }
    const auto on_delegate = [&](BranchId b) { return graph.region[b].valid(); };
    for (const auto& groups : {refine_by_time(graph, work), refine_by_paper(graph, work)}) {
      for (std::size_t layer = 0; layer < groups.size(); ++layer) {
        std::vector<BranchId> all = groups[layer].sequential;
        for (const auto& group : groups[layer].parallel) {
          all.insert(all.end(), group.begin(), group.end());
          RC_ASSERT(group.size() >= 2U);
          const bool mixed = std::any_of(group.begin(), group.end(), on_delegate);
          for (BranchId a : group) {
            RC_ASSERT(work[a] > 0 || mixed);
            for (BranchId b : group) RC_ASSERT(mixed || work[a] <= kBalance * work[b]);
          }
        }
        std::sort(all.begin(), all.end());
        RC_ASSERT(all == graph.layers[layer]);
      }
    }
  }));
}

TEST(RefineProperty, ADelegateOverlapsWhereverThereIsAnythingToOverlapWith) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    BranchGraph graph = find_branches(coarsen(random_dag(seed)));
    RandomDag random(seed);
    for (RegionId& region : graph.region)
      if (random.below(3) == 0) region = RegionId{0};
    const IdVector<BranchId, double> seconds(graph.branches.size(), random.below(3) * 1e-5);
    const auto groups = refine_by_time(graph, seconds);
    for (std::size_t layer = 0; layer < groups.size(); ++layer)
      for (const BranchId branch : groups[layer].sequential)
        RC_ASSERT(!graph.region[branch].valid() || graph.layers[layer].size() == 1);
  }));
}

}  // namespace
}  // namespace parallax
