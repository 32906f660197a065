// Tests which nodes become regions of a delegate, and why others stay on the CPU.
#include "partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partition/partition_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

std::string printed(const Planned& planned, const Delegate& delegate,
                    const PartitionOptions& options = {}) {
  return print(planned.graph, partition(planned.graph, planned.shapes, delegate, options));
}

TEST(Partition, PrintsRegionsAndReasons) {
  const Planned planned = make_planned(kTwoProducts);
  EXPECT_EQ(printed(planned, gpu()),
            "region 0: 2 nodes, 266240 MAC, 32768 bytes in and out, saves 1.363 ms: 1.299 ms "
            "offloaded < 2.662 ms on the CPU\n"
            "  MatMul_0 Relu_1\n"
            "region 1: 2 nodes, 266240 MAC, 32768 bytes in and out, saves 1.363 ms: 1.299 ms "
            "offloaded < 2.662 ms on the CPU\n"
            "  MatMul_3 Relu_4\n"
            "cpu: Exp_2 operator: gpu has no Exp\n"
            "cpu: NonZero_5 operator: gpu has no NonZero\n");
}

TEST(Partition, ASecondDelegateGetsWhatTheFirstLeft) {
  const Planned planned = make_planned(kTwoProducts);
  PartitionOptions options;
  options.offload = Offload::kAll;
  Delegate first = gpu();
  first.operators.erase(OpKind::kRelu);
  options.taken = partition(planned.graph, planned.shapes, first, options).regions;
  ASSERT_EQ(options.taken.size(), 2U);
  Delegate second = gpu();
  second.operators[OpKind::kExp].dtypes = {DType::kF32};
  second.operators[OpKind::kRelu].bridge = true;  // joins nothing: --offload all runs it
  options.delegate = 1;
  const Partition both = partition(planned.graph, planned.shapes, second, options);
  std::vector<std::pair<int, std::vector<NodeId>>> regions;
  for (const Region& region : both.regions) regions.emplace_back(region.delegate, region.nodes);
  using Nodes = std::vector<NodeId>;
  EXPECT_THAT(regions, testing::ElementsAre(testing::Pair(0, Nodes{NodeId{0}}),
                                            testing::Pair(0, Nodes{NodeId{3}}),
                                            testing::Pair(1, Nodes{NodeId{1}, NodeId{2}}),
                                            testing::Pair(1, Nodes{NodeId{4}})));
  EXPECT_EQ(both.placement[NodeId{2}].region, RegionId{2});
  EXPECT_EQ(both.placement[NodeId{5}].reason, CpuReason::kOperator);
  // Bridges join no regions of another delegate.
  second.operators.erase(OpKind::kExp);
  options.offload = Offload::kProfitable;
  const Partition none = partition(planned.graph, planned.shapes, second, options);
  EXPECT_EQ(none.regions.size(), 2U);
  EXPECT_EQ(none.placement[NodeId{1}].reason, CpuReason::kBridge);
}

TEST(Partition, GivesBackWhatLoses) {
  const Planned planned = make_planned(kTwoProducts);
  Delegate slow = gpu();
  slow.launch_seconds = 1;
  EXPECT_THAT(printed(planned, slow), HasSubstr("returned 1: 2 nodes"));
  const Partition result = partition(planned.graph, planned.shapes, slow);
  EXPECT_TRUE(result.regions.empty());
  EXPECT_EQ(result.saved_seconds, 0);
  EXPECT_EQ(cpu_reason(result, NodeId{0}), "loses: 1000 ms offloaded >= 2.662 ms on the CPU");
}

TEST(Partition, KeepsTheRegionsThatSaveMost) {
  const Planned planned = make_planned(R"(
input x f32 [64, 64]
const w f32 [64, 64] = fill 0.5
const v f32 [64, 128] = fill 0.5
a = MatMul(x, w)
b = Exp(a)
c = MatMul(b, v)
output c
)");
  for (const int limit : {0, 1, 2, 3}) {
    PartitionOptions options;
    options.max_regions = limit;
    const Partition result = partition(planned.graph, planned.shapes, gpu(), options);
    ASSERT_EQ(result.regions.size(), static_cast<std::size_t>(std::min(limit, 2)));
    if (limit != 1) continue;
    EXPECT_EQ(result.regions[RegionId{0}].nodes, std::vector<NodeId>{NodeId{2}});
    EXPECT_EQ(cpu_reason(result, NodeId{0}), "limit: other regions save more");
  }
}

TEST(Partition, SaysWhyNodesCannotRun) {
  const Planned planned = make_planned(R"(
input x f32 [2, 2, 2]
input i i32 [2]
a = Relu(x)
b = Add(i, i)
c = Relu(a)
d = NonZero(x)
e = Add(d, d)
output b, c, e
)");
  Delegate delegate = gpu();
  delegate.operators[OpKind::kRelu].max_rank = 2;
  delegate.operators[OpKind::kAdd].dtypes = {DType::kF32, DType::kI64};
  const Partition result = partition(planned.graph, planned.shapes, delegate);
  EXPECT_EQ(cpu_reason(result, NodeId{0}), "rank: 'x' has rank 3, at most 2 can run");
  EXPECT_EQ(cpu_reason(result, NodeId{1}), "dtype: 'i' is int32");
  EXPECT_EQ(cpu_reason(result, NodeId{3}), "operator: gpu has no NonZero");
  EXPECT_EQ(cpu_reason(result, NodeId{4}), "dynamic-shape: the size of 'd' depends on values");
}

TEST(Partition, RefusedNodesStayOnTheCpu) {
  const Planned planned = make_planned(R"(
input x f32 [64, 64]
const w f32 [64, 64] = fill 0.5
a = MatMul(x, w)
b = Tanh(a)
c = MatMul(b, w)
d = MatMul(c, w)
output d
)");
  PartitionOptions options{.offload = Offload::kAll};
  ASSERT_EQ(partition(planned.graph, planned.shapes, gpu(), options).regions.size(), 2U);
  options.refused = IdVector<NodeId, std::string>(planned.graph.nodes.size());
  options.refused[NodeId{2}] = options.refused[NodeId{3}] = "device lost";
  const Partition result = partition(planned.graph, planned.shapes, gpu(), options);
  ASSERT_EQ(result.regions.size(), 1U);
  EXPECT_EQ(result.regions[RegionId{0}].nodes, std::vector{NodeId{0}});
  EXPECT_EQ(cpu_reason(result, NodeId{2}), "refused: device lost");
  EXPECT_EQ(cpu_reason(result, NodeId{3}), "refused: device lost");
}

TEST(Partition, WhatHasNoElementsStaysOnTheCpu) {
  const Planned planned = make_planned(R"(
input x f32 [4, 8]
const begin i64 [1] = [8]
const end i64 [1] = [99]
const axis i64 [1] = [1]
a = Relu(x)
b = Slice(a, begin, end, axis)
c = Neg(a)
d = Concat(c, b) {axis = 1}
output d, b
)");
  Delegate delegate = gpu();
  for (const OpKind op : {OpKind::kNeg, OpKind::kSlice, OpKind::kConcat})
    delegate.operators[op].dtypes = {DType::kF32};
  const Partition result =
      partition(planned.graph, planned.shapes, delegate, {.offload = Offload::kAll});
  EXPECT_EQ(cpu_reason(result, NodeId{1}), "empty: 'b' has no elements");
  EXPECT_EQ(cpu_reason(result, NodeId{3}), "empty: 'b' has no elements");
  EXPECT_EQ(cpu_reason(result, NodeId{0}), "");
  EXPECT_EQ(cpu_reason(result, NodeId{2}), "");
}

TEST(Partition, ChecksAttributes) {
  const Planned planned = make_planned(R"(
input x f32 [1, 2, 8, 8]
const w f32 [2, 2, 3, 3] = fill 0.5
a = Conv(x, w) {dilations = [1, 2]}
output a
)");
  struct Row {
    AttributeLimit limit;
    CpuReason reason;
  };
  const std::vector<Row> rows = {
      {{"dilations", {}, 2.0, {}}, CpuReason::kLoses},
      {{"dilations", {}, 1.0, {}}, CpuReason::kAttribute},
      {{"dilations", 2.0, {}, {}}, CpuReason::kAttribute},
      {{"dilations", {}, {}, {"1"}}, CpuReason::kAttribute},
      {{"group", {}, 0.0, {}}, CpuReason::kLoses},  // absent: the default runs
  };
  for (const Row& row : rows) {
    Delegate delegate = gpu();
    delegate.operators[OpKind::kConv] = {{DType::kF32}, 4, {row.limit}, 1, false};
    const Partition result = partition(planned.graph, planned.shapes, delegate);
    EXPECT_EQ(result.placement[NodeId{0}].reason, row.reason) << row.limit.name;
  }
}

TEST(Partition, RespectsTheMemoryOfTheDelegate) {
  const Planned planned = make_planned(kTwoProducts);
  Delegate small = gpu();
  small.memory_bytes = 4 * 64 * 64 * 4;  // x, w, a and b
  EXPECT_EQ(partition(planned.graph, planned.shapes, small).regions.size(), 2U);
  --small.memory_bytes;
  const Partition result = partition(planned.graph, planned.shapes, small);
  EXPECT_EQ(cpu_reason(result, NodeId{0}), "memory: needs up to 65536 bytes, gpu has 65535");
}

TEST(Partition, InABodyNothingOverlaps) {
  const Planned planned = make_planned(R"(
      input x f32 [64, 64]
      const w f32 [64, 64] = fill 0.5
      a = MatMul(x, w)
      b = Exp(x)
      c = MatMul(b, w)
      d = Exp(c)
      e = Relu(d)
      output a, e)");
  PartitionOptions options;
  options.body = "loop/body/";
  // The time on the CPU alone, less the savings of two products: 2.62 ms - (1 + 0.26 + 0.03) ms
  // each.
  options.cpu_seconds = IdVector<NodeId, double>(planned.graph.nodes.size(), 1e-3);
  options.cpu_seconds[NodeId{0}] = options.cpu_seconds[NodeId{2}] = 2.62e-3;
  const Partition in_body = partition(planned.graph, planned.shapes, gpu(), options);
  ASSERT_EQ(in_body.regions.size(), 2U);
  EXPECT_NEAR(in_body.seconds, 2 * 2.62e-3 + 3e-3 - in_body.saved_seconds, 1e-9);
  EXPECT_NEAR(in_body.saved_seconds, 2 * 1.325e-3, 0.1e-3);
  options.body = "";
  EXPECT_LT(partition(planned.graph, planned.shapes, gpu(), options).seconds, in_body.seconds)
      << "the device works in parallel with the CPU";
}

TEST(Partition, KeysOfBodiesDiffer) {
  const Planned planned = make_planned(kTwoProducts);
  PartitionOptions options;
  options.model = CostModel::kMeasured;
  std::vector<std::uint64_t> keys;
  for (const char* const body : {"", "if/then_branch/", "if/else_branch/"}) {
    options.body = body;
    const Partition result = partition(planned.graph, planned.shapes, gpu(), options);
    ASSERT_FALSE(result.regions.empty());
    keys.push_back(result.regions[RegionId{0}].cost.key);
  }
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
}

}  // namespace
}  // namespace parallax
