// Tests which bytes folding takes from the load's quota, and which it returns.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/charge.h"
#include "ops/infer.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

constexpr std::int64_t kSide = 64, kElements = kSide * kSide;
constexpr std::int64_t kFloats = kElements * 4;  ///< bytes

/// Results of the shapes that inference says, all zeros.
Result<std::vector<Constant>> zeros(const Graph& graph, NodeId id) {
  const Value& output = graph.values[graph.nodes[id].outputs[0]];
  Dims dims;
  for (const Expr& dim : output.shape) dims.push_back(dim.constant().value());
  const std::vector<std::byte> bytes(
      static_cast<std::size_t>(dims.elements() * size_of(output.dtype)));
  return std::vector{make_constant(output.dtype, dims, bytes)};
}

Constant filled(DType dtype, const Dims& dims) {
  return make_constant(
      dtype, dims,
      std::vector<std::byte>(static_cast<std::size_t>(dims.elements() * size_of(dtype))));
}

/// Returns a context whose quota has `left` bytes left. Large results are computed immediately.
PassContext with_bytes(std::int64_t left) {
  PassContext context{zeros};
  EXPECT_TRUE(context.quota->take_bytes(LoadQuota::kBytes - left));
  return context;
}

/// Returns y = Mul(Cast(weights), scale), as in models with int8 weights.
Graph dequantized() {
  Graph graph;
  GraphBuilder builder(graph);
  const ValueId weights = builder.constant("w", filled(DType::kI8, Dims{kSide, kSide}));
  const ValueId scale = builder.constant("s", filled(DType::kF32, Dims{kSide, 1}));
  Attributes to_float;
  to_float.set("to", std::int64_t{1});
  const ValueId cast = builder.op(OpKind::kCast, {weights}, std::move(to_float));
  builder.output(builder.op(OpKind::kMul, {cast, scale}));
  EXPECT_TRUE(infer_graph(graph));
  return graph;
}

TEST(FoldBudget, AnInputThatIsLetGoMakesRoomForTheResult) {
  for (const auto& [left, nodes] :
       {std::pair{2 * kFloats, 0U}, {2 * kFloats - 1, 2U}, {4 * kFloats, 0U}}) {
    Graph graph = dequantized();
    const PassContext context = with_bytes(left);
    ASSERT_TRUE(fold_constants(graph, context));
    EXPECT_EQ(graph.nodes.size(), nodes) << left;
    EXPECT_EQ(context.quota->bytes_left(), nodes == 0 ? left - 2 * kFloats : left);
    graph = {};
    EXPECT_EQ(context.quota->bytes_left(), left);
  }
}

TEST(FoldBudget, AnInputThatOthersReadMakesNone) {
  Graph graph = dequantized();
  graph.outputs.push_back(graph.nodes[NodeId{0}].outputs[0]);
  const PassContext context = with_bytes(3 * kFloats);
  ASSERT_TRUE(fold_constants(graph, context));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[NodeId{0}].op, OpKind::kMul);
}

/// Transpose(Mul(Div(v, norm), g)) of weights in another file, which weight normalisation leaves.
TEST(FoldBudget, ChainsOfWeightsInOtherFilesFold) {
  for (const bool outside : {true, false}) {
    Graph graph;
    GraphBuilder builder(graph);
    Constant stored = filled(DType::kF32, Dims{kSide, kSide});
    if (outside) stored.owner = weights_outside(std::move(stored.owner));
    const ValueId v = builder.constant("v", std::move(stored));
    const ValueId norm = builder.constant("n", filled(DType::kF32, Dims{kSide, 1}));
    const ValueId unit = builder.op(OpKind::kDiv, {v, norm});
    const ValueId scaled = builder.op(OpKind::kMul, {unit, norm});
    Attributes turned;
    turned.set("perm", std::vector<std::int64_t>{1, 0});
    builder.output(builder.op(OpKind::kTranspose, {scaled}, std::move(turned)));
    ASSERT_TRUE(infer_graph(graph));
    const PassContext context = with_bytes(0);
    context.quota->allow_weights(kFloats);
    ASSERT_TRUE(fold_constants(graph, context));
    EXPECT_EQ(graph.nodes.size(), outside ? 0U : 3U);
    EXPECT_EQ(context.quota->weight_bytes_left(), (outside ? 2 : 4) * kFloats);
    graph = {};
    EXPECT_EQ(context.quota->weight_bytes_left(), 4 * kFloats);
  }
}

}  // namespace
}  // namespace parallax
