#include "partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "partition/flops.h"
#include "partition/quotient.h"

namespace parallax {
namespace {

using testing::HasSubstr;

struct Planned {
  Graph graph;
  ConcreteShapes shapes;
};

Planned make_planned(std::string_view text) {
  Planned planned;
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  planned.graph = *std::move(graph);
  const auto status = infer_graph(planned.graph);
  EXPECT_TRUE(status) << status.error().message;
  Binding binding;
  binding.symbols.resize(planned.graph.symbols.size());
  auto shapes = concrete_shapes(planned.graph, binding);
  EXPECT_TRUE(shapes) << shapes.error().message;
  planned.shapes = *std::move(shapes);
  return planned;
}

/// 1e9 MAC/s against the CPU's 1e8, 1 GB/s, 1 ms to launch.
Delegate gpu() {
  Delegate delegate{"gpu", 1e-3, 1e9, 1e9, 1e8, 1 << 30, {}};
  for (const OpKind op : {OpKind::kMatMul, OpKind::kRelu, OpKind::kAdd, OpKind::kReshape}) {
    delegate.operators[op].dtypes = {DType::kF32};
  }
  return delegate;
}

std::string printed(const Planned& planned, const Delegate& delegate,
                    const PartitionOptions& options = {}) {
  return print(planned.graph, partition(planned.graph, planned.shapes, delegate, options));
}

// 64^3 = 262,144 MAC a product: 2.6 ms on the CPU.
constexpr std::string_view kTwoProducts = R"(
input x f32 [64, 64]
const w f32 [64, 64] = fill 0.5
a = MatMul(x, w)
b = Relu(a)
c = Exp(b)
d = MatMul(c, w)
e = Relu(d)
f = NonZero(e)
output f
)";

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

TEST(Partition, JoinsRegionsOverABridgeWhereItPays) {
  const Planned planned = make_planned(kTwoProducts);
  Delegate delegate = gpu();
  delegate.operators[OpKind::kExp] = {{DType::kF32}, 8, {}, 1, true};
  const Partition joined = partition(planned.graph, planned.shapes, delegate);
  ASSERT_EQ(joined.regions.size(), 1U);
  EXPECT_EQ(joined.regions[RegionId{0}].nodes.size(), 5U);
  // A launch and two tensors are saved, 1.03 ms; so slow, Exp takes 4.1 ms.
  delegate.operators[OpKind::kExp].slowdown = 1000;
  const Partition apart = partition(planned.graph, planned.shapes, delegate);
  EXPECT_EQ(apart.regions.size(), 2U);
  EXPECT_THAT(cpu_reason(apart, NodeId{2}), HasSubstr("bridge"));
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

// Rows that only running tells: 256 * 64 * 64 MAC are assumed, 10 ms on the CPU.
constexpr std::string_view kPickedRows = R"(
input x f32 [64, 64]
input s i64 [2]
const w f32 [64, 64] = fill 0.5
const zero i64 [] = [0]
k = MatMul(x, w)
r = Relu(k)
m = NonZero(r)
row = Gather(m, zero)
y = Gather(r, row)
b = MatMul(y, w)
c = Relu(b)
d = Add(c, y)
e = Reshape(d, s)
f = Relu(e)
output d, f
)";

Partition with_run_time(const Planned& planned, const Delegate& delegate,
                        PartitionOptions options = {}) {
  options.assumed = assumed_shapes(planned.graph, {});
  Partition result = partition(planned.graph, planned.shapes, delegate, options);
  add_run_time_regions(planned.graph, planned.shapes, delegate, options, result);
  return result;
}

TEST(Partition, SizesThatOnlyRunningTellsAreRegionsOfTheirOwn) {
  const Planned planned = make_planned(kPickedRows);
  Delegate delegate = gpu();
  const Partition none = with_run_time(planned, delegate);
  ASSERT_EQ(none.regions.size(), 1U);
  EXPECT_EQ(cpu_reason(none, NodeId{5}), "dynamic-shape: the size of 'y' depends on values");

  delegate.dynamic_shapes = true;
  const Partition result = with_run_time(planned, delegate);
  ASSERT_EQ(result.regions.size(), 2U);
  EXPECT_FALSE(result.regions[RegionId{0}].run_time);
  const Region& picked = result.regions[RegionId{1}];
  EXPECT_TRUE(picked.run_time);
  EXPECT_EQ(picked.nodes, (std::vector{NodeId{5}, NodeId{6}, NodeId{7}}));
  EXPECT_EQ(picked.cost.macs, 256 * 64 * 64 + 2 * 256 * 64);
  EXPECT_THAT(picked.verdict.detail, HasSubstr("; sizes that only running tells taken as 256"));
  EXPECT_GT(result.seconds, none.seconds) << "what only running tells took no time before";
  EXPECT_THAT(cpu_reason(result, NodeId{8}),
              "dynamic-shape: 's' decides a size, and only running tells it");
  EXPECT_THAT(cpu_reason(result, NodeId{2}), HasSubstr("operator: "));
  EXPECT_THAT(cpu_reason(result, NodeId{9}), HasSubstr("loses: "));
  EXPECT_EQ(result.returned.size(), 1U);
}

TEST(Partition, KnownSizesAreNotJoinedToThoseThatOnlyRunningTells) {
  const Planned planned = make_planned(R"(
input x f32 [64, 64]
const w f32 [64, 64] = fill 0.5
const zero i64 [] = [0]
k = MatMul(x, w)
m = NonZero(x)
row = Gather(m, zero)
y = Gather(x, row)
b = MatMul(y, k)
output b
)");
  Delegate delegate = gpu();
  delegate.dynamic_shapes = true;
  delegate.operators[OpKind::kNonZero].dtypes = {DType::kF32, DType::kI64};
  const Partition result = with_run_time(planned, delegate, {.offload = Offload::kAll});
  ASSERT_EQ(result.regions.size(), 2U);
  EXPECT_EQ(result.regions[RegionId{0}].nodes, std::vector{NodeId{0}});
  EXPECT_EQ(result.regions[RegionId{1}].nodes, std::vector{NodeId{4}});
  EXPECT_EQ(cpu_reason(result, NodeId{1}),
            "dynamic-shape: only the node itself tells the size of 'm'");
  const Partition one = with_run_time(planned, delegate, {.max_regions = 1});
  ASSERT_EQ(one.regions.size(), 1U);
  EXPECT_FALSE(one.regions[RegionId{0}].run_time);
}

TEST(Partition, PinnedRegionsMayHaveSizesThatOnlyRunningTells) {
  const Planned planned = make_planned(kPickedRows);
  Delegate delegate = gpu();
  delegate.dynamic_shapes = true;
  PartitionOptions options;
  options.assumed = assumed_shapes(planned.graph, {});
  const auto pinned = [&](const std::vector<std::vector<NodeId>>& regions) {
    return pinned_partition(planned.graph, planned.shapes, delegate, options, regions);
  };
  const auto both = pinned({{NodeId{5}, NodeId{6}}, {NodeId{0}}});
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_FALSE(both->regions[RegionId{0}].run_time);
  EXPECT_TRUE(both->regions[RegionId{1}].run_time);
  EXPECT_EQ(both->placement[NodeId{7}].reason, CpuReason::kPinned);
  const auto mixed = pinned({{NodeId{1}, NodeId{6}}});
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message, HasSubstr("only running tells some sizes of the region"));
  EXPECT_THAT(pinned({{NodeId{8}}}).error().message, HasSubstr("'s' decides a size"));
  delegate.dynamic_shapes = false;
  EXPECT_THAT(pinned({{NodeId{5}}}).error().message, HasSubstr("depends on values"));
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

TEST(CostModels, BreakEvenOfTheInequality) {
  // L = 0.2 ms, R_acc = 2.6e13: F > L R_cpu / (1 - R_cpu / R_acc), whatever the body of the paper
  // says.
  const Planned planned = make_planned(kTwoProducts);
  struct Row {
    double cpu, macs, bytes_per_mac;
    bool wins;
  };
  const std::vector<Row> rows = {
      {1e9, 2.0e5, 0, false},    {1e9, 2.01e5, 0, true},   {2e10, 3.99e6, 0, false},
      {2e10, 4.01e6, 0, true},   {1e11, 2.00e7, 0, false}, {1e11, 2.01e7, 0, true},
      {1e11, 2.4e7, 0.1, false}, {1e11, 2.6e7, 0.1, true},
  };
  for (const Row& row : rows) {
    const Delegate delegate{"npu", 2e-4, 2.6e13, 51.2e9, row.cpu, 1 << 30, {}};
    const Calibration none;
    const Pricer pricer(planned.graph, planned.shapes, delegate, CostModel::kExact, none);
    RegionCost cost;
    cost.cpu_seconds = row.macs / row.cpu;
    cost.delegate_seconds = 2e-4 + row.macs / 2.6e13 + row.macs * row.bytes_per_mac / 51.2e9;
    EXPECT_EQ(pricer.judge(cost).reason == CpuReason::kNone, row.wins)
        << row.cpu << " " << row.macs;
  }
}

TEST(CostModels, PaperThresholds) {
  const Planned planned = make_planned(kTwoProducts);
  const Delegate delegate = gpu();
  const Calibration none;
  const Pricer pricer(planned.graph, planned.shapes, delegate, CostModel::kPaper, none);
  struct Row {
    int nodes;
    std::int64_t flops, bytes;
    std::string_view detail;
  };
  for (const Row& row :
       {Row{3, 1000000000, 100000000, "N = 3, F = 1e+09, B/F = 0.1"},
        Row{2, 1000000000, 0, "N = 2 < 3"}, Row{3, 999999999, 0, "F = 1e+09 < 1e+09"},
        Row{3, 1000000000, 100000001, "B/F = 0.1 > 0.1"}}) {
    RegionCost cost;
    cost.nodes = row.nodes;
    cost.paper_flops = row.flops;
    cost.boundary_bytes = row.bytes;
    EXPECT_EQ(pricer.judge(cost).detail, row.detail);
    EXPECT_EQ(pricer.judge(cost).reason == CpuReason::kNone, row.detail.starts_with("N = 3"));
  }
}

TEST(CostModels, MeasuredRatesReplaceConstants) {
  const Planned planned = make_planned(kTwoProducts);
  const Delegate delegate = gpu();
  Calibration calibration;
  calibration.launch_seconds = 2e-3;
  calibration.rates[OpKind::kMatMul] = {2e9, 2e8};
  Pricer measured(planned.graph, planned.shapes, delegate, CostModel::kMeasured, calibration);
  EXPECT_DOUBLE_EQ(measured.node_cost(NodeId{0}).cpu_seconds, 262144 / 2e8);
  EXPECT_DOUBLE_EQ(measured.node_cost(NodeId{1}).cpu_seconds, 4096 / 1e8);  // not measured: exact
  const std::vector<NodeId> nodes = {NodeId{0}, NodeId{1}};
  EXPECT_DOUBLE_EQ(measured.region_cost(nodes).delegate_seconds,
                   262144 / 2e9 + 4096 / 1e9 + 2e-3 + 32768 / 1e9);
  const Pricer exact(planned.graph, planned.shapes, delegate, CostModel::kExact, calibration);
  EXPECT_DOUBLE_EQ(exact.node_cost(NodeId{0}).cpu_seconds, 262144 / 1e8);
}

TEST(CostModels, CountsBoundaryTensorsOnce) {
  const Planned planned = make_planned(R"(
input x f32 [8]
a = Relu(x)
b = Add(a, x)
c = Add(b, x)
output b, c
)");
  const Delegate delegate = gpu();
  const Calibration none;
  Pricer pricer(planned.graph, planned.shapes, delegate, CostModel::kExact, none);
  const std::vector<NodeId> all = {NodeId{0}, NodeId{1}, NodeId{2}};
  EXPECT_EQ(pricer.region_cost(all).boundary_bytes, 3 * 32);  // x in, b and c out
  EXPECT_EQ(pricer.region_cost(all).memory_bytes, 3 * 32) << "x, b and either a or c";
  const std::vector<NodeId> first = {NodeId{0}};
  EXPECT_EQ(pricer.region_cost(first).boundary_bytes, 2 * 32);
}

TEST(Flops, AreThePapersTable) {
  struct Row {
    OpKind op;
    std::vector<Dims> inputs;
    Dims output;
    std::int64_t flops;
  };
  const std::vector<Row> rows = {
      {OpKind::kConv, {{1, 3, 8, 8}, {16, 3, 3, 3}}, {1, 16, 6, 6}, 2 * 3 * 36 * 9 * 16},
      // depthwise: Cin Cout, as printed
      {OpKind::kConv, {{1, 16, 8, 8}, {16, 1, 3, 3}}, {1, 16, 6, 6}, 2LL * 16 * 36 * 9 * 16},
      // the batch does not count
      {OpKind::kMatMul, {{5, 2, 3}, {3, 4}}, {5, 2, 4}, 2 * 2 * 4 * 3},
      {OpKind::kRelu, {{2, 3}}, {2, 3}, 6},
      {OpKind::kSoftmax, {{2, 3}}, {2, 3}, 6},
      {OpKind::kGlobalAveragePool, {{1, 4, 5, 6}}, {1, 4, 1, 1}, 30},
      {OpKind::kLpNormalization, {{2, 3}}, {2, 3}, 6},
      {OpKind::kReduceMean, {{2, 3}, {1}}, {2, 1}, 6},
      {OpKind::kReduceSumSquare, {{2, 3}, {1}}, {2, 1}, 6},
      {OpKind::kReshape, {{2, 3}, {1}}, {6}, 0},
      {OpKind::kMatMul,
       {{1LL << 40, 1LL << 20}, {1LL << 20, 1LL << 20}},
       {1LL << 40, 1LL << 20},
       INT64_MAX},
  };
  for (const Row& row : rows) {
    Node node;
    node.op = row.op;
    const std::vector<Dims> outputs = {row.output};
    EXPECT_EQ(paper_flops(node, row.inputs, outputs), row.flops) << to_string(row.op);
  }
  Node pool;
  pool.op = OpKind::kMaxPool;
  pool.attributes.set("kernel_shape", std::vector<std::int64_t>{2, 3});
  const std::vector<Dims> image = {{1, 7, 4, 5}};
  EXPECT_EQ(paper_flops(pool, image, image), 4 * 5 * 6);
  pool.attributes.set("layout", std::string("NHWC"));
  EXPECT_EQ(paper_flops(pool, image, image), 7 * 4 * 6);
}

/// A random graph of f32 [4]: Relu and Add can run, Exp is a bridge, Log cannot.
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

TEST(Partition, WithBridgesRegionsStayIndivisible) {
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
  // As on the CPU alone, but for what two products save: 2.62 ms - (1 + 0.26 + 0.03) ms each.
  options.cpu_seconds = IdVector<NodeId, double>(planned.graph.nodes.size(), 1e-3);
  options.cpu_seconds[NodeId{0}] = options.cpu_seconds[NodeId{2}] = 2.62e-3;
  const Partition in_body = partition(planned.graph, planned.shapes, gpu(), options);
  ASSERT_EQ(in_body.regions.size(), 2U);
  EXPECT_NEAR(in_body.seconds, 2 * 2.62e-3 + 3e-3 - in_body.saved_seconds, 1e-9);
  EXPECT_NEAR(in_body.saved_seconds, 2 * 1.325e-3, 0.1e-3);
  options.body = "";
  EXPECT_LT(partition(planned.graph, planned.shapes, gpu(), options).seconds, in_body.seconds)
      << "the device works beside the CPU";
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
