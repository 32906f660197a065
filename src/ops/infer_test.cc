#include "ops/infer.h"

#include <cstring>

#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(InferTest, ShapeArithmeticVanishes) {
  check_rows({
      // An exporter's form of x.view(b, s, 4, 3): everything is known but b and s.
      {"input x f32 [b, s, 12]\nd = Shape(x)\nconst zero i64 [] = [0]\nconst one i64 [] = [1]\n"
       "const front i64 [1] = [0]\nconst tail i64 [2] = [4, 3]\n"
       "n = Gather(d, zero)\nm = Gather(d, one)\nnn = Unsqueeze(n, front)\nmm = Unsqueeze(m, "
       "front)\n"
       "t = Concat(nn, mm, tail) {axis = 0}\ny = Reshape(x, t)\noutput t, y",
       "int64 4 = [b, s, 4, 3]; float32 bxsx4x3"},
      // torch's expand: -1 keeps a size, so Where(shape == -1, 1, shape).
      {"input x f32 [b, 1]\nsymbolic t i64 [2] = [b, s]\nconst m i64 [] = [-1]\n"
       "c = Equal(t, m)\nd = Shape(t)\no = ConstantOfShape(d) {value = tensor i64 [1] [1]}\n"
       "w = Where(c, o, t)\ny = Expand(x, w)\noutput y",
       "float32 bxs"},
  });
}

TEST(InferTest, InferringAgainGivesTheSameSymbols) {
  auto graph = parse_graph("input x f32 [4]\ni = NonZero(x)\noutput i");
  ASSERT_TRUE(graph && infer_graph(*graph));
  const Shape first = graph->values[graph->outputs[0]].shape;
  const std::size_t symbols = graph->symbols.size();
  ASSERT_TRUE(infer_graph(*graph));
  EXPECT_TRUE(graph->values[graph->outputs[0]].shape == first);
  EXPECT_EQ(graph->symbols.size(), symbols);
}

TEST(InferTest, ASymbolOfTheModelIsNeverTakenForAnotherSize) {
  EXPECT_EQ(inferred("symbols NonZero_0.0\ninput x f32 [NonZero_0.0]\ni = NonZero(x)\noutput i"),
            "int64 1xNonZero_0.0'");
}

TEST(InferTest, ErrorsNameNodeStageAndShapes) {
  auto graph = parse_graph("symbols b\ninput x f32 [b, 3]\ny = Softmax(x) {axis = 5} @ attention");
  ASSERT_TRUE(graph);
  const auto status = infer_graph(*graph);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().node, "attention");
  EXPECT_EQ(status.error().stage, Stage::kLoad);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidModel);
  EXPECT_EQ(status.error().message, "Softmax: axis 5 is outside rank 2 (inputs: float32 bx3)");
}

/// A chain of nodes that each copy a list of 1024 numbers must not take memory for all of them.
TEST(InferTest, ContentIsBounded) {
  std::string text = "const x0 i64 [1024] = fill 1\n";
  constexpr int kNodes = 3000;
  for (int i = 0; i < kNodes; ++i) {
    text += "x" + std::to_string(i + 1) + " = Identity(x" + std::to_string(i) + ")\n";
  }
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph && infer_graph(*graph));
  std::size_t elements = 0;
  for (const Value& value : graph->values) elements += value.content ? value.content->size() : 0;
  EXPECT_GT(elements, std::size_t{1} << 18);
  EXPECT_LE(elements * sizeof(Expr), static_cast<std::size_t>(LoadQuota::kBytes));
}

/// Bodies draw from the same quota as the graph around them, and a graph that is inferred again
/// takes nothing more.
TEST(InferTest, ContentOfBodiesIsBoundedTogether) {
  std::string text = "symbols b\ninput x f32 [b]\ninput go bool []\nconst c i64 [1024] = fill 1\n";
  text += "n = Shape(x)\nk = Mul(c, n)\n";
  constexpr int kNodes = 1000;
  for (int i = 0; i < kNodes; ++i) {
    const std::string branch =
        "body\nouter_symbols b\ninput k i64 [1024]\nt = Identity(k)\noutput t\nend\n";
    text += "y" + std::to_string(i) + " = If(go; k)\n" + branch + branch;
  }
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph) << graph.error().message;
  LoadQuota quota;
  ASSERT_TRUE(infer_graph(*graph, quota));
  std::int64_t known = 0;
  const auto count = [&known](const Graph& part) {
    for (const Value& value : part.values) known += value.content ? 1 : 0;
  };
  count(*graph);
  for (const Node& node : graph->nodes)
    for (const auto& body : node.bodies) count(*body);
  // Each of the elements has a tree of its own.
  EXPECT_GT(known, 100);
  EXPECT_LT(known * 1024 * 64, LoadQuota::kBytes);
  const std::int64_t left = quota.bytes_left();
  ASSERT_TRUE(infer_graph(*graph, quota));
  EXPECT_EQ(quota.bytes_left(), left);
}

TEST(InferTest, WorkIsBounded) {
  auto graph = parse_graph("input x f32 [2]\ny = Relu(x)\nz = Exp(y)\noutput z");
  ASSERT_TRUE(graph);
  LoadQuota quota;
  ASSERT_TRUE(quota.take_work(LoadQuota::kWork));
  ASSERT_TRUE(quota.need_work(LoadQuota::kKeptWork - LoadQuota::kWorkPerNode));
  const Status status = infer_graph(*graph, quota);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(status.error().message,
            "Relu: loading the model takes too much work (inputs: float32 2)");
}

/// Runs infer_runtime on node 0 of `text` for inputs of these dims, with bytes of i64 values.
struct Given {
  Dims dims;
  std::vector<std::int64_t> values = {};
  bool present = true;
  DType dtype = DType::kI64;
};

Result<std::vector<std::optional<Dims>>> at_run_time(std::string_view text,
                                                     const std::vector<Given>& given) {
  auto graph = parse_graph("symbols b s\n" + std::string(text));
  EXPECT_TRUE(graph) << graph.error().message;
  std::vector<RuntimeInput> inputs;
  for (const Given& one : given) {
    inputs.push_back(
        {one.present, one.dtype, one.dims,
         one.values.empty() ? nullptr : reinterpret_cast<const std::byte*>(one.values.data())});
  }
  return infer_runtime(graph->nodes[NodeId{0}], inputs);
}

TEST(InferRuntimeTest, UsesTheValuesOfShapeInputs) {
  const auto reshape =
      at_run_time("input x i64 [b]\ninput t i64 [2]\ny = Reshape(x, t)", {{{6}}, {{2}, {-1, 2}}});
  ASSERT_TRUE(reshape);
  EXPECT_EQ((*reshape)[0], (Dims{3, 2}));
  const auto slice = at_run_time("input x i64 [b]\ninput f i64 [1]\ny = Slice(x, f, f)",
                                 {{{6}}, {{1}, {1}}, {{1}, {4}}});
  ASSERT_TRUE(slice);
  EXPECT_EQ((*slice)[0], (Dims{3}));
  const auto range =
      at_run_time("input x i64 []\ny = Range(x, x, x)", {{{}, {1}}, {{}, {7}}, {{}, {2}}});
  ASSERT_TRUE(range);
  EXPECT_EQ((*range)[0], (Dims{3}));
}

TEST(InferRuntimeTest, ReadsScalesOfResize) {
  const float scales[] = {1, 2.5};
  auto graph = parse_graph("input x f32 [2, 4]\ninput k f32 [2]\ny = Resize(x, _, k)");
  ASSERT_TRUE(graph);
  const std::vector<RuntimeInput> inputs = {
      {true, DType::kF32, {2, 4}, nullptr},
      {},
      {true, DType::kF32, {2}, reinterpret_cast<const std::byte*>(scales)}};
  const auto dims = infer_runtime(graph->nodes[NodeId{0}], inputs);
  ASSERT_TRUE(dims) << dims.error().message;
  EXPECT_EQ((*dims)[0], (Dims{2, 10}));
}

TEST(InferRuntimeTest, KernelsSizeDataDependentOutputs) {
  const auto dims = at_run_time("input x i64 [b]\ny = NonZero(x)", {{{6}}});
  ASSERT_TRUE(dims);
  EXPECT_EQ((*dims)[0], std::nullopt);
}

TEST(InferRuntimeTest, RefusesBadValuesAsInputs) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const auto refused = [](const auto& result, ErrorCode code) {
    return !result && result.error().stage == Stage::kRun && result.error().code == code;
  };
  const std::string_view expand = "input x i64 [b]\ninput t i64 [1]\ny = Expand(x, t)";
  EXPECT_TRUE(refused(at_run_time(expand, {{{1}}, {{1}, {-5}}}), ErrorCode::kInvalidInput));
  EXPECT_TRUE(refused(at_run_time(expand, {{{1}}, {{1}, {huge}}}), ErrorCode::kInvalidInput));
  EXPECT_TRUE(refused(at_run_time(expand, {{{2}}, {{1}, {3}}}), ErrorCode::kInvalidInput));
  // An executor that forgets the values is at fault, not the input.
  EXPECT_TRUE(refused(at_run_time(expand, {{{2}}, {{1}}}), ErrorCode::kInternal));
}

}  // namespace
}  // namespace parallax
