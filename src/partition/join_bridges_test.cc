// Tests where bridges join regions, and that no cycle results.
#include "partition/join_bridges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/dag.h"
#include "partition/partition_test_util.h"

namespace parallax {
namespace {

TEST(Partition, JoinsRegionsOverABridgeWhereItPays) {
  const Planned planned = make_planned(kTwoProducts);
  Delegate delegate = gpu();
  delegate.operators[OpKind::kExp] = {{DType::kF32}, 8, {}, 1, true};
  const Partition joined = partition(planned.graph, planned.shapes, delegate);
  ASSERT_EQ(joined.regions.size(), 1U);
  EXPECT_EQ(joined.regions[RegionId{0}].nodes.size(), 5U);
  // A launch and two tensors are saved, 1.03 ms; with this slowdown Exp needs 4.1 ms.
  delegate.operators[OpKind::kExp].slowdown = 1000;
  const Partition apart = partition(planned.graph, planned.shapes, delegate);
  EXPECT_EQ(apart.regions.size(), 2U);
  EXPECT_THAT(cpu_reason(apart, NodeId{2}), testing::HasSubstr("bridge"));
}

TEST(Partition, JoinsTwoThatWinOnlyTogether) {
  const Planned planned = make_planned(kTwoProducts);
  Delegate delegate = gpu();
  delegate.launch_seconds = 3e-3;  // more than either saves
  EXPECT_TRUE(partition(planned.graph, planned.shapes, delegate).regions.empty());
  delegate.operators[OpKind::kExp] = {{DType::kF32}, 8, {}, 1, true};
  EXPECT_EQ(partition(planned.graph, planned.shapes, delegate).regions.size(), 1U);
}

TEST(Partition, ABridgeNeverClosesACycle) {
  // The sum of b and c goes over Exp, and so may b; Log forbids that all be one.
  const Planned planned = make_planned(R"(
input x f32 [64, 64]
const w f32 [64, 64] = fill 0.5
a = MatMul(x, w)
b = Exp(a)
c = Log(a)
d = MatMul(b, c)
output d
)");
  Delegate delegate = gpu();
  delegate.operators[OpKind::kExp] = {{DType::kF32}, 8, {}, 1, true};
  EXPECT_EQ(partition(planned.graph, planned.shapes, delegate).regions.size(), 2U);
}

/// Returns a random graph of f32 [4]: Relu and Add can run, Exp is a bridge, Log cannot run.
std::string random_text() {
  std::string text = "input v0 f32 [4]\n";
  const int n = *rc::gen::inRange(1, 25);
  for (int i = 1; i <= n; ++i) {
    const auto pick = [&] {
      return "v" + std::to_string(*rc::gen::inRange(std::max(0, i - 5), i));
    };
    const int op = *rc::gen::inRange(0, 6);
    text += "v" + std::to_string(i) + " = ";
    if (op == 0) text += "Log(" + pick() + ")\n";
    if (op == 1) text += "Exp(" + pick() + ")\n";
    if (op == 2) text += "Relu(" + pick() + ")\n";
    if (op > 2) text += "Add(" + pick() + ", " + pick() + ")\n";
  }
  return text + "output v" + std::to_string(n) + "\n";
}

TEST(PartitionProperty, WithBridgesRegionsStayIndivisible) {
  EXPECT_TRUE(rc::check([] {
    const Planned planned = make_planned(random_text());
    Delegate delegate = gpu();
    delegate.launch_seconds = *rc::gen::element(0.0, 2e-8, 1e-7);
    delegate.operators[OpKind::kExp] = {{DType::kF32}, 8, {}, 1, true};
    delegate.bytes_per_second = 1e12;
    const Partition result = partition(planned.graph, planned.shapes, delegate);
    // Regions as single nodes leave no cycle: some order runs everything, a whole region at a time.
    const Dag edges = dag_of(planned.graph);
    IdVector<NodeId, bool> done(planned.graph.nodes.size(), false);
    const auto ready = [&](NodeId node) {
      const RegionId own = result.placement[node].region;
      for (const NodeId from : edges.predecessors[node]) {
        const bool inside = own.valid() && result.placement[from].region == own;
        if (!done[from] && !inside) return false;
      }
      return true;
    };
    bool progress = true;
    while (progress) {
      progress = false;
      for (const NodeId node : planned.graph.nodes.ids()) {
        if (done[node]) continue;
        const RegionId own = result.placement[node].region;
        const std::vector<NodeId> piece =
            own.valid() ? result.regions[own].nodes : std::vector<NodeId>{node};
        if (!std::all_of(piece.begin(), piece.end(), ready)) continue;
        for (const NodeId member : piece) done[member] = true;
        progress = true;
      }
    }
    RC_ASSERT(std::all_of(done.begin(), done.end(), [](bool x) { return x; }));
  }));
}

}  // namespace
}  // namespace parallax
