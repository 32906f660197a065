#include "load/onnx/normalize/normalize.h"

#include <gtest/gtest.h>

#include <sstream>

#include "ir/text/text.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

/// The constants and nodes of a graph's text.
std::string body(const Graph& graph) {
  std::istringstream lines(print(graph));
  std::string result, line;
  while (std::getline(lines, line)) {
    const std::string first = line.substr(0, line.find(' '));
    if (first == "const" || line.find(" = ") != std::string::npos) result += line + "\n";
  }
  return result;
}

/// One node of an old operator set and what it becomes.
struct Case {
  const char* name;
  std::int64_t opset;
  std::string node;
  const char* expected;
  Names initializers = {};
  Names outputs = {"y"};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Result<Graph> load_case(const Case& c) {
  TestGraph graph;
  graph.nodes = {c.node};
  graph.initializers = c.initializers;
  const Dim n = std::string("n");
  graph.inputs = {value_info("x", kOnnxFloat, {n, Dim(1), Dim(4), Dim(6)})};
  for (const std::string& output : c.outputs) graph.outputs.push_back(value_info(output));
  return load(model(graph, c.opset));
}

class Rewrite : public testing::TestWithParam<Case> {};

TEST_P(Rewrite, GivesTheNewestForm) {
  const auto graph = load_case(GetParam());
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(body(*graph), GetParam().expected);
}

const Ints kAxes = {1};

const Case kRewrites[] = {
    {"SqueezeAttribute", 11, node("Squeeze", {"x"}, {"y"}, {attribute("axes", kAxes)}),
     "const \"Squeeze_0/axes\" i64 [1] = [1]\n"
     "y: f32 [n, 4, 6] = Squeeze(x, \"Squeeze_0/axes\") @Squeeze_0\n"},
    {"SqueezeInput",
     13,
     node("Squeeze", {"x", "a"}, {"y"}),
     "const a i64 [1] = [1]\n"
     "y: f32 [n, 4, 6] = Squeeze(x, a) @Squeeze_0\n",
     {int_tensor("a", {1})}},
    {"UnsqueezeAttribute", 7, node("Unsqueeze", {"x"}, {"y"}, {attribute("axes", kAxes)}, "u"),
     "const \"u/axes\" i64 [1] = [1]\n"
     "y: f32 [n, 1, 1, 4, 6] = Unsqueeze(x, \"u/axes\") @u\n"},
    {"ReduceSumAttribute", 12, node("ReduceSum", {"x"}, {"y"}, {attribute("axes", kAxes)}, "r"),
     "const \"r/axes\" i64 [1] = [1]\n"
     "y: f32 [n, 1, 4, 6] = ReduceSum(x, \"r/axes\") @r\n"},
    {"ReduceMeanAttribute", 17, node("ReduceMean", {"x"}, {"y"}, {attribute("axes", kAxes)}, "r"),
     "const \"r/axes\" i64 [1] = [1]\n"
     "y: f32 [n, 1, 4, 6] = ReduceMean(x, \"r/axes\") @r\n"},
    {"ReduceAll", 17, node("ReduceMax", {"x"}, {"y"}, {attribute("keepdims", 0)}, "r"),
     "y: f32 [] = ReduceMax(x) {keepdims = 0} @r\n"},
    {"ClipAttributes", 6 + 1,
     node("Clip", {"x"}, {"y"}, {attribute("min", 0.0F), attribute("max", 6.0F)}, "c"),
     "const \"c/min\" f32 [] = [0.0]\n"
     "const \"c/max\" f32 [] = [6.0]\n"
     "y: f32 [n, 1, 4, 6] = Clip(x, \"c/min\", \"c/max\") @c\n"},
    {"PadAttributes", 10,
     node("Pad", {"x"}, {"y"},
          {attribute("pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}), attribute("value", 2.0F)}, "p"),
     "const \"p/pads\" i64 [8] = [0, 0, 1, 1, 0, 0, 1, 1]\n"
     "const \"p/value\" f32 [] = [2.0]\n"
     "y: f32 [n, 1, 6, 8] = Pad(x, \"p/pads\", \"p/value\") @p\n"},
    {"SliceAttributes", 9,
     node("Slice", {"x"}, {"y"}, {attribute("starts", Ints{1}), attribute("ends", Ints{3})}, "s"),
     "const \"s/starts\" i64 [1] = [1]\n"
     "const \"s/ends\" i64 [1] = [3]\n"
     "y: f32 [max(0, min(3, n) - 1), 1, 4, 6] = Slice(x, \"s/starts\", \"s/ends\") @s\n"},
    {"SplitAttribute",
     11,
     node("Split", {"x"}, {"y", "z"}, {attribute("axis", 3), attribute("split", Ints{2, 4})}, "s"),
     "const \"s/split\" i64 [2] = [2, 4]\n"
     "y: f32 [n, 1, 4, 2], z: f32 [n, 1, 4, 4] = Split(x, \"s/split\") {axis = 3} @s\n",
     {},
     {"y", "z"}},
    {"TopKAttribute",
     9,
     node("TopK", {"x"}, {"y", "i"}, {attribute("k", 2)}, "t"),
     "const \"t/k\" i64 [1] = [2]\n"
     "y: f32 [n, 1, 4, 2], i: i64 [n, 1, 4, 2] = TopK(x, \"t/k\") @t\n",
     {},
     {"y", "i"}},
    {"BatchNormalizationOutputs",
     7,
     node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m", "v", "sm", "sv"},
          {attribute("spatial", 1), attribute("epsilon", 0.5F)}, "b"),
     "const s f32 [1] = [1.0]\n"
     "y: f32 [n, 1, 4, 6], _, _ = BatchNormalization(x, s, s, s, s) {epsilon = 0.5, "
     "training_mode = 1} @b\n",
     {float_tensor("s", {1}, {1})}},
    {"BatchNormalizationStatistics",
     13,
     node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m", "v", "sm", "sv"}, {}, "b"),
     "const s f32 [1] = [1.0]\n"
     "y: f32 [n, 1, 4, 6], m: f32 [1], v: f32 [1] = BatchNormalization(x, s, s, s, s) "
     "{training_mode = 1} @b\n",
     {float_tensor("s", {1}, {1})},
     {"y", "m", "v"}},
    {"BatchNormalizationWithoutOutputs",
     13,
     node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "", "", "", ""}, {}, "b"),
     "const s f32 [1] = [1.0]\n"
     "y: f32 [n, 1, 4, 6] = BatchNormalization(x, s, s, s, s) @b\n",
     {float_tensor("s", {1}, {1})}},
    {"MaxPoolIndicesUnread", 8,
     node("MaxPool", {"x"}, {"y", "i"},
          {attribute("kernel_shape", Ints{2, 2}), attribute("storage_order", 0)}, "m"),
     "y: f32 [n, 1, 3, 5] = MaxPool(x) {kernel_shape = [2, 2]} @m\n"},
    {"MaxPoolIndices",
     12,
     node("MaxPool", {"x"}, {"y", "i"},
          {attribute("kernel_shape", Ints{2, 2}), attribute("storage_order", 1)}, "m"),
     "y: f32 [n, 1, 3, 5], i: i64 [n, 1, 3, 5] = MaxPool(x) {kernel_shape = [2, 2], storage_order "
     "= 1} @m\n",
     {},
     {"y", "i"}},
    {"GridSampleMode",
     16,
     node("GridSample", {"x", "g"}, {"y"}, {attribute("mode", "bicubic")}, "s"),
     "const g f32 [1, 1, 1, 2] = fill 0.0\n"
     "y: f32 [n, 1, 1, 1] = GridSample(x, g) {mode = \"cubic\"} @s\n",
     {float_tensor("g", {1, 1, 1, 2}, {0, 0})}},
    {"RoiAlignShift",
     10,
     node("RoiAlign", {"x", "r", "b"}, {"y"}, {}, "a"),
     "const r f32 [1, 4] = [0.0, 0.0, 1.0, 1.0]\n"
     "const b i64 [1] = [0]\n"
     "y: f32 [1, 1, 1, 1] = RoiAlign(x, r, b) {coordinate_transformation_mode = "
     "\"output_half_pixel\"} @a\n",
     {float_tensor("r", {1, 4}, {0, 0, 1, 1}), int_tensor("b", {0})}},
    {"Dropout", 7, node("Dropout", {"x"}, {"y", "m"}, {attribute("ratio", 0.1F)}, "d"),
     "y: f32 [n, 1, 4, 6] = Identity(x) @d\n"},
    {"DropoutNotTraining",
     13,
     node("Dropout", {"x", "r", "t"}, {"y"}, {attribute("seed", 7)}, "d"),
     "const r f32 [] = [0.5]\n"
     "const t bool [] = [0]\n"
     "y: f32 [n, 1, 4, 6] = Identity(x) @d\n",
     {float_tensor("r", {}, {0.5F}), raw_tensor("t", kOnnxBool, {}, std::string(1, '\0'))}},
    {"DropoutMask",
     12,
     node("Dropout", {"x"}, {"y", "m"}, {}, "d"),
     "\"d/Shape\": i64 [4] = Shape(x) @\"d/Shape\"\n"
     "m: bool [n, 1, 4, 6] = ConstantOfShape(\"d/Shape\") {value = tensor bool [1] [1]} "
     "@\"d/mask\"\n"
     "y: f32 [n, 1, 4, 6] = Identity(x) @d\n",
     {},
     {"y", "m"}},
    {"SoftmaxNewest", 13, node("Softmax", {"x"}, {"y"}, {}, "s"),
     "y: f32 [n, 1, 4, 6] = Softmax(x) @s\n"},
    {"SoftmaxLastAxis", 11, node("Softmax", {"x"}, {"y"}, {attribute("axis", -1)}, "s"),
     "y: f32 [n, 1, 4, 6] = Softmax(x) {axis = 3} @s\n"},
    {"SoftmaxBlock", 11, node("Softmax", {"x"}, {"y"}, {}, "s"),
     "\"s/Flatten\": f32 [n, 24] = Flatten(x) {axis = 1} @\"s/Flatten\"\n"
     "\"s/Shape\": i64 [4] = Shape(x) @\"s/Shape\"\n"
     "\"s/flat\": f32 [n, 24] = Softmax(\"s/Flatten\") {axis = 1} @s\n"
     "y: f32 [n, 1, 4, 6] = Reshape(\"s/flat\", \"s/Shape\") {allowzero = 1} @\"s/Reshape\"\n"},
    {"BroadcastFromAnAxis",
     6,
     node("Add", {"x", "b"}, {"y"}, {attribute("broadcast", 1), attribute("axis", 2)}, "a"),
     "const b f32 [4] = [1.0, 2.0, 3.0, 4.0]\n"
     "const \"a/constant\" i64 [1] = [1]\n"
     "\"a/Unsqueeze\": f32 [4, 1] = Unsqueeze(b, \"a/constant\") @\"a/Unsqueeze\"\n"
     "y: f32 [n, 1, 4, 6] = Add(x, \"a/Unsqueeze\") @a\n",
     {float_tensor("b", {4}, {1, 2, 3, 4})}},
    {"ConsumedInputs", 1, node("Relu", {"x"}, {"y"}, {attribute("consumed_inputs", Ints{0})}, "r"),
     "y: f32 [n, 1, 4, 6] = Relu(x) @r\n"},
    {"ReshapeAttribute", 1, node("Reshape", {"x"}, {"y"}, {attribute("shape", Ints{0, -1})}, "r"),
     "const \"r/shape\" i64 [2] = [0, -1]\n"
     "y: f32 [n, 24] = Reshape(x, \"r/shape\") @r\n"},
    {"CastByName", 1, node("Cast", {"x"}, {"y"}, {attribute("to", "INT64")}, "c"),
     "y: i64 [n, 1, 4, 6] = Cast(x) {to = 7} @c\n"},
    {"ConcatDefaultAxis", 1, node("Concat", {"x", "x"}, {"y"}, {}, "c"),
     "y: f32 [n, 2, 4, 6] = Concat(x, x) {axis = 1} @c\n"},
    {"PadPaddings", 1,
     node("Pad", {"x"}, {"y"}, {attribute("paddings", Ints{0, 0, 1, 1, 0, 0, 1, 1})}, "p"),
     "const \"p/paddings\" i64 [8] = [0, 0, 1, 1, 0, 0, 1, 1]\n"
     "y: f32 [n, 1, 6, 8] = Pad(x, \"p/paddings\") @p\n"},
    {"DropoutInATest", 6, node("Dropout", {"x"}, {"y"}, {attribute("is_test", 1)}, "d"),
     "y: f32 [n, 1, 4, 6] = Identity(x) @d\n"},
    {"UpsampleByHeightAndWidth", 1,
     node("Upsample", {"x"}, {"y"},
          {attribute("height_scale", 2.0F), attribute("width_scale", 2.0F)}, "u"),
     "const \"u/scales\" f32 [4] = [1.0, 1.0, 2.0, 2.0]\n"
     "y: f32 [n, 1, 8, 12] = Resize(x, _, \"u/scales\") {coordinate_transformation_mode = "
     "\"asymmetric\", nearest_mode = \"floor\"} @u\n"},
    {"UpsampleAttribute", 7,
     node("Upsample", {"x"}, {"y"}, {attribute("scales", std::vector<float>{1, 1, 2, 2})}, "u"),
     "const \"u/scales\" f32 [4] = [1.0, 1.0, 2.0, 2.0]\n"
     "y: f32 [n, 1, 8, 12] = Resize(x, _, \"u/scales\") {coordinate_transformation_mode = "
     "\"asymmetric\", nearest_mode = \"floor\"} @u\n"},
    {"UpsampleInput",
     9,
     node("Upsample", {"x", "s"}, {"y"}, {attribute("mode", "linear")}, "u"),
     "const s f32 [4] = [1.0, 1.0, 2.0, 2.0]\n"
     "y: f32 [n, 1, 8, 12] = Resize(x, _, s) {coordinate_transformation_mode = \"asymmetric\", "
     "mode = \"linear\"} @u\n",
     {float_tensor("s", {4}, {1, 1, 2, 2})}},
    {"ResizeShrinks",
     10,
     node("Resize", {"x", "s"}, {"y"}, {}, "r"),
     "const s f32 [4] = [1.0, 1.0, 0.5, 0.5]\n"
     "y: f32 [n, 1, 2, 3] = Resize(x, _, s) {coordinate_transformation_mode = \"asymmetric\", "
     "nearest_mode = \"ceil\"} @r\n",
     {float_tensor("s", {4}, {1, 1, 0.5F, 0.5F})}},
    {"ResizeEmptyInputs",
     11,
     node("Resize", {"x", "e", "e", "z"}, {"y"}, {}, "r"),
     "const e f32 [0] = []\n"
     "const z i64 [4] = [1, 1, 8, 12]\n"
     "y: f32 [1, 1, 8, 12] = Resize(x, _, _, z) @r\n",
     {float_tensor("e", {0}, {}), int_tensor("z", {1, 1, 8, 12})}},
};

INSTANTIATE_TEST_SUITE_P(Onnx, Rewrite, testing::ValuesIn(kRewrites),
                         [](const auto& c) { return c.param.name; });

class Refuse : public testing::TestWithParam<Case> {};

/// `expected`: a part of the message.
TEST_P(Refuse, SaysWhy) {
  const auto graph = load_case(GetParam());
  ASSERT_FALSE(graph) << print(*graph);
  EXPECT_EQ(graph.error().stage, Stage::kLoad);
  EXPECT_FALSE(graph.error().node.empty());
  EXPECT_NE(graph.error().to_string().find(GetParam().expected), std::string::npos)
      << graph.error().to_string();
}

const Case kRefusals[] = {
    {"SqueezeAttributeTooNew", 13, node("Squeeze", {"x"}, {"y"}, {attribute("axes", kAxes)}),
     "'axes'"},
    {"SqueezeTwice",
     11,
     node("Squeeze", {"x", "a"}, {"y"}, {attribute("axes", kAxes)}),
     "both an attribute and an input",
     {int_tensor("a", {1})}},
    {"UnreadAttribute", 17, node("Relu", {"x"}, {"y"}, {attribute("slope", 0.1F)}, "r1"), "r1"},
    {"InternalAttribute",
     17,
     node("Conv", {"x", "w"}, {"y"}, {attribute("activation", "Relu")}),
     "'activation'",
     {float_tensor("w", {1, 1, 1, 1}, {1})}},
    {"InternalInput",
     17,
     node("MatMul", {"x", "w", "b"}, {"y"}),
     "inputs",
     {float_tensor("w", {6, 2}, std::vector<float>(12)), float_tensor("b", {2}, {0, 0})}},
    {"WrongAttributeType", 11, node("Squeeze", {"x"}, {"y"}, {attribute("axes", 1)}), "wrong type"},
    {"BatchNormalizationTraining",
     13,
     node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m", "v", "sm", "sv"}),
     "the mean or variance of the batch",
     {float_tensor("s", {1}, {1})},
     {"y", "sm"}},
    {"BatchNormalizationPerElement",
     8,
     node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m", "v", "sm", "sv"},
          {attribute("spatial", 0)}),
     "training per element",
     {float_tensor("s", {1, 4, 6}, std::vector<float>(24, 1))}},
    {"MaxPoolThreeOutputs", 12,
     node("MaxPool", {"x"}, {"y", "i", "j"}, {attribute("kernel_shape", Ints{2, 2})}),
     "a third output"},
    {"DropoutMaskOfNumbers", 9, node("Dropout", {"x"}, {"y", "m"}), "mask", {}, {"y", "m"}},
    {"DropoutWithoutInput", 9, node("Dropout", {""}, {"y"}), "inputs"},
    {"DropoutBeforeTests", 6, node("Dropout", {"x"}, {"y"}), "training"},
    {"CastToNothing", 1, node("Cast", {"x"}, {"y"}, {attribute("to", "NUMBER")}), "'number'"},
    {"PadWithoutPads", 10, node("Pad", {"x"}, {"y"}), "pads"},
    {"SliceWithoutEnds", 9, node("Slice", {"x"}, {"y"}, {attribute("starts", Ints{1})}), "ends"},
    {"TopKWithoutK", 9, node("TopK", {"x"}, {"y", "i"}), "'k'"},
    {"UpsampleWithoutScales", 7, node("Upsample", {"x"}, {"y"}), "scales"},
    {"ResizeGrowsAndShrinks",
     10,
     node("Resize", {"x", "s"}, {"y"}),
     "grows",
     {float_tensor("s", {4}, {1, 1, 2, 0.5F})}},
    {"QLinearMatMulWithoutScales", 17, node("QLinearMatMul", {"x", "x"}, {"y"}), "2 inputs"},
    {"QLinearConvWithoutScales", 17, node("QLinearConv", {"x", "x"}, {"y"}), "2 inputs"},
    {"SoftmaxAxis", 11, node("Softmax", {"x"}, {"y"}, {attribute("axis", 4)}), "axis"},
    {"SoftmaxHugeAxis", 11,
     node("Softmax", {"x"}, {"y"}, {attribute("axis", std::int64_t{1} << 62)}), "axis"},
    {"CastToComplex", 17, node("Cast", {"x"}, {"y"}, {attribute("to", 14)}),
     "element type complex64"},
};

INSTANTIATE_TEST_SUITE_P(Onnx, Refuse, testing::ValuesIn(kRefusals),
                         [](const auto& c) { return c.param.name; });

struct Support {
  const char* op;
  std::int64_t opset;
  bool supported;
};

TEST(OnnxOperators, AreThoseOfTheirOperatorSet) {
  const Support cases[] = {{"Conv", 7, true},     {"Where", 8, false},     {"Where", 9, true},
                           {"Upsample", 9, true}, {"Upsample", 10, false}, {"Resize", 9, false},
                           {"Gelu", 19, false},   {"Gelu", 20, true},      {"Resize", 10, true},
                           {"Dropout", 7, true},  {"Erf", 8, false},       {"Erf", 9, true},
                           {"Silu", 23, false},   {"Constant", 7, true},   {"conv", 17, false},
                           {"", 17, false},       {"Gradient", 17, false}};
  for (const Support& c : cases) {
    EXPECT_EQ(is_supported_operator("", c.op, c.opset), c.supported) << c.op << c.opset;
  }
}

}  // namespace
}  // namespace parallax
