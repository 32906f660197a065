// Tests the costs of regions under each model, and the paper's count of operations.
#include "partition/cost.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "partition/flops.h"
#include "partition/partition_test_util.h"

namespace parallax {
namespace {

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

}  // namespace
}  // namespace parallax
