// Tests which rows operators need, and when a graph is split.
#include "partition/split/co_execution.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/text/text.h"
#include "ops/infer.h"
#include "partition/split/split_rules.h"

namespace parallax {
namespace {

Graph inferred(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().to_string();
  if (!graph) return {};
  const Status status = infer_graph(*graph);
  EXPECT_TRUE(status) << status.error().to_string();
  return *std::move(graph);
}

/// "axis begin end" of input 0 for rows 4 to 8 along `axis` of the last node's result, not clipped;
/// "whole", or "none" without a rule.
std::string rows_needed(const std::string& text, int axis) {
  const Graph graph = inferred(text);
  const auto shapes = concrete_shapes(graph, {});
  EXPECT_TRUE(shapes);
  const NodeId last{static_cast<std::int32_t>(graph.nodes.size()) - 1};
  const auto rule = split_rule(graph, *shapes, graph.nodes[last], axis);
  if (!rule) return "none";
  const InputRows& input = rule->inputs[0];
  if (input.axis < 0) return "whole";
  const Rows rows = input.of({4, 8});
  return std::to_string(input.axis) + " " + std::to_string(rows.begin) + " " +
         std::to_string(rows.end);
}

TEST(RowRules, SayWhichRowsOfInput0AreNeeded) {
  struct Row {
    const char *input, *node;
    int axis;
    const char* rows;
  };
  const Row rows[] = {
      {"f32 [16, 4]", "y = Relu(x)", 0, "0 4 8"},
      {"f32 [1, 4]", "const b f32 [16, 4] = fill 1\ny = Add(x, b)", 0, "whole"},
      {"f32 [16, 4]", "const w f32 [4, 8] = fill 1\ny = MatMul(x, w)", 0, "0 4 8"},
      {"f32 [16, 4]", "const w f32 [4, 8] = fill 1\ny = MatMul(x, w)", 1, "whole"},
      {"f32 [16, 4]", "y = Softmax(x)", 0, "0 4 8"},
      {"f32 [16, 4]", "y = Softmax(x)", 1, "none"},
      {"f32 [1, 2, 16, 8]",
       "const w f32 [2, 2, 3, 3] = fill 1\ny = Conv(x, w) {pads = [1, 1, 1, 1]}", 2, "2 3 9"},
      {"f32 [1, 2, 16, 8]",
       "const w f32 [2, 2, 3, 3] = fill 1\ny = Conv(x, w) {pads = [1, 1, 1, 1], strides = [2, 1]}",
       2, "2 7 16"},
      {"f32 [1, 2, 16, 8]", "const w f32 [2, 2, 1, 1] = fill 1\ny = Conv(x, w)", 1, "none"},
      {"f32 [1, 16, 8]", "y = Transpose(x) {perm = [2, 1, 0]}", 1, "1 4 8"},
      {"f32 [1, 16, 8]", "const s i64 [2] = [16, 8]\ny = Reshape(x, s)", 0, "1 4 8"},
      {"f32 [1, 64, 8]", "const s i64 [4] = [1, 16, 4, 8]\ny = Reshape(x, s)", 1, "1 16 32"},
      {"f32 [1, 4, 32]", "const s i64 [3] = [1, 16, 8]\ny = Reshape(x, s)", 1, "1 1 2"},
      {"f32 [16, 4]",
       "const b i64 [1] = [3]\nconst e i64 [1] = [16]\nconst a i64 [1] = [0]\ny = Slice(x, b, e, "
       "a)",
       0, "0 7 11"},
      {"f32 [16, 4]", "const i i64 [8] = [0, 1, 2, 3, 4, 5, 6, 7]\ny = Gather(x, i)", 0, "whole"},
      {"f32 [16, 4]", "const a i64 [1] = [1]\ny = ReduceMean(x, a) {keepdims = 0}", 0, "0 4 8"},
      {"f32 [16, 4]", "const a i64 [1] = [0]\ny = ReduceMean(x, a)", 0, "none"},
      {"f32 [16, 4]", "const a i64 [1] = [1]\ny = ReduceMin(x, a) {keepdims = 0}", 0, "0 4 8"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(
        rows_needed(std::string("input x ") + row.input + "\n" + row.node + "\noutput y", row.axis),
        row.rows)
        << row.node;
}

constexpr const char* kChain = R"(
    symbols n
    input x f32 [n, 512]
    const w f32 [512, 512] = fill 0.5
    a = MatMul(x, w) @a
    b = Relu(a) @b
    c = MatMul(b, w) @c
    output c)";

Delegate device(double macs_per_second) {
  Delegate delegate{"gpu", 2e-5, macs_per_second, 1e12, 5e10, std::int64_t{1} << 33, {}};
  for (const OpKind op : {OpKind::kMatMul, OpKind::kRelu, OpKind::kSlice, OpKind::kConcat})
    delegate.operators[op].dtypes = {DType::kF32};
  return delegate;
}

std::optional<CoExecution> split_of(const Graph& graph, std::int64_t n, const Delegate& delegate,
                                    Calibration calibration = {},
                                    IdVector<NodeId, std::string> refused = {}) {
  const Binding binding{{n}};
  const auto shapes = concrete_shapes(graph, binding);
  EXPECT_TRUE(shapes);
  PartitionOptions options;
  options.calibration = std::move(calibration);
  options.refused = std::move(refused);
  const Partition whole = partition(graph, *shapes, delegate, options);
  return co_execution(graph, binding, delegate, options, whole);
}

TEST(CoExecution, AChainIsSplitByTheRates) {
  const Graph graph = inferred(kChain);
  const auto even = split_of(graph, 1024, device(5e10));
  ASSERT_TRUE(even);
  EXPECT_EQ(even->stretches, 1);
  EXPECT_EQ(even->nodes, 3);
  EXPECT_EQ(even->share, kShares / 2);
  ASSERT_EQ(even->partition.regions.size(), 1U);
  EXPECT_TRUE(even->partition.regions[RegionId{0}].shared);
  const auto fast = split_of(graph, 1024, device(1.5e11));
  ASSERT_TRUE(fast);
  EXPECT_GT(fast->share, kShares * 6 / 10);
}

TEST(CoExecution, RefusedNodesAreNotSplit) {
  const Graph graph = inferred(kChain);
  const auto before = split_of(graph, 1024, device(5e10));
  ASSERT_TRUE(before);
  ASSERT_EQ(before->origins.size(), before->graph.nodes.size());
  IdVector<NodeId, std::string> refused(graph.nodes.size());
  for (const NodeId node : before->partition.regions[RegionId{0}].nodes)
    if (const NodeId origin = before->origins[node]; origin.valid() && origin != NodeId{2})
      refused[origin] = "device lost";
  EXPECT_EQ(refused[NodeId{0}], "device lost");
  const auto rest = split_of(graph, 1024, device(5e10), {}, refused);
  ASSERT_TRUE(rest);
  EXPECT_NE(rest->key, before->key) << "runs of it take other times";
  for (const Region& region : rest->partition.regions)
    for (const NodeId node : region.nodes)
      EXPECT_TRUE(!rest->origins[node].valid() || rest->origins[node] == NodeId{2});
  refused[NodeId{2}] = "device lost";
  EXPECT_FALSE(split_of(graph, 1024, device(5e10), {}, refused));
}

TEST(CoExecution, RunsSayWhichShareIsNext) {
  const Graph graph = inferred(kChain);
  const auto first = split_of(graph, 1024, device(5e10));
  ASSERT_TRUE(first);
  Calibration timed;
  const auto next = [&](int share, double seconds) {
    timed.splits.push_back({first->key, share, seconds});
    const auto split = split_of(graph, 1024, device(5e10), timed);
    EXPECT_TRUE(split && split->key == first->key && !split->refused);
    return split ? split->share : -1;
  };
  EXPECT_EQ(next(16, 5e-3), 17);
  EXPECT_EQ(next(17, 4e-3), 18);
  EXPECT_EQ(next(18, 6e-3), 17) << "both neighbours take more";
  timed.splits.push_back({first->key + 1, 25, 1e-3});
  EXPECT_EQ(next(30, SplitSample::kRefused), 17) << "of another graph, and what cannot be";
  timed.splits.clear();
  EXPECT_EQ(next(kShares - 1, 1e-3), kShares - 2) << "each side keeps a part";
}

TEST(CoExecution, AShareThatCannotBeIsRefusedAndTheBestStays) {
  const Graph graph = inferred(kChain);
  const auto first = split_of(graph, 1024, device(5e10));
  ASSERT_TRUE(first);
  // No room on the device for more of the rows than the best share has.
  Delegate small = device(5e10);
  small.memory_bytes = first->partition.regions[RegionId{0}].cost.memory_bytes;
  Calibration timed;
  timed.splits = {{first->key, 16, 5e-3}};
  const auto split = split_of(graph, 1024, small, timed);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->share, 16);
  EXPECT_EQ(split->refused, 17);
}

TEST(CoExecution, WeightsAreSharedByBothParts) {
  const auto split = split_of(inferred(kChain), 1024, device(5e10));
  ASSERT_TRUE(split);
  for (const Value& value : split->graph.values)
    EXPECT_TRUE(!value.constant || value.name == "w" || value.constant->bytes.size() < 64);
}

TEST(CoExecution, ImagesCrossAsTheDelegateWantsThem) {
  const Graph graph = inferred(R"(
      symbols n
      input x f32 [1, 16, n, 64]
      const w f32 [16, 16, 3, 3] = fill 0.5
      a = Conv(x, w) {pads = [1, 1, 1, 1]}
      b = Conv(a, w) {pads = [1, 1, 1, 1]}
      c = Conv(b, w) {pads = [1, 1, 1, 1]}
      output c)");
  Delegate delegate = device(5e10);
  for (const OpKind op : {OpKind::kConv, OpKind::kTranspose})
    delegate.operators[op].dtypes = {DType::kF32};
  for (const bool channels_last : {false, true}) {
    delegate.channels_last = channels_last;
    const auto split = split_of(graph, 512, delegate);
    ASSERT_TRUE(split);
    int turns = 0;
    for (const Node& node : split->graph.nodes) turns += node.op == OpKind::kTranspose ? 1 : 0;
    EXPECT_EQ(turns, channels_last ? 2 : 0);
    ASSERT_EQ(split->partition.regions.size(), 1U);
    const NodeId last = split->partition.regions[RegionId{0}].nodes.back();
    EXPECT_EQ(split->graph.nodes[last].op, channels_last ? OpKind::kTranspose : OpKind::kConv);
  }
}

TEST(CoExecution, NothingIsSplitWhereItLoses) {
  const Graph graph = inferred(kChain);
  EXPECT_FALSE(split_of(graph, 2, device(5e10))) << "waiting takes longer";
  EXPECT_FALSE(split_of(graph, 1024, device(1e8))) << "the device is too slow";
}

}  // namespace
}  // namespace parallax
