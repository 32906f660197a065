// Tests which nodes are folded into constants, and which are left to run time.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "simplify/passes_test_util.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

/// Computes Neg of i64, ConstantOfShape of f32 zeros and Cast of zeros to f32, and counts.
struct Calculator {
  int* calls;
  Result<std::vector<Constant>> operator()(const Graph& graph, NodeId id) const {
    ++*calls;
    const Node& node = graph.nodes[id];
    const Constant& input = *graph.values[node.inputs[0]].constant;
    if (node.op == OpKind::kCast) {
      const std::vector<std::byte> zeros(static_cast<std::size_t>(input.dims.elements()) * 4);
      return std::vector{make_constant(DType::kF32, input.dims, zeros)};
    }
    std::vector<std::int64_t> elements = *integers(input);
    if (node.op == OpKind::kNeg) {
      for (std::int64_t& element : elements) element = -element;
      return std::vector{
          make_constant(DType::kI64, input.dims, std::as_bytes(std::span(elements)))};
    }
    if (node.op == OpKind::kConstantOfShape) {
      const Dims dims{std::span<const std::int64_t>(elements)};
      const std::vector<std::byte> zeros(static_cast<std::size_t>(dims.elements()) * 4);
      return std::vector{make_constant(DType::kF32, dims, zeros)};
    }
    return tl::unexpected(Error{Stage::kRun, ErrorCode::kOutOfRange, node.name, "cannot"});
  }
};

TEST(FoldConstants, FoldsChainsAndLeavesFailures) {
  Graph graph = graph_of(R"(input x i64 [2]
const c i64 [2] = [1, 2]
a = Neg(c)
b = Neg(a)
y = Add(x, b)
z = Neg(c)
w = Abs(c)
output y, z, w)");
  int calls = 0;
  const auto changes = fold_constants(graph, {Calculator{&calls}});
  ASSERT_TRUE(changes) << changes.error().to_string();
  EXPECT_EQ(*changes, 3);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(left_of(graph), "Add Abs -> y z w");
  EXPECT_TRUE(verify(graph, Stage::kSimplify));
  EXPECT_EQ(integers(*graph.values[graph.outputs[1]].constant),
            (std::vector<std::int64_t>{-1, -2}));
}

TEST(FoldConstants, LetsGoOfWhatOnlyFoldedNodesRead) {
  Graph graph = graph_of(R"(input x i64 [2]
const c i64 [2] = [1, 2]
a = Neg(c)
b = Neg(a)
d = Neg(b)
e = Neg(d)
y = Add(x, b)
output y, e)");
  int calls = 0;
  std::vector<std::weak_ptr<const void>> results;
  std::vector<long> held;  // at each call
  const Evaluate evaluate = [&](const Graph& g, NodeId id) {
    held.push_back(std::ranges::count_if(results, [](const auto& r) { return !r.expired(); }));
    auto computed = Calculator{&calls}(g, id);
    if (computed) results.push_back(computed->front().owner);
    return computed;
  };
  ASSERT_TRUE(fold_constants(graph, {evaluate}));
  EXPECT_EQ(left_of(graph), "Add -> y e");
  // The first is released before the third is computed; y reads the second until the end.
  EXPECT_EQ(held, (std::vector<long>{0, 1, 1, 2}));
  EXPECT_TRUE(verify(graph, Stage::kSimplify));
  EXPECT_EQ(integers(*graph.values[graph.outputs[1]].constant), (std::vector<std::int64_t>{1, 2}));
}

TEST(FoldConstants, ViewsShareTheBytes) {
  Graph graph = graph_of(R"(input x f32 [3, 2]
const c f32 [2, 3] = [1, 2, 3, 4, 5, 6]
const shape i64 [2] = [3, -1]
a = Identity(c)
b = Reshape(a, shape)
y = Add(x, b)
z = MatMul(x, c)
output y, z)");
  int calls = 0;
  ASSERT_TRUE(fold_constants(graph, {Calculator{&calls}}));
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(left_of(graph), "Add MatMul -> y z");
  EXPECT_TRUE(verify(graph, Stage::kSimplify));
  const Constant& b = *graph.values[graph.nodes[NodeId{0}].inputs[1]].constant;
  const Constant& c = *graph.values[graph.nodes[NodeId{1}].inputs[1]].constant;
  EXPECT_EQ(b.bytes.data(), c.bytes.data());
  EXPECT_EQ(b.dims, (Dims{3, 2}));
}

TEST(FoldConstants, ComputesNoBombs) {
  // A result of 1 MiB is fine, 4 MiB out of 16 bytes are not.
  for (const auto& [side, folded] : {std::pair{512, true}, {1024, false}, {1 << 20, false}}) {
    Graph graph = graph_of("const c i64 [2] = [" + std::to_string(side) + ", " +
                           std::to_string(side) + "]\ny = ConstantOfShape(c)\noutput y");
    int calls = 0;
    ASSERT_TRUE(fold_constants(graph, {Calculator{&calls}}));
    EXPECT_EQ(calls, folded ? 1 : 0) << side;
    EXPECT_EQ(graph.nodes.empty(), folded) << side;
  }
}

TEST(FoldConstants, WidensWeightsOfAnySize) {
  // 20 MiB of f32 made of 10 MiB of f16, as TFLite files keep large weights.
  Graph graph;
  GraphBuilder builder(graph);
  const std::vector<std::byte> halves(10 << 20);
  const ValueId weights = builder.constant("w", make_constant(DType::kF16, {1024, 5120}, halves));
  Attributes to_float;
  to_float.set("to", std::int64_t{1});
  builder.output(builder.op(OpKind::kCast, {weights}, std::move(to_float)));
  ASSERT_TRUE(infer_graph(graph));
  int calls = 0;
  ASSERT_TRUE(fold_constants(graph, {Calculator{&calls}}));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(graph.nodes.empty());
}

TEST(FoldConstants, ManySmallResultsAreLimitedTogether) {
  Graph graph;
  GraphBuilder builder(graph);
  const std::vector<std::int64_t> shape = {512, 512};
  const ValueId c = builder.ints("shape", shape);
  for (int i = 0; i < 300; ++i) builder.output(builder.op(OpKind::kConstantOfShape, {c}));
  ASSERT_TRUE(infer_graph(graph));
  int calls = 0;
  ASSERT_TRUE(fold_constants(graph, {Calculator{&calls}}));
  EXPECT_EQ(calls, 22) << "22 MiB of 1 MiB each";
  EXPECT_EQ(graph.nodes.size(), 300U - 22U);
}

TEST(FoldConstants, ResultsInBodiesAreLimitedTogether) {
  std::string text = "input c bool []\n";
  for (int i = 0; i < 40; ++i) {
    const std::string branch =
        "body\nconst s i64 [2] = [512, 512]\nt = ConstantOfShape(s)\noutput t\nend\n";
    text += "y" + std::to_string(i) + " = If(c)\n" + branch + branch;
    text += "output y" + std::to_string(i) + "\n";
  }
  Graph graph = graph_of(text);
  int calls = 0;
  ASSERT_TRUE(run_passes(simplify_passes(), graph, {Calculator{&calls}}));
  EXPECT_EQ(calls, 22);
}

TEST(FoldConstants, WorkInBodiesIsLimitedTogether) {
  // 2^25 multiply-adds each: four use up the quota of work, whichever of the 80 branches has them.
  std::string text = "input c bool []\n";
  for (int i = 0; i < 40; ++i) {
    const std::string branch =
        "body\nconst s i64 [2] = [256, 512]\nconst u i64 [2] = [512, 256]\na = ConstantOfShape(s)\n"
        "b = ConstantOfShape(u)\nt = MatMul(a, b)\noutput t\nend\n";
    text += "y" + std::to_string(i) + " = If(c)\n" + branch + branch;
    text += "output y" + std::to_string(i) + "\n";
  }
  Graph graph = graph_of(text);
  int products = 0;
  const Evaluate evaluate = [&products](const Graph& g,
                                        NodeId id) -> Result<std::vector<Constant>> {
    const Node& node = g.nodes[id];
    if (node.op == OpKind::kMatMul) {
      ++products;
      return tl::unexpected(Error{});
    }
    const auto dims = *integers(*g.values[node.inputs[0]].constant);
    const std::vector<std::byte> zeros(static_cast<std::size_t>(dims[0] * dims[1] * 4));
    return std::vector{make_constant(DType::kF32, Dims(dims), zeros)};
  };
  PassContext context{evaluate};
  ASSERT_TRUE(run_passes(simplify_passes(), graph, context));
  const std::int64_t work = std::int64_t{256} * 256 * 512 * LoadQuota::kWorkPerProduct;
  EXPECT_GT(products, 0);
  EXPECT_LE(products, LoadQuota::kWork / work);
  EXPECT_LT(context.quota->work_left(), LoadQuota::kWork - products * work);
}

TEST(FoldConstants, LeavesMuchWorkToRunTime) {
  // 16 and 1,024 million multiply-adds, out of constants that are as large as their results.
  for (const auto& [side, folded] : {std::pair{256, 1}, {1024, 0}}) {
    Graph graph;
    GraphBuilder builder(graph);
    const std::vector<std::byte> zeros(static_cast<std::size_t>(side * side) * sizeof(float));
    const ValueId m = builder.constant("m", make_constant(DType::kF32, Dims{side, side}, zeros));
    builder.output(builder.op(OpKind::kMatMul, {m, m}));
    ASSERT_TRUE(infer_graph(graph));
    int calls = 0;
    const Evaluate refuse = [&calls](const Graph&, NodeId) -> Result<std::vector<Constant>> {
      ++calls;
      return tl::unexpected(Error{});
    };
    ASSERT_TRUE(fold_constants(graph, {refuse}));
    EXPECT_EQ(calls, folded) << side;
  }
}

TEST(FoldConstants, LeavesAHugeConvolutionToRunTime) {
  // 81 and 1,221 million multiply-adds, of an image that is as large as the result: bytes do not
  // stand in the way.
  for (const auto& [size, folded] : {std::pair{3, 1}, {13, 0}}) {
    Graph graph;
    GraphBuilder builder(graph);
    const auto zeros = [&](const char* name, const Dims& dims) {
      const std::vector<std::byte> bytes(static_cast<std::size_t>(dims.elements()) * sizeof(float));
      return builder.constant(name, make_constant(DType::kF32, dims, bytes));
    };
    const ValueId image = zeros("image", Dims{1, 32, 96, 96});
    const ValueId filters = zeros("filters", Dims{32, 32, size, size});
    builder.output(builder.op(OpKind::kConv, {image, filters}));
    ASSERT_TRUE(infer_graph(graph));
    int calls = 0;
    const Evaluate refuse = [&calls](const Graph&, NodeId) -> Result<std::vector<Constant>> {
      ++calls;
      return tl::unexpected(Error{});
    };
    ASSERT_TRUE(fold_constants(graph, {refuse}));
    EXPECT_EQ(calls, folded) << size;
  }
}

}  // namespace
}  // namespace parallax
