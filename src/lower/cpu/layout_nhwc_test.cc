#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/text/text.h"
#include "lower/cpu/lower.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/nhwc_rules.h"
#include "ops/infer.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

/// Runs the pass over `text` and returns the graph, which must be valid and keep its shapes.
Graph after_layout(const std::string& text, int changes) {
  auto parsed = parse_graph(text);
  EXPECT_TRUE(parsed) << parsed.error().to_string();
  if (!parsed) return {};
  Graph graph = *std::move(parsed);
  Status status = infer_graph(graph);
  EXPECT_TRUE(status) << status.error().to_string();
  const Shape before = graph.values[graph.outputs[0]].shape;
  const std::string unchanged = print(graph);
  EXPECT_EQ(layout_nhwc(graph, {}).value_or(-1), changes);
  EXPECT_EQ(changes > 0, print(graph) != unchanged);
  status = verify(graph, Stage::kSimplify);
  EXPECT_TRUE(status) << status.error().to_string() << print(graph);
  const std::string shapes = print(graph);
  status = infer_graph(graph);
  EXPECT_TRUE(status) << status.error().to_string() << print(graph);
  EXPECT_EQ(print(graph), shapes);  // the shapes that the pass wrote are those of inference
  EXPECT_EQ(graph.values[graph.outputs[0]].shape, before);
  return graph;
}

const Node& node_named(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return node;
  }
  ADD_FAILURE() << "no node " << name;
  return graph.nodes[NodeId{0}];
}

const std::string kTwoConvolutions =
    "symbols n h\ninput x f32 [n, 3, h, 8]\nconst w f32 [4, 3, 3, 3] = fill 0.5\n"
    "const v f32 [4, 4, 1, 1] = fill 0.5\na = Conv(x, w) {pads = [1, 1, 1, 1]} @first\n"
    "b = Conv(a, v) @second\n";

TEST(LayoutNhwc, TransposesOnlyAtTheBorders) {
  const Graph graph = after_layout(
      kTwoConvolutions +
          "const d f32 [1, 4, 1, 1] = [1, 2, 3, 4]\nconst one f32 [] = [1]\n"
          "c = Mul(b, d)\ne = Add(c, one)\nf = Silu(e)\ng = Concat(a, f) {axis = 1} @cat\n"
          "p = MaxPool(g) {kernel_shape = [2, 2]} @pool\nq, r = Split(p) {axis = 1, num_outputs = "
          "2} "
          "@split\ns = Sub(q, r)\noutput s",
      9);
  EXPECT_EQ(operators_of(graph),
            "Transpose Conv Conv Mul Add Silu Concat MaxPool Split Sub Transpose");
  EXPECT_EQ(node_named(graph, "cat").attributes.get_int("axis", 0), 3);
  EXPECT_EQ(node_named(graph, "split").attributes.get_int("axis", 0), 3);
  EXPECT_EQ(node_named(graph, "pool").attributes.get_string("layout", ""), "NHWC");
  EXPECT_EQ(node_named(graph, "first").attributes.get_string("layout", ""), "NHWC");
  EXPECT_EQ(graph.nodes[NodeId{0}].attributes.get_ints("perm"),
            (std::vector<std::int64_t>{0, 2, 3, 1}));
}

/// As converters write dynamic quantisation: scales are computed, and so is the bias, of integers.
TEST(LayoutNhwc, ContainsWhatIsQuantisedWhileRunning) {
  const Graph graph = after_layout(
      "input x f32 [1, 3, 8, 8]\nconst w u8 [4, 3, 3, 3] = fill 5\nconst wz u8 [] = [7]\n"
      "const v u8 [4, 4, 1, 1] = fill 3\nconst ws f32 [] = [0.5]\nconst b f32 [4] = [1, 2, 3, "
      "4]\nconst s i64 [4] = [1, -1, 1, 1]\n"
      "q, qs, qz = DynamicQuantizeLinear(x)\nc = ConvInteger(q, w, qz, wz)\n"
      "k = Mul(qs, ws)\nd = Div(b, k)\nf = Floor(d)\ni = Cast(f) {to = 6}\nj = Reshape(i, s)\n"
      "a = Add(c, j)\ne = Cast(a) {to = 1}\ny = Mul(e, k)\n"
      "z, zs, zz = DynamicQuantizeLinear(y)\ng = ConvInteger(z, v, zz, wz)\n"
      "h = Cast(g) {to = 1}\nt = Mul(zs, ws)\no = Mul(h, t)\noutput o",
      9);
  EXPECT_EQ(operators_of(graph),
            "Transpose DynamicQuantizeLinear ConvInteger Mul Div Floor Cast Reshape Reshape Add "
            "Cast Mul DynamicQuantizeLinear ConvInteger Cast Mul Mul Transpose");
}

TEST(LayoutNhwc, TurnsTheAxesOfNormsAndOfSquares) {
  const Graph graph =
      after_layout(kTwoConvolutions +
                       "const k i64 [1] = [-3]\nc = LpNormalization(b) {axis = 1} @channels\n"
                       "d = LpNormalization(c) @columns\ne = ReduceSumSquare(d, k)\noutput e",
                   5);
  EXPECT_EQ(operators_of(graph),
            "Transpose Conv Conv LpNormalization LpNormalization ReduceSumSquare Transpose");
  EXPECT_EQ(node_named(graph, "channels").attributes.get_int("axis", -1), 3);
  EXPECT_EQ(node_named(graph, "columns").attributes.get_int("axis", -1), 2);
}

TEST(LayoutNhwc, TurnsTheAxesOfEveryReduction) {
  for (const std::string op :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    const Graph graph =
        after_layout(kTwoConvolutions + "const k i64 [1] = [1]\nc = " + op + "(b, k)\noutput c", 3);
    EXPECT_EQ(operators_of(graph), "Transpose Conv Conv " + op + " Transpose");
  }
}

TEST(LayoutNhwc, LeavesASingleConvolutionAlone) {
  const std::string text =
      "input x f32 [1, 3, 8, 8]\nconst w f32 [4, 3, 3, 3] = fill 0.5\na = Conv(x, w)\n"
      "b = Relu(a)\noutput b";
  EXPECT_EQ(operators_of(after_layout(text, 0)), "Conv Relu");
}

TEST(LayoutNhwc, ASingleConvolutionTurnsForFewerMultiplications) {
  const auto text = [](const std::string& filters, const std::string& attributes) {
    return "input x f32 [1, 16, 8, 8]\nconst w f32 " + filters + " = fill 0.5\na = Conv(x, w)" +
           attributes + "\noutput a";
  };
  for (const char* const attributes : {"", " {dilations = [2, 2]}"})
    EXPECT_EQ(operators_of(after_layout(text("[16, 16, 3, 3]", attributes), 1)),
              "Transpose Conv Transpose");
  for (const auto& [filters, attributes] :
       std::vector<std::pair<std::string, std::string>>{{"[15, 16, 3, 3]", ""},
                                                        {"[16, 16, 3, 5]", ""},
                                                        {"[16, 16, 3, 3]", " {strides = [1, 2]}"},
                                                        {"[16, 8, 3, 3]", " {group = 2}"}})
    EXPECT_EQ(operators_of(after_layout(text(filters, attributes), 0)), "Conv")
        << filters << attributes;
}

TEST(LayoutNhwc, ASingleConvolutionTurnsWhereItsImagesCrossAsNhwc) {
  const std::string shapes =
      "input x f32 [1, 3, 8, 8]\ninput y f32 [1, 8, 8, 3]\n"
      "const w f32 [3, 3, 1, 1] = fill 0.5\n";
  const std::string first = "c = Transpose(y) {perm = [0, 3, 1, 2]}\n",
                    last = "d = Transpose(b) {perm = [0, 2, 3, 1]}\noutput d\n",
                    from_x = "a = Conv(x, w)\nb = Relu(a)\n",
                    from_y = "a = Conv(c, w)\nb = Relu(a)\n";
  EXPECT_EQ(operators_of(after_layout(shapes + first + from_y + last, 2)), "Conv Relu Identity");
  EXPECT_EQ(operators_of(after_layout(shapes + first + from_y + "output b", 2)),
            "Conv Relu Transpose");
  EXPECT_EQ(operators_of(after_layout(shapes + from_x + last, 2)), "Transpose Conv Relu Identity");
  // Other transposes do not change the layout of an image.
  EXPECT_EQ(operators_of(after_layout(
                shapes + from_x + "d = Transpose(b) {perm = [0, 3, 2, 1]}\noutput d", 0)),
            "Conv Relu Transpose");
}

TEST(LayoutNhwc, APatchEmbeddingIsAView) {
  const std::string head =
      "input x f32 [2, 3, 8, 12]\nconst w f32 [5, 3, 4, 4] = fill 0.5\n"
      "const v f32 [5, 5, 1, 1] = fill 0.5\nconst d i64 [3] = [2, 5, 6]\n"
      "a = Conv(x, w) {strides = [4, 4]}\n";
  const std::string flat = "b = Reshape(a, d)\nc = Transpose(b) {perm = [0, 2, 1]}\n";
  const Graph graph = after_layout(head + flat + "output c", 1);
  EXPECT_EQ(operators_of(graph), "Transpose Conv Reshape");
  EXPECT_EQ(graph.nodes[NodeId{1}].attributes.get_string("layout", ""), "NHWC");
  // Other readers of the image or its pixels still receive the original layout.
  EXPECT_EQ(operators_of(after_layout(head + flat + "e = Softmax(b)\noutput c\noutput e", 1)),
            "Transpose Conv Transpose Reshape Reshape Softmax");
  EXPECT_EQ(operators_of(after_layout(head + "e = Conv(a, v)\n" + flat + "output c\noutput e", 2)),
            "Transpose Conv Conv Transpose Reshape");
  // No pixels: other axes, or another shape.
  for (const char* other : {"b = Reshape(a, d)\nc = Transpose(b) {perm = [1, 2, 0]}\noutput c",
                            "const k i64 [3] = [5, 2, 6]\nb = Reshape(a, k)\n"
                            "c = Transpose(b) {perm = [0, 2, 1]}\noutput c"})
    EXPECT_EQ(operators_of(after_layout(head + other, 0)), "Conv Reshape Transpose");
}

TEST(LayoutNhwc, LeavesOtherRanksAlone) {
  const std::string text =
      "input x f32 [1, 3, 8, 8, 8]\nconst w f32 [3, 3, 3, 3, 3] = fill 0.5\na = Conv(x, w)\n"
      "b = Conv(a, w)\noutput b";
  EXPECT_EQ(operators_of(after_layout(text, 0)), "Conv Conv");
}

TEST(LayoutNhwc, SoundIsAnImageOfRank3) {
  const std::string text =
      "symbols n w\ninput x f32 [n, 5, w]\nconst f f32 [4, 5, 3] = fill 0.5\n"
      "const g f32 [4, 4, 3] = fill 0.5\nconst m i64 [1] = [2]\nconst d f32 [4, 1] = [1, 2, 3, 4]\n"
      "a = Conv(x, f) {pads = [1, 1]} @first\nb = Conv(a, g) {strides = [2]}\nc = Mul(b, d)\n"
      "h, i = Split(c) {axis = -2, num_outputs = 2} @split\ne = Concat(i, h) {axis = 1}\n"
      "r = ReduceMean(e, m) {keepdims = 0}\nt = Transpose(e) {perm = [0, 2, 1]}\n"
      "s = Transpose(t) {perm = [1, 0, 2]}\noutput s, r";
  const Graph graph = after_layout(text, 6);
  EXPECT_EQ(operators_of(graph),
            "Transpose Conv Conv Mul Split Concat ReduceMean Identity Transpose");
  EXPECT_EQ(graph.nodes[NodeId{0}].attributes.get_ints("perm"), (Permutation{0, 2, 1}));
  EXPECT_EQ(node_named(graph, "split").attributes.get_int("axis", 0), 2);
  EXPECT_EQ(node_named(graph, "first").attributes.get_string("layout", ""), "NHWC");
}

TEST(LayoutNhwc, RanksDoNotMix) {
  // One constant among images of either rank; a sum of images of both ranks is left alone.
  const std::string text =
      kTwoConvolutions +
      "input y f32 [1, 4, 6]\nconst f f32 [4, 4, 1] = fill 0.5\nconst d f32 [4, 1] = [1, 2, 3, 4]\n"
      "const e f32 [4, 1, 1] = [1, 2, 3, 4]\nc = Conv(y, f)\ng = Conv(c, f)\ni = Mul(g, d)\n"
      "j = Mul(g, e)\nk = Mul(b, e)\nl = Mul(b, d)\nm = Concat(i, j) {axis = 0}\n"
      "o = ReduceMax(l) {keepdims = 0}\np = Add(m, o)\noutput p, k";
  const Graph graph = after_layout(text, 10);
  EXPECT_EQ(operators_of(graph),
            "Transpose Conv Conv Transpose Conv Conv Mul Mul Mul Transpose Mul Transpose Concat "
            "ReduceMax Add Transpose");
}

TEST(LayoutNhwc, LeavesIndicesOfMaxPoolAlone) {
  const std::string text =
      kTwoConvolutions + "p, i = MaxPool(b) {kernel_shape = [2, 2]}\nc = Relu(p)\noutput c, i";
  EXPECT_EQ(operators_of(after_layout(text, 2)), "Transpose Conv Conv Transpose MaxPool Relu");
}

TEST(LayoutNhwc, AnImageReadInBothLayoutsIsConvertedOnce) {
  const std::string text = kTwoConvolutions +
                           "const s i64 [2] = [0, -1]\nr = Reshape(a, s)\nt = Reshape(a, s)\n"
                           "c = Concat(r, t) {axis = 1}\noutput c, b";
  EXPECT_EQ(operators_of(after_layout(text, 2)),
            "Transpose Conv Transpose Conv Transpose Reshape Reshape Concat");
}

TEST(LayoutNhwc, TakesOnTransposesThatAreThere) {
  const std::string text =
      "input x f32 [1, 8, 8, 3]\nconst w f32 [4, 3, 3, 3] = fill 0.5\n"
      "const v f32 [4, 4, 1, 1] = fill 0.5\nt = Transpose(x) {perm = [0, 3, 1, 2]}\n"
      "a = Conv(t, w)\nb = Conv(a, v)\nu = Transpose(b) {perm = [0, 2, 3, 1]}\noutput u";
  EXPECT_EQ(operators_of(after_layout(text, 2)), "Conv Conv Identity");
}

TEST(LayoutNhwc, OnlyWhatASliceLeavesIsTurned) {
  const std::string head =
      "input x f32 [1, 4, 8, 8]\nconst w f32 [4, 4, 1, 1] = fill 0.5\n"
      "const s i64 [1] = [2]\nconst e i64 [1] = [8]\nconst h i64 [1] = [2]\n";
  const std::string tail = "b = Conv(a, w)\nc = Conv(b, w)\n";
  const std::string cut = "a = Slice(x, s, e, h)\n";
  EXPECT_EQ(operators_of(after_layout(head + cut + tail + "output c", 2)),
            "Slice Transpose Conv Conv Transpose");
  // Others may want the whole image as NHWC.
  EXPECT_EQ(operators_of(after_layout(head + cut + tail +
                                          "f = MaxPool(x) {kernel_shape = [2, 2]}\n"
                                          "output c, f",
                                      3)),
            "Transpose Slice Conv Conv Transpose MaxPool");
}

TEST(LayoutNhwc, OneChannelIsAView) {
  const std::string text =
      "input x f32 [1, 1, 8, 8]\nconst w f32 [4, 1, 3, 3] = fill 0.5\n"
      "const v f32 [1, 4, 1, 1] = fill 0.5\na = Conv(x, w)\nb = Conv(a, v)\noutput b";
  EXPECT_EQ(operators_of(after_layout(text, 2)), "Reshape Conv Conv Reshape");
}

TEST(LayoutNhwc, AxesInInputsAreRenamed) {
  const std::string text = kTwoConvolutions +
                           "const m i64 [2] = [2, 3]\nr = ReduceMean(b, m) {keepdims = 1} @mean\n"
                           "c = Mul(b, r)\nconst k i64 [1] = [1]\nconst z i64 [1] = [0]\n"
                           "const two i64 [1] = [2]\nd = Slice(c, z, two, k) @slice\n"
                           "e = ReduceMean(d, m) {keepdims = 0}\noutput e";
  const Graph graph = after_layout(text, 6);
  EXPECT_EQ(operators_of(graph), "Transpose Conv Conv ReduceMean Mul Slice ReduceMean");
  const auto axes = [&graph](ValueId id) { return *integers(*graph.values[id].constant); };
  EXPECT_EQ(axes(node_named(graph, "mean").inputs[1]), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(axes(node_named(graph, "slice").inputs[3]), (std::vector<std::int64_t>{3}));
}

TEST(LayoutNhwc, WhatAReductionLeavesHasNoLayout) {
  const std::string line =
      "symbols n w\ninput x f32 [n, 5, w]\nconst f f32 [4, 5, 3] = fill 0.5\n"
      "const g f32 [4, 4, 1] = fill 0.5\na = Conv(x, f)\nb = Conv(a, g)\n";
  const std::string one = "const m i64 [1] = [-1]\n", two = "const m i64 [2] = [2, 3]\n";
  for (const auto& [head, axes] : {std::pair(line, one), std::pair(kTwoConvolutions, two)}) {
    for (const char* reduction : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"}) {
      const std::string reduced = head + axes + "r = " + reduction + "(b, m) {keepdims = 0}\n";
      for (const char* turn : {"", " {perm = [1, 0]}"}) {
        const Graph graph = after_layout(reduced + "t = Transpose(r)" + turn + "\noutput t", 3);
        EXPECT_EQ(operators_of(graph),
                  "Transpose Conv Conv " + std::string(reduction) + " Transpose");
      }
      EXPECT_EQ(
          operators_of(after_layout(reduced + "t = Transpose(r) {perm = [0, 1]}\noutput t", 3)),
          "Transpose Conv Conv " + std::string(reduction) + " Transpose");
    }
  }
}

TEST(LayoutNhwc, ATransposeOfOtherRanksIsLeftAlone) {
  for (const char* tail :
       {"r = Flatten(b)\nt = Transpose(r)\noutput t",
        "const k i64 [2] = [2, 3]\nr = GlobalMaxPool(b)\ns = Squeeze(r, k)\n"
        "t = Transpose(s)\noutput t",
        "const z i64 [] = [0]\nr = Gather(b, z) {axis = 3}\nt = Transpose(r) {perm = [0, 2, 1]}\n"
        "output t",
        "const d i64 [3] = [0, 0, -1]\nr = Reshape(b, d)\nt = Transpose(r) {perm = [0, 2, 1]}\n"
        "output t"}) {
    SCOPED_TRACE(tail);
    const Graph graph = after_layout(kTwoConvolutions + tail,
                                     std::string(tail).find("Pool") == std::string::npos ? 2 : 3);
    EXPECT_TRUE(operators_of(graph).ends_with("Transpose"));
  }
}

TEST(LayoutNhwc, PaddingIsReordered) {
  const std::string text = kTwoConvolutions +
                           "const p i64 [8] = [0, 1, 2, 3, 4, 5, 6, 7]\nconst z f32 [] = [0]\n"
                           "c = Pad(b, p, z) @pad\noutput c";
  const Graph graph = after_layout(text, 3);
  EXPECT_EQ(operators_of(graph), "Transpose Conv Conv Pad Transpose");
  EXPECT_EQ(*integers(*graph.values[node_named(graph, "pad").inputs[1]].constant),
            (std::vector<std::int64_t>{0, 2, 3, 1, 4, 6, 7, 5}));
}

TEST(LayoutNhwc, ConstantsAreTurned) {
  const std::vector<float> elements = {1, 2, 3, 4, 5, 6};
  const Constant turned = to_nhwc(make_f32(Dims{2, 1, 3}, elements), 4);
  EXPECT_EQ(turned.dims, (Dims{1, 1, 3, 2}));
  EXPECT_EQ(floats(turned), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  const Constant line = to_nhwc(make_f32(Dims{2, 3}, elements), 3);
  EXPECT_EQ(line.dims, (Dims{1, 3, 2}));
  EXPECT_EQ(floats(line), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(LayoutNhwc, IslandsThatAreNotTurnedTakeNothing) {
  Graph graph;
  GraphBuilder builder(graph);
  const ValueId x = builder.input("x", DType::kF32, {1, 8, 16, 16});
  const Constant zeros = make_constant(DType::kF32, Dims{1, 8, 16, 16},
                                       std::vector<std::byte>(std::size_t{8} * 16 * 16 * 4));
  const ValueId image = builder.constant("image", zeros);
  builder.output(builder.op(OpKind::kAdd, {builder.op(OpKind::kRelu, {x}), image}));
  ASSERT_TRUE(infer_graph(graph));
  const PassContext context;
  const std::int64_t left = context.quota->bytes_left();
  ASSERT_TRUE(layout_nhwc(graph, context));
  EXPECT_EQ(context.quota->bytes_left(), left);
}

}  // namespace
}  // namespace parallax
