// Tests that folding leaves large results to bind().
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ops/deferred.h"
#include "simplify/passes_test_util.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

/// Writes ones, and counts.
struct IntoCalculator {
  int* calls;
  Status operator()(const Graph& graph, NodeId id, std::span<std::byte> into) const {
    ++*calls;
    EXPECT_EQ(graph.nodes.size(), 1U);
    EXPECT_TRUE(is_computed(*graph.values[graph.nodes[id].inputs[0]].constant));
    std::ranges::fill(into, std::byte{1});
    return {};
  }
};

/// A chain of `length` nodes of `op` from a constant of `rows` x 256 elements.
Graph chain(OpKind op, int length, std::int64_t rows, DType dtype = DType::kF32) {
  Graph graph;
  GraphBuilder builder(graph);
  const Dims dims{rows, 256};
  const std::vector<std::byte> zeros(static_cast<std::size_t>(*bytes_of(dtype, dims)));
  ValueId value = builder.constant("c", make_constant(dtype, dims, zeros));
  for (int i = 0; i < length; ++i) value = builder.op(op, {value});
  builder.output(value);
  EXPECT_TRUE(infer_graph(graph));
  return graph;
}

TEST(FoldDeferred, DefersLargeResults) {
  struct Row {
    Graph graph;
    int at_once, deferred, depth;
  };
  const Row rows[] = {
      {chain(OpKind::kRelu, 3, 64), 0, 3, 3},
      {chain(OpKind::kRelu, 3, 63), 3, 0, 0},
      // Guards and inference read integers.
      {chain(OpKind::kNeg, 1, 64, DType::kI64), 1, 0, 0},
      // Recursion is limited: at regular depths a result is computed, with all before it.
      {chain(OpKind::kRelu, 2 * kMaxDeferredDepth + 1, 64), 1, 2 * kMaxDeferredDepth,
       kMaxDeferredDepth},
  };
  for (const Row& row : rows) {
    Graph graph = row.graph;
    int at_once = 0, into = 0;
    const Evaluate evaluate = [&at_once](const Graph& g, NodeId id) {
      ++at_once;
      const Constant& input = *g.values[g.nodes[id].inputs[0]].constant;
      return Result<std::vector<Constant>>(
          std::vector{make_constant(input.dtype, input.dims, input.bytes)});
    };
    ASSERT_TRUE(fold_constants(graph, {evaluate, IntoCalculator{&into}}));
    EXPECT_EQ(at_once, row.at_once);
    EXPECT_EQ(into, row.at_once > 0 && row.deferred > 0 ? kMaxDeferredDepth : 0);
    EXPECT_TRUE(graph.nodes.empty());
    EXPECT_TRUE(verify(graph, Stage::kSimplify));
    const Constant result = *graph.values[graph.outputs[0]].constant;
    EXPECT_EQ(deferred_depth(result), row.depth);
    graph = {};
    const auto computed = compute(result);
    ASSERT_TRUE(computed);
    EXPECT_EQ(into, row.deferred);
    EXPECT_EQ(result.bytes.back(), row.deferred > 0 ? std::byte{1} : std::byte{0});
  }
}

TEST(FoldDeferred, SaysWhatIsMadeOfF16Alone) {
  struct Row {
    const char* text;
    bool is_half;
  };
  for (const Row& row : {Row{"y = Cast(w) {to = 1}\n", true},
                         {"c = Cast(w) {to = 1}\ny = Transpose(c) {perm = [1, 0]}\n", true},
                         {"c = Cast(w) {to = 1}\ny = Reshape(c, s)\n", true},
                         {"c = Cast(w) {to = 1}\ny = Neg(c)\n", false},
                         {"c = Cast(v) {to = 1}\ny = Transpose(c) {perm = [1, 0]}\n", false}}) {
    Graph graph = graph_of(std::string("const w f16 [128, 256] = fill 0.5\n"
                                       "const v bf16 [128, 256] = fill 0.5\n"
                                       "const s i64 [1] = [-1]\n") +
                           row.text + "output y");
    int into = 0;
    const Evaluate evaluate = [](const Graph&, NodeId) -> Result<std::vector<Constant>> {
      return tl::unexpected(Error{});
    };
    ASSERT_TRUE(fold_constants(graph, {evaluate, IntoCalculator{&into}}));
    EXPECT_EQ(graph.values[graph.outputs[0]].constant->is_half, row.is_half) << row.text;
  }
}

TEST(FoldDeferred, WhatASmallResultIsMadeOfIsComputedAtOnce) {
  Graph graph;
  GraphBuilder builder(graph);
  const std::vector<std::byte> zeros(std::size_t{1} << 17);
  const ValueId c = builder.constant("c", make_constant(DType::kF32, Dims{128, 256}, zeros));
  const ValueId large = builder.op(OpKind::kRelu, {builder.op(OpKind::kNeg, {c})});
  builder.output(builder.op(OpKind::kReduceSum, {large}));
  builder.output(builder.op(OpKind::kExp, {large}));
  ASSERT_TRUE(infer_graph(graph));
  int at_once = 0, into = 0;
  const Evaluate evaluate = [&at_once](const Graph& g, NodeId id) {
    ++at_once;
    const Node& node = g.nodes[id];
    const Dims dims = node.op == OpKind::kReduceSum ? Dims{1, 1} : Dims{128, 256};
    const auto bytes = static_cast<std::size_t>(*bytes_of(DType::kF32, dims));
    return Result<std::vector<Constant>>(std::vector{
        make_constant(DType::kF32, dims, g.values[node.inputs[0]].constant->bytes.first(bytes))});
  };
  ASSERT_TRUE(fold_constants(graph, {evaluate, IntoCalculator{&into}}));
  EXPECT_EQ(at_once, 3) << "Neg, Relu and ReduceSum";
  EXPECT_EQ(into, 0);
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_EQ(deferred_depth(*graph.values[graph.outputs[1]].constant), 1) << "Exp";
}

/// Two chains hold their sources in addition to their results. If that exceeds the quota they are
/// computed, and as much is folded as without deferring.
TEST(FoldDeferred, KeepsNothingFromFolding) {
  constexpr std::int64_t kLarge = std::int64_t{128} * 256 * 4;
  const std::vector<std::byte> zeros(static_cast<std::size_t>(kLarge));
  const Evaluate evaluate = [&](const Graph&, NodeId) -> Result<std::vector<Constant>> {
    return std::vector{make_constant(DType::kF32, Dims{128, 256}, zeros)};
  };
  const auto nodes_left = [&](std::int64_t bytes, const EvaluateInto& into) {
    Graph graph;
    GraphBuilder builder(graph);
    for (const char* name : {"a", "b"}) {
      const ValueId c = builder.constant(name, make_constant(DType::kF32, Dims{128, 256}, zeros));
      builder.output(builder.op(OpKind::kRelu, {builder.op(OpKind::kNeg, {c})}));
    }
    EXPECT_TRUE(infer_graph(graph));
    const PassContext context{evaluate, into};
    EXPECT_TRUE(context.quota->take_bytes(LoadQuota::kBytes - bytes));
    EXPECT_TRUE(fold_constants(graph, context));
    return graph.nodes.size();
  };
  int calls = 0;
  for (std::int64_t bytes = 0; bytes <= 10 * kLarge; bytes += kLarge / 2)
    EXPECT_EQ(nodes_left(bytes, IntoCalculator{&calls}), nodes_left(bytes, nullptr)) << bytes;
  EXPECT_GT(calls, 0);
  calls = 0;
  EXPECT_EQ(nodes_left(LoadQuota::kBytes, IntoCalculator{&calls}), 0U);
  EXPECT_EQ(calls, 0);
}

TEST(FoldDeferred, DefersNothingInBodies) {
  std::string text = "input c bool []\ny = If(c)\n";
  const std::string branch =
      "body\nconst s i64 [2] = [128, 256]\nt = ConstantOfShape(s)\nu = Relu(t)\noutput u\nend\n";
  Graph graph = graph_of(text + branch + branch + "output y");
  int calls = 0, into = 0;
  const Evaluate evaluate = [&calls](const Graph&, NodeId) -> Result<std::vector<Constant>> {
    ++calls;
    const std::vector<std::byte> zeros(std::size_t{1} << 17);
    return std::vector{make_constant(DType::kF32, Dims{128, 256}, zeros)};
  };
  ASSERT_TRUE(run_passes(simplify_passes(), graph, {evaluate, IntoCalculator{&into}}));
  EXPECT_GT(calls, 0);
  EXPECT_EQ(into, 0);
}

}  // namespace
}  // namespace parallax
