// The passes that make a graph smaller: each fires where it should and refuses where it must.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "simplify/passes_test_util.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

/// What is left: "Relu Add -> y, x" with the names of the outputs.
std::string summary(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += std::string(to_string(node.op)) + " ";
  text += "->";
  for (const ValueId id : graph.outputs) text += " " + graph.values[id].name;
  return text;
}

struct Case {
  const char* text;
  const char* expected;
};

template <class Run>
void check(Run run, const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    Graph graph = graph_of(one.text);
    const std::size_t before = graph.nodes.size();
    const std::string text = print(graph);
    const auto changes = run(graph, PassContext{});
    ASSERT_TRUE(changes) << changes.error().to_string() << one.text;
    EXPECT_EQ(summary(graph), one.expected) << one.text;
    EXPECT_EQ(*changes > 0, graph.nodes.size() < before) << one.text;
    EXPECT_EQ(*changes > 0, print(graph) != text) << one.text;
    const Status status = verify(graph, Stage::kPasses);
    EXPECT_TRUE(status) << status.error().to_string() << one.text;
    EXPECT_TRUE(infer_graph(graph)) << one.text;
  }
}

TEST(DeadCode, DropsWhatReachesNoOutput) {
  check(dead_code, {{"input x f32 [2]\na = Relu(x)\nb = Neg(a)\ny = Abs(x)\noutput y", "Abs -> y"},
                    {"input x f32 [2]\na = Relu(x)\ny = Abs(a)\noutput y", "Relu Abs -> y"}});
}

TEST(DeadCode, KeepsUnusedInputsAndDropsUnusedConstants) {
  Graph graph = graph_of("input x f32 [2]\ninput z f32 [2]\nconst c f32 [1] = [1]\noutput x");
  ASSERT_TRUE(dead_code(graph, {}));
  EXPECT_EQ(graph.values.size(), 2U);
  EXPECT_EQ(graph.inputs.size(), 2U);
}

TEST(RemoveNoOps, Fires) {
  check(
      remove_no_ops,
      {{"input x f32 [2]\na = Relu(x)\ny = Identity(a)\noutput y", "Relu -> y"},
       {"input x f32 [2]\na = Identity(x)\ny = Relu(a)\noutput y", "Relu -> y"},
       {"input x f32 [2]\na = Identity(x)\nb = Identity(a)\ny = Relu(b)\noutput y", "Relu -> y"},
       {"input x f32 [2]\na = Cast(x) {to = 1}\ny = Relu(a)\noutput y", "Relu -> y"},
       {"symbols s\ninput x f32 [s, 4]\nconst p i64 [2] = [-1, 4]\na = Reshape(x, p)\n"
        "y = Relu(a)\noutput y",
        "Relu -> y"},
       {"symbols s\ninput x f32 [s, 4]\na = Transpose(x) {perm = [0, 1]}\ny = Relu(a)\noutput y",
        "Relu -> y"},
       {"symbols s\ninput x f32 [s, 4]\nconst b i64 [1] = [0]\n"
        "const e i64 [1] = [9223372036854775807]\na = Slice(x, b, e, b)\ny = Relu(a)\noutput y",
        "Relu -> y"},
       {"input x f32 [2]\na = Concat(x) {axis = 0}\ny = Relu(a)\noutput y", "Relu -> y"},
       {"symbols s\ninput x f32 [s]\nconst p i64 [2] = [0, 0]\na = Pad(x, p)\ny = Relu(a)\n"
        "output y",
        "Relu -> y"},
       {"symbols s\ninput x f32 [s]\nconst p i64 [1] = [1]\na = Tile(x, p)\ny = Relu(a)\noutput y",
        "Relu -> y"},
       {"symbols s\ninput x f32 [s]\nsymbolic p i64 [1] = [s]\na = Expand(x, p)\ny = Relu(a)\n"
        "output y",
        "Relu -> y"}});
}

TEST(RemoveNoOps, ACastLikeIsACast) {
  Graph graph =
      graph_of("input x f32 [2]\ninput t f16 [1]\ny = CastLike(x, t) {saturate = 0}\noutput y");
  EXPECT_EQ(remove_no_ops(graph, {}).value_or(-1), 1);
  ASSERT_TRUE(infer_graph(graph));
  EXPECT_EQ(operators_of(graph), "Cast");
  EXPECT_EQ(graph.values[graph.outputs[0]].dtype, DType::kF16);
}

TEST(RemoveNoOps, Refuses) {
  check(remove_no_ops,
        {// The user asked for these names.
         {"input x f32 [2]\ny = Identity(x)\noutput y", "Identity -> y"},
         {"input x f32 [2]\na = Relu(x)\ny = Identity(a)\noutput a, y", "Relu Identity -> a y"},
         {"const c f32 [2] = [1, 2]\ny = Identity(c)\noutput y", "Identity -> y"},
         {"input x f32 [2]\na = Cast(x) {to = 7}\ny = Abs(a)\noutput y", "Cast Abs -> y"},
         // Same shape, other elements.
         {"input x f32 [4, 4]\na = Transpose(x)\ny = Relu(a)\noutput y", "Transpose Relu -> y"},
         {"input x f32 [4]\nconst b i64 [1] = [-1]\nconst e i64 [1] = [-9]\nconst a i64 [1] = [0]\n"
          "r = Slice(x, b, e, a, b)\ny = Relu(r)\noutput y",
          "Slice Relu -> y"},
         {"input x f32 [4]\nconst p i64 [2] = [1, -1]\na = Pad(x, p)\ny = Relu(a)\noutput y",
          "Pad Relu -> y"},
         // s may be 1 and t not.
         {"symbols s t\ninput x f32 [s]\nsymbolic p i64 [1] = [t]\na = Expand(x, p)\n"
          "y = Relu(a)\noutput y",
          "Expand Relu -> y"}});
}

TEST(RemoveNoOps, BroadcastingNeedsNoExpand) {
  const std::string fixed =
      "input x f32 [2, 3]\ninput c f32 [2, 1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\n";
  const std::string free =
      "symbols n\ninput x f32 [4, n, 3]\ninput c f32 [3]\nsymbolic s i64 [2] = [n, 3]\n"
      "e = Expand(c, s)\n";
  check(remove_no_ops,
        {{(fixed + "y = Div(x, e)\noutput y").c_str(), "Div -> y"},
         {(fixed + "y = Div(e, x)\nz = Add(e, x)\noutput y, z").c_str(), "Div Add -> y z"},
         {(free + "y = Mul(x, e)\noutput y").c_str(), "Mul -> y"},
         {(fixed + "g = Expand(c, s)\ny = Add(e, g)\noutput y").c_str(), "Expand Add -> y"}});
}

TEST(RemoveNoOps, AnExpandThatGivesTheShapeStays) {
  check(remove_no_ops,
        {{"input x f32 [1, 3]\ninput c f32 [2, 1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\n"
          "y = Div(x, e)\noutput y",
          "Expand Div -> y"},
         {"input c f32 [2, 1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\ny = Div(e, e)\n"
          "output y",
          "Expand Div -> y"},
         {"input x f32 [3]\ninput c f32 [1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\n"
          "y = Div(x, e)\noutput y",
          "Expand Div -> y"},
         // The value of n is not known before it is bound, and n = 1 gives another shape.
         {"symbols n\ninput x f32 [n, 3]\ninput c f32 [2, 1]\nconst s i64 [2] = [2, 3]\n"
          "e = Expand(c, s)\ny = Mul(x, e)\noutput y",
          "Expand Mul -> y"},
         {"symbols n m\ninput x f32 [n]\ninput c f32 [1]\nsymbolic s i64 [1] = [m]\n"
          "e = Expand(c, s)\ny = Mul(x, e)\noutput y",
          "Expand Mul -> y"},
         {"input x f32 [2, 3]\ninput c f32 [2, 1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\n"
          "y = Concat(x, e) {axis = 0}\noutput y",
          "Expand Concat -> y"}});
}

TEST(FoldShapes, ShapeArithmeticVanishes) {
  Graph graph = graph_of(R"(symbols batch seq
input x f32 [batch, seq, 12]
const zero i64 [1] = [0]
const one i64 [1] = [1]
const heads i64 [2] = [3, 4]
s = Shape(x)
b = Gather(s, zero) {axis = 0}
n = Gather(s, one) {axis = 0}
to = Concat(b, n, heads) {axis = 0}
y = Reshape(x, to)
output y)");
  const auto changes = fold_shapes(graph, {});
  ASSERT_TRUE(changes);
  EXPECT_EQ(*changes, 4);
  EXPECT_EQ(summary(graph), "Reshape -> y");
  EXPECT_TRUE(verify(graph, Stage::kPasses));
  const Value& to = graph.values[graph.nodes[NodeId{0}].inputs[1]];
  EXPECT_EQ(to.kind, ValueKind::kSymbolic);
  EXPECT_EQ(to.name, "to");
}

TEST(FoldShapes, FixedShapesBecomeConstants) {
  Graph graph = graph_of("input x f32 [2, 3]\ny = Shape(x)\noutput y");
  ASSERT_TRUE(fold_shapes(graph, {}));
  EXPECT_EQ(summary(graph), "-> y");
  const Value& y = graph.values[graph.outputs[0]];
  ASSERT_TRUE(y.constant);
  EXPECT_EQ(integers(*y.constant), (std::vector<std::int64_t>{2, 3}));
}

TEST(FoldShapes, RefusesWhatDependsOnValues) {
  check(fold_shapes,
        {{"input x f32 [4]\nn = NonZero(x)\ny = Shape(n)\noutput y", "NonZero Shape -> y"},
         {"input x i64 [4]\ny = Neg(x)\noutput y", "Neg -> y"}});
}

TEST(CommonSubexpressions, Fires) {
  check(common_subexpressions,
        {{"input x f32 [2]\na = Relu(x)\nb = Relu(x)\ny = Add(a, b)\noutput y", "Relu Add -> y"},
         {"input x f32 [2]\na = Relu(x)\nb = Relu(x)\nc = Neg(a)\nd = Neg(b)\ny = Add(c, "
          "d)\noutput y",
          "Relu Neg Add -> y"},
         {"input x f32 [2, 2]\nconst p i64 [1] = [4]\nconst q i64 [1] = [4]\na = Reshape(x, p)\n"
          "b = Reshape(x, q)\ny = Add(a, b)\noutput y",
          "Reshape Add -> y"},
         {"input x f32 [2]\na = Relu(x)\ny = Relu(x)\nb = Neg(a)\noutput y, b", "Relu Neg -> y b"},
         {"input x f32 [4]\na = NonZero(x)\nb = NonZero(x)\nc = Add(a, a)\nd = Add(b, b)\n"
          "y = Add(c, d)\noutput y",
          "NonZero Add Add -> y"}});
}

TEST(CommonSubexpressions, CountsConstantsThatAreKeptOnce) {
  Graph graph = graph_of(R"(input x f32 [2]
const c f32 [1] = [1]
const d f32 [1] = [1]
a = Add(x, c)
y = Mul(a, d)
output y)");
  EXPECT_EQ(common_subexpressions(graph, {}).value_or(-1), 1);
  EXPECT_EQ(summary(graph), "Add Mul -> y");
  EXPECT_EQ(graph.nodes[NodeId{0}].inputs[1], graph.nodes[NodeId{1}].inputs[1]);
}

TEST(CommonSubexpressions, Refuses) {
  check(
      common_subexpressions,
      {{"input x f32 [2]\ny = Relu(x)\nz = Relu(x)\noutput y, z", "Relu Relu -> y z"},
       {"input x f32 [2]\ninput z f32 [2]\na = Relu(x)\nb = Relu(z)\ny = Add(a, b)\noutput y",
        "Relu Relu Add -> y"},
       {"input x f32 [2, 2]\na = Softmax(x) {axis = 0}\nb = Softmax(x) {axis = 1}\ny = Add(a, b)\n"
        "output y",
        "Softmax Softmax Add -> y"},
       {"input x f32 [2]\nconst c f32 [1] = [0.0]\nconst d f32 [1] = [-0.0]\na = Div(x, c)\n"
        "b = Div(x, d)\ny = Add(a, b)\noutput y",
        "Div Div Add -> y"}});
}

/// Computes Neg of i64 and ConstantOfShape of f32 zeros, and counts.
struct Calculator {
  int* calls;
  Result<std::vector<Constant>> operator()(const Graph& graph, NodeId id) const {
    ++*calls;
    const Node& node = graph.nodes[id];
    const Constant& input = *graph.values[node.inputs[0]].constant;
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
    return tl::unexpected(Error{Stage::kExecute, ErrorCode::kOutOfRange, node.name, "cannot"});
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
  EXPECT_EQ(summary(graph), "Add Abs -> y z w");
  EXPECT_TRUE(verify(graph, Stage::kPasses));
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
  EXPECT_EQ(summary(graph), "Add -> y e");
  // Of the first, nothing is left when the third is computed; y reads the second all along.
  EXPECT_EQ(held, (std::vector<long>{0, 1, 1, 2}));
  EXPECT_TRUE(verify(graph, Stage::kPasses));
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
  ASSERT_EQ(summary(graph), "Add MatMul -> y z");
  EXPECT_TRUE(verify(graph, Stage::kPasses));
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
  // 2^25 multiply-adds each: four take all the work there is, whichever of the 80 branches has
  // them.
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
  const std::int64_t work = std::int64_t{256} * 256 * 512 * LoadBudget::kWorkPerProduct;
  EXPECT_GT(products, 0);
  EXPECT_LE(products, LoadBudget::kWork / work);
  EXPECT_LT(context.budget->work_left(), LoadBudget::kWork - products * work);
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

TEST(RunPasses, ReportsEachAndRefusesUnknownNames) {
  const std::string text = "input x f32 [2]\na = Identity(x)\ny = Relu(a)\noutput y";
  Graph graph = graph_of(text);
  const auto reports = run_passes(simplify_passes(), graph, {});
  ASSERT_TRUE(reports) << reports.error().to_string();
  EXPECT_EQ(reports->size(), simplify_passes().size());
  EXPECT_EQ(summary(graph), "Relu -> y");

  graph = graph_of(text);
  const std::vector<std::string> disabled = {"remove_no_ops"};
  const auto fewer = run_passes(simplify_passes(), graph, {}, disabled);
  ASSERT_TRUE(fewer);
  ASSERT_EQ(fewer->size(), simplify_passes().size());
  for (std::size_t i = 0; i < fewer->size(); ++i) {
    EXPECT_EQ((*fewer)[i].disabled, (*fewer)[i].name == "remove_no_ops");
    EXPECT_EQ((*reports)[i].changes, (*fewer)[i].disabled ? 1 : 0) << (*fewer)[i].name;
    EXPECT_FALSE((*reports)[i].disabled);
  }
  EXPECT_EQ(summary(graph), "Identity Relu -> y");

  const std::vector<std::string> unknown = {"remove_noops"};
  const auto refused = check_pass_names(simplify_passes(), unknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(refused.error().message.find("remove_no_ops"), std::string::npos);
}

/// Passes that write what no run could compute.
Result<int> turn_too_many_axes(Graph& graph, const PassContext&) {
  Node& node = graph.nodes[NodeId{0}];
  node.op = OpKind::kTranspose;
  node.attributes.set("perm", std::vector<std::int64_t>{0, 2, 1});
  return 1;
}
Result<int> read_nothing(Graph& graph, const PassContext&) {
  graph.nodes[NodeId{0}].inputs = {ValueId{}};
  return 1;
}
Result<int> turn_without_a_word(Graph& graph, const PassContext&) {
  graph.nodes[NodeId{0}].op = OpKind::kTranspose;
  return 1;
}

TEST(RunPasses, RefusesWhatAPassWroteWrongly) {
  const std::string plain = "input x f32 [2, 3]\ny = Relu(x) @r\noutput y";
  struct Row {
    Pass pass;
    std::string message;
  };
  for (const Row& row :
       {Row{{"bad", turn_too_many_axes}, "pass bad: Transpose: perm is no permutation"},
        Row{{"bad", read_nothing}, "pass bad: Relu: "},
        Row{{"bad", turn_without_a_word},
            "pass bad: Transpose: 'y' is float32 2x3 in the graph"}}) {
    Graph graph = graph_of(plain);
    const auto refused = run_passes({&row.pass, 1}, graph, {});
    ASSERT_FALSE(refused) << row.message;
    EXPECT_EQ(refused.error().stage, Stage::kPasses);
    EXPECT_EQ(refused.error().node, "r");
    EXPECT_TRUE(refused.error().message.starts_with(row.message)) << refused.error().message;
  }
}

TEST(RunPasses, ReportsNearMissesOfEachReasonOnce) {
  Graph graph = graph_of("input x f32 [2]\na = Relu(x) @a\nb = Neg(a) @b\noutput b");
  const auto visit = [](Graph& seen, const PassContext& context) -> Result<int> {
    for (const Node& node : seen.nodes) context.missed("it is no fish", node);
    context.missed("it is green", seen.nodes[NodeId{1}]);
    return 0;
  };
  const Pass passes[] = {{"fish", visit}, {"nothing", dead_code}};
  const auto reports = run_passes(passes, graph, {});
  ASSERT_TRUE(reports) << reports.error().to_string();
  const auto& missed = reports->front().near_misses;
  ASSERT_EQ(missed.size(), 2U);
  EXPECT_EQ(missed[0].reason, "it is no fish");
  EXPECT_EQ(missed[0].node, "a");
  EXPECT_EQ(missed[0].count, 2);
  EXPECT_EQ(missed[1].count, 1);
  EXPECT_TRUE(reports->back().near_misses.empty());
}

}  // namespace
}  // namespace parallax
