#include "branch/branch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "branch/dag_test_util.h"

namespace parallax {
namespace {

using Numbers = std::vector<std::vector<int>>;

template <class List>
Numbers numbers(const List& lists) {
  Numbers result;
  for (const auto& list : lists) {
    result.emplace_back();
    for (auto id : list) result.back().push_back(id.value);
  }
  return result;
}

struct BranchCase {
  const char* name;
  Numbers predecessors;
  Numbers branches;
  Numbers layers;
};

void PrintTo(const BranchCase& c, std::ostream* out) { *out << c.name; }

class FindBranches : public testing::TestWithParam<BranchCase> {};

TEST_P(FindBranches, SplitsAndLayers) {
  const BranchGraph graph = find_branches(make_dag(GetParam().predecessors));
  EXPECT_EQ(numbers(graph.branches), GetParam().branches);
  EXPECT_EQ(numbers(graph.layers), GetParam().layers);
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, FindBranches,
    testing::Values(
        BranchCase{"empty", {}, {}, {}}, BranchCase{"one_node", {{}}, {{0}}, {{0}}},
        BranchCase{"chain", {{}, {0}, {1}}, {{0, 1, 2}}, {{0}}},
        //     0
        //    / \      none of the four may get lost
        //   1   2
        //    \ /
        //     3
        BranchCase{"diamond", {{}, {0}, {0}, {1, 2}}, {{0}, {1}, {2}, {3}}, {{0}, {1, 2}, {3}}},
        //   0 - 1 -+- 2 - 3 -+- 6 - 7     the Splitter 1 ends a branch, the Merger 6 begins one
        //          +- 4 - 5 -+
        BranchCase{"chains",
                   {{}, {0}, {1}, {2}, {1}, {4}, {3, 5}, {6}},
                   {{0, 1}, {2, 3}, {4, 5}, {6, 7}},
                   {{0}, {1, 2}, {3}}},
        //   0 -+- 2 -+- 3     2 merges and splits: alone
        //   1 -+     +- 4
        BranchCase{"split_merge",
                   {{}, {}, {0, 1}, {2}, {2}},
                   {{0}, {1}, {2}, {3}, {4}},
                   {{0, 1}, {2}, {3, 4}}},
        //   0 -+------+- 2    the skip makes 2 a Merger, and its layer the longest path
        //      +- 1 --+
        BranchCase{"skip", {{}, {0}, {0, 1}}, {{0}, {1}, {2}}, {{0}, {1}, {2}}},
        BranchCase{"apart", {{}, {}, {0}, {1}}, {{0, 2}, {1, 3}}, {{0, 1}}},
        BranchCase{"fan", {{}, {0}, {0}, {0}}, {{0}, {1}, {2}, {3}}, {{0}, {1, 2, 3}}},
        //   0 -+- 1 - 3 -+- 4   1 interleaved with another branch in the model's order
        //      +- 2 -----+
        BranchCase{"interleaved",
                   {{}, {0}, {0}, {1}, {2, 3}},
                   {{0}, {1, 3}, {2}, {4}},
                   {{0}, {1, 2}, {3}}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Classify, CountsDistinctNeighboursAndNoneAsOne) {
  //  0 -+- 1 -+- 3 -+- 4
  //     +- 2 -+     +- 5
  const Dag dag = make_dag({{}, {0, 0}, {0}, {1, 2}, {3}, {3}});
  const NodeClass expected[] = {NodeClass::kSplitter,   NodeClass::kSequential,
                                NodeClass::kSequential, NodeClass::kSplitMerge,
                                NodeClass::kSequential, NodeClass::kSequential};
  for (NodeId node : dag.predecessors.ids()) {
    EXPECT_EQ(classify(dag, node), expected[node.value]) << node.value;
  }
  EXPECT_EQ(classify(make_dag({{}, {}, {0, 1}}), NodeId{2}), NodeClass::kMerger);
  EXPECT_EQ(to_string(NodeClass::kSplitMerge), "Split-Merge");
}

TEST(DagOf, IgnoresInputsConstantsAndSymbolicValues) {
  Graph graph;
  const auto value = [&](ValueKind kind, NodeId producer) {
    Value v;
    v.kind = kind;
    v.producer = producer;
    return graph.values.push_back(std::move(v));
  };
  const ValueId input = value(ValueKind::kInput, {});
  const ValueId constant = value(ValueKind::kConstant, {});
  const ValueId symbolic = value(ValueKind::kSymbolic, {});
  const ValueId a = value(ValueKind::kResult, NodeId{0});
  const ValueId b = value(ValueKind::kResult, NodeId{0});
  const ValueId c = value(ValueKind::kResult, NodeId{1});
  const auto node = [&](std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
    Node n;
    n.inputs = std::move(inputs);
    n.outputs = std::move(outputs);
    graph.nodes.push_back(std::move(n));
  };
  node({input, constant}, {a, b});
  node({b, a, symbolic}, {c});         // two tensors of one node are one edge
  node({c, ValueId{}, a, input}, {});  // an input left out
  const Dag dag = dag_of(graph);
  EXPECT_EQ(numbers(dag.predecessors), (Numbers{{}, {0}, {0, 1}}));
  EXPECT_EQ(numbers(dag.successors), (Numbers{{1, 2}, {2}, {}}));
}

struct RefineCase {
  const char* name;
  std::vector<std::pair<int, double>> branches;  ///< nodes, work
  Numbers parallel;
  std::vector<int> sequential;
};

void PrintTo(const RefineCase& c, std::ostream* out) { *out << c.name; }

class Refine : public testing::TestWithParam<RefineCase> {};

TEST_P(Refine, GroupsBalancedBranches) {
  BranchGraph graph;
  IdVector<BranchId, double> work;
  graph.layers.resize(1);
  for (const auto& [nodes, cost] : GetParam().branches) {
    graph.layers[0].push_back(
        graph.branches.push_back(std::vector<NodeId>(static_cast<std::size_t>(nodes), NodeId{0})));
    work.push_back(cost);
  }
  const auto groups = refine(graph, work);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(numbers(groups[0].parallel), GetParam().parallel);
  std::vector<int> sequential;
  for (BranchId branch : groups[0].sequential) sequential.push_back(branch.value);
  EXPECT_EQ(sequential, GetParam().sequential);
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    Layers, Refine,
    testing::Values(
        RefineCase{"alone", {{9, 5}}, {}, {0}},
        RefineCase{"exactly_beta", {{3, 2}, {3, 3}}, {{0, 1}}, {}},
        RefineCase{"above_beta", {{3, 2}, {3, 3.001}}, {}, {0, 1}},
        RefineCase{"too_few_nodes", {{2, 2}, {3, 2}, {3, 2}}, {{1, 2}}, {0}},
        RefineCase{"no_work", {{3, 0}, {3, 0}, {3, -1}}, {}, {0, 1, 2}},
        RefineCase{
            "not_a_number", {{3, kNan}, {3, kInf}, {3, kInf}, {3, 1}, {3, 1}}, {{3, 4}}, {0, 1, 2}},
        RefineCase{
            "two_groups", {{3, 10}, {3, 100}, {3, 11}, {3, 120}, {3, 40}}, {{1, 3}, {0, 2}}, {4}},
        RefineCase{"heaviest_first", {{3, 10}, {3, 7}, {3, 6}, {3, 5}}, {{0, 1}, {2, 3}}, {}}),
    [](const auto& test) { return std::string(test.param.name); });

/// Every node once, branches are paths that cannot be made longer, layers respect the edges.
void check_branches(const Dag& dag, const BranchGraph& graph) {
  std::vector<int> seen(dag.predecessors.size(), 0);
  for (BranchId branch : graph.branches.ids()) {
    const auto& nodes = graph.branches[branch];
    RC_ASSERT(!nodes.empty());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ++seen[static_cast<std::size_t>(nodes[i].value)];
      RC_ASSERT(graph.branch_of[nodes[i]] == branch);
      if (i > 0) {
        RC_ASSERT(dag.predecessors[nodes[i]] == std::vector<NodeId>{nodes[i - 1]});
        RC_ASSERT(dag.successors[nodes[i - 1]] == std::vector<NodeId>{nodes[i]});
      }
    }
    const auto& ends = dag.successors[nodes.back()];
    if (ends.size() == 1) RC_ASSERT(dag.predecessors[ends.front()].size() > 1);
  }
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));

  std::vector<int> layer(graph.branches.size(), -1);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    RC_ASSERT(!graph.layers[i].empty());
    for (BranchId branch : graph.layers[i]) {
      RC_ASSERT(layer[static_cast<std::size_t>(branch.value)] == -1);
      layer[static_cast<std::size_t>(branch.value)] = static_cast<int>(i);
    }
  }
  const auto layer_of = [&](NodeId node) {
    return layer[static_cast<std::size_t>(graph.branch_of[node].value)];
  };
  for (NodeId node : dag.predecessors.ids()) {
    RC_ASSERT(layer_of(node) >= 0);
    for (NodeId predecessor : dag.predecessors[node]) {
      const BranchId from = graph.branch_of[predecessor], to = graph.branch_of[node];
      if (from == to) continue;
      RC_ASSERT(from < to);
      RC_ASSERT(layer_of(predecessor) < layer_of(node));
      RC_ASSERT(std::count(graph.predecessors[to].begin(), graph.predecessors[to].end(), from) ==
                1);
      RC_ASSERT(std::count(graph.successors[from].begin(), graph.successors[from].end(), to) == 1);
    }
  }
}

TEST(FindBranchesProperty, BranchesPartitionTheNodes) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    const Dag dag = random_dag(seed);
    check_branches(dag, find_branches(dag));
  }));
}

TEST(RefineProperty, GroupsPartitionTheLayerAndAreBalanced) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    const BranchGraph graph = find_branches(random_dag(seed));
    RandomDag random(seed);
    IdVector<BranchId, double> work;
    for (std::size_t i = 0; i < graph.branches.size(); ++i) work.push_back(random.below(10));
    const auto groups = refine(graph, work);
    for (std::size_t layer = 0; layer < groups.size(); ++layer) {
      std::vector<BranchId> all = groups[layer].sequential;
      for (const auto& group : groups[layer].parallel) {
        all.insert(all.end(), group.begin(), group.end());
        RC_ASSERT(group.size() >= 2U);
        for (BranchId a : group) {
          RC_ASSERT(graph.branches[a].size() > 2U);
          for (BranchId b : group) RC_ASSERT(work[a] <= kBalance * work[b]);
        }
      }
      std::sort(all.begin(), all.end());
      RC_ASSERT(all == graph.layers[layer]);
    }
  }));
}

}  // namespace
}  // namespace parallax
