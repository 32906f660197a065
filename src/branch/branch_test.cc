// Tests branches and layers of graphs, with and without regions.
#include "branch/branch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "branch/dag_test_util.h"
#include "branch/numbers_test_util.h"
#include "partition/regions.h"

namespace parallax {
namespace {

struct BranchCase {
  const char* name;
  Numbers predecessors;
  Numbers branches;
  Numbers layers;
};

void PrintTo(const BranchCase& c, std::ostream* out) { *out << c.name; }

class FindBranches : public testing::TestWithParam<BranchCase> {};

TEST_P(FindBranches, SplitsAndLayers) {
  const BranchGraph graph = find_branches(coarsen(make_dag(GetParam().predecessors)));
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
  const CoarseDag coarse = coarsen(dag);
  for (UnitId unit : coarse.nodes.ids()) {
    EXPECT_EQ(classify(coarse, unit), expected[unit.value]) << unit.value;
  }
  EXPECT_EQ(classify(coarsen(make_dag({{}, {}, {0, 1}})), UnitId{2}), NodeClass::kMerger);
  EXPECT_EQ(to_string(NodeClass::kSplitMerge), "Split-Merge");
}

TEST(Classify, ForcedNodesAreSplitMergeAndAlone) {
  Dag dag = make_dag({{}, {0}, {1}});
  dag.forced = IdVector<NodeId, bool>(3, false);
  dag.forced[NodeId{1}] = true;
  const CoarseDag coarse = coarsen(dag);
  EXPECT_EQ(classify(coarse, UnitId{1}), NodeClass::kSplitMerge);
  EXPECT_EQ(numbers(find_branches(coarse).branches), (Numbers{{0}, {1}, {2}}));
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

/// Parses the region of each node: a letter, '.' if the CPU runs the node.
IdVector<NodeId, RegionId> regions(std::string_view letters) {
  IdVector<NodeId, RegionId> result;
  for (const char c : letters) result.push_back(c == '.' ? RegionId{} : RegionId{c - 'a'});
  return result;
}

struct RegionCase {
  const char* name;
  Numbers predecessors;
  const char* regions;
  Numbers branches;
  Numbers layers;
  std::vector<int> region;  ///< region of each branch
};

void PrintTo(const RegionCase& c, std::ostream* out) { *out << c.name; }

class Regions : public testing::TestWithParam<RegionCase> {};

TEST_P(Regions, AreBranchesOfTheirOwn) {
  const Dag dag = make_dag(GetParam().predecessors);
  const BranchGraph graph = find_branches(coarsen(dag, regions(GetParam().regions)));
  EXPECT_EQ(numbers(graph.branches), GetParam().branches);
  EXPECT_EQ(numbers(graph.layers), GetParam().layers);
  std::vector<int> region;
  for (const RegionId id : graph.region) region.push_back(id.value);
  EXPECT_EQ(region, GetParam().region);
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, Regions,
    testing::Values(
        RegionCase{"all", {{}, {0}, {1}}, "aaa", {{0, 1, 2}}, {{0}}, {0}},
        RegionCase{"inside_a_chain",
                   {{}, {0}, {1}, {2}, {3}},
                   "..aa.",
                   {{0, 1}, {2, 3}, {4}},
                   {{0}, {1}, {2}},
                   {-1, 0, -1}},
        RegionCase{"one_after_the_other", {{}, {0}}, "ab", {{0}, {1}}, {{0}, {1}}, {0, 1}},
        //   0a -+- 1a --- 3a     2 waits for 1a and so for all of the region
        //       +- 2
        RegionCase{"a_detour_runs_after_it",
                   {{}, {0}, {0}, {1}},
                   "aa.a",
                   {{0, 1, 3}, {2}},
                   {{0}, {1}},
                   {0, -1}},
        //   0a   1 --- 2a: the region's first node stands before 1, which it waits for
        RegionCase{
            "waits_for_a_later_node", {{}, {}, {0, 1}}, "a.a", {{1}, {0, 2}}, {{0}, {1}}, {-1, 0}},
        //   0 -+- 1a - 2a -+- 5     split and merge inside a region are no concern of branches
        //      |   +-- 3a -+
        //      +- 4 -------+
        RegionCase{"beside_the_cpu",
                   {{}, {0}, {1}, {1}, {0}, {2, 3, 4}},
                   ".aaa..",
                   {{0}, {1, 2, 3}, {4}, {5}},
                   {{0}, {1, 2}, {3}},
                   {-1, 0, -1, -1}}),
    [](const auto& test) { return std::string(test.param.name); });

/// Returns the unit of each node.
IdVector<NodeId, UnitId> units_of(const CoarseDag& coarse, std::size_t nodes) {
  IdVector<NodeId, UnitId> result(nodes);
  for (const UnitId unit : coarse.nodes.ids()) {
    for (const NodeId node : coarse.nodes[unit]) result[node] = unit;
  }
  return result;
}

/// Expects every node once, branches that are maximal paths of units, and each region as a branch
/// of its own.
void check_branches(const Dag& dag, const CoarseDag& coarse, const BranchGraph& graph) {
  const auto unit_of = units_of(coarse, dag.predecessors.size());
  std::vector<int> seen(dag.predecessors.size(), 0);
  const auto joins = [&](UnitId from, UnitId to) {
    return coarse.successors[from] == std::vector<UnitId>{to} &&
           coarse.predecessors[to] == std::vector<UnitId>{from} && !coarse.forced[from] &&
           !coarse.forced[to];
  };
  for (BranchId branch : graph.branches.ids()) {
    const auto& nodes = graph.branches[branch];
    RC_ASSERT(!nodes.empty());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ++seen[static_cast<std::size_t>(nodes[i].value)];
      RC_ASSERT(graph.branch_of[nodes[i]] == branch);
      RC_ASSERT(coarse.region[unit_of[nodes[i]]] == graph.region[branch]);
      if (i > 0 && !graph.region[branch].valid())
        RC_ASSERT(joins(unit_of[nodes[i - 1]], unit_of[nodes[i]]));
    }
    const auto& ends = coarse.successors[unit_of[nodes.back()]];
    if (ends.size() == 1) RC_ASSERT(!joins(unit_of[nodes.back()], ends.front()));
  }
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

/// Expects each branch in one layer, after all that it depends on, and edges in both directions.
void check_layers(const Dag& dag, const BranchGraph& graph) {
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
    const CoarseDag coarse = coarsen(dag);
    for (const UnitId unit : coarse.nodes.ids())
      RC_ASSERT(coarse.nodes[unit] == std::vector<NodeId>{NodeId{unit.value}});
    const BranchGraph graph = find_branches(coarse);
    check_branches(dag, coarse, graph);
    check_layers(dag, graph);
  }));
}

TEST(FindBranchesProperty, WithRegionsTheyStillPartitionTheNodes) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    const Dag dag = random_dag(seed);
    RandomDag random(seed);
    IdVector<NodeId, bool> can_run;
    for (std::size_t i = 0; i < dag.predecessors.size(); ++i)
      can_run.push_back(random.below(3) > 0);
    const Quotient quotient = find_candidates(dag, can_run);
    IdVector<NodeId, RegionId> region_of(can_run.size());
    for (const NodeId node : can_run.ids())  // some are given back
      if (can_run[node] && quotient.group_of(node).value % 4 != 0)
        region_of[node] = RegionId{quotient.group_of(node).value};
    const CoarseDag coarse = coarsen(dag, region_of);
    const auto unit_of = units_of(coarse, can_run.size());
    for (const NodeId a : can_run.ids()) {
      RC_ASSERT(coarse.region[unit_of[a]] == region_of[a]);
      for (const NodeId b : can_run.ids()) {
        const bool together = a == b || (region_of[a].valid() && region_of[a] == region_of[b]);
        RC_ASSERT((unit_of[a] == unit_of[b]) == together);
      }
    }
    const BranchGraph graph = find_branches(coarse);
    check_branches(dag, coarse, graph);
    check_layers(dag, graph);
  }));
}

}  // namespace
}  // namespace parallax
