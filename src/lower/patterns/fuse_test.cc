#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text/text.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/infer.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

using PassFunction = Result<int> (*)(Graph&, const PassContext&);

/// Returns operators in order with the epilogues that the pass may have set, e.g. "Conv[Silu] Add".
std::string operators_with_epilogues(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (!text.empty()) text += ' ';
    text += to_string(node.op);
    const Activation& activation = node.epilogue.activation;
    std::string extra = activation ? std::string(to_string(activation.op)) : std::string();
    if (activation.alpha != 1) extra += fmt::format(" {}", activation.alpha);
    if (activation.op == OpKind::kClip)
      extra += fmt::format(" {:g} {:g}", activation.low, activation.high);
    extra += node.attributes.get_string("approximate", "");
    if (node.op == OpKind::kMatMul && node.inputs.size() == 3) extra += "+b";
    if (!extra.empty()) text += "[" + extra + "]";
  }
  return text;
}

struct FusionCase {
  const char* name;
  PassFunction pass;
  std::string text;
  int changes;
  const char* after;
};

void PrintTo(const FusionCase& row, std::ostream* out) { *out << row.name; }

const std::string kConv =
    "input x f32 [1, 2, 5, 5]\nconst w f32 [2, 2, 3, 3] = fill 0.5\nconst c f32 [2] = [1, 2]\n"
    "y = Conv(x, w, c)\n";
const std::string kMatMul =
    "symbols s\ninput x f32 [1, s, 4]\nconst w f32 [4, 3] = fill 0.5\ny = MatMul(x, w)\n";
const std::string kErf =
    "symbols s\ninput x f32 [s, 4]\nconst r f32 [] = [1.4142135]\nconst i f32 [1] = [0.70710677]\n"
    "const one f32 [] = [1]\nconst half f32 [] = [0.5]\n";
const std::string kTanh =
    "input x f32 [2, 4]\nconst k f32 [] = [0.7978846]\nconst a f32 [] = [0.044715]\n"
    "const one f32 [] = [1]\nconst half f32 [] = [0.5]\nconst three f32 [] = [3]\n";

const std::vector<FusionCase> kFusionCases = {
    {"Silu", fuse_silu, "input x f32 [4]\ns = Sigmoid(x)\ny = Mul(x, s)\noutput y", 1, "Silu"},
    {"SiluReversed", fuse_silu, "input x f32 [4]\ns = Sigmoid(x)\ny = Mul(s, x)\noutput y", 1,
     "Silu"},
    {"QuickGelu", fuse_silu,
     "input x f32 [4]\nconst a f32 [] = [1.702]\nt = Mul(x, a)\ns = Sigmoid(t)\ny = Mul(x, s)\n"
     "output y",
     1, "Silu"},
    {"SiluOfAnyFactor", fuse_silu,
     "input x f32 [4]\nconst a f32 [] = [-0.3]\nt = Mul(a, x)\ns = Sigmoid(t)\ny = Mul(s, x)\n"
     "output y",
     1, "Silu"},
    {"SiluOfQuotient", fuse_silu,
     "input x f32 [4]\nconst a f32 [1] = [4]\nt = Div(x, a)\ns = Sigmoid(t)\ny = Mul(s, x)\n"
     "output y",
     1, "Silu"},
    {"SiluOfFactors", fuse_silu,
     "input x f32 [2]\nconst a f32 [2] = [1, 2]\nt = Mul(x, a)\ns = Sigmoid(t)\ny = Mul(s, x)\n"
     "output y",
     0, "Mul Sigmoid Mul"},
    {"SiluOfFactorThatWidens", fuse_silu,
     "input x f32 [2]\nconst a f32 [1, 1] = [3]\nt = Mul(x, a)\ns = Sigmoid(t)\ny = Mul(s, x)\n"
     "output y",
     0, "Mul Sigmoid Mul"},
    {"SiluOfInfiniteFactor", fuse_silu,
     "input x f32 [2]\nconst a f32 [] = [0]\nt = Div(x, a)\ns = Sigmoid(t)\ny = Mul(s, x)\n"
     "output y",
     0, "Div Sigmoid Mul"},
    {"QuickGeluIsAnActivation", fuse_activation,
     "input x f32 [2, 3]\nconst w f32 [3, 4] = fill 0.5\na = MatMul(x, w)\n"
     "y = Silu(a) {alpha = 1.702}\noutput y",
     1, "MatMul[Silu 1.702]"},
    {"SiluOfAnotherFactorIsNone", fuse_activation,
     "input x f32 [2, 3]\nconst w f32 [3, 4] = fill 0.5\na = MatMul(x, w)\n"
     "y = Silu(a) {alpha = 3.5}\noutput y",
     0, "MatMul Silu"},
    {"SiluOfOther", fuse_silu,
     "input x f32 [4]\ninput z f32 [4]\ns = Sigmoid(x)\ny = Mul(z, s)\noutput y", 0, "Sigmoid Mul"},
    {"SiluGateRead", fuse_silu,
     "input x f32 [4]\ns = Sigmoid(x)\ny = Mul(x, s)\nz = Neg(s)\noutput y, z", 0,
     "Sigmoid Mul Neg"},
    {"SiluGateIsOutput", fuse_silu, "input x f32 [4]\ns = Sigmoid(x)\ny = Mul(x, s)\noutput y, s",
     0, "Sigmoid Mul"},

    {"GeluDivide", fuse_gelu,
     kErf + "a = Div(x, r)\ne = Erf(a)\np = Add(e, one)\nm = Mul(x, p)\ny = Mul(m, half)\noutput y",
     1, "Gelu"},
    {"GeluMultiply", fuse_gelu,
     kErf + "h = Mul(half, x)\na = Mul(i, x)\ne = Erf(a)\np = Add(one, e)\ny = Mul(p, h)\noutput y",
     1, "Gelu"},
    {"GeluHalfInside", fuse_gelu,
     kErf + "a = Div(x, r)\ne = Erf(a)\np = Add(e, one)\nm = Mul(p, half)\ny = Mul(x, m)\noutput y",
     1, "Gelu"},
    {"GeluWrongConstant", fuse_gelu,
     kErf + "a = Mul(x, r)\ne = Erf(a)\np = Add(e, one)\nm = Mul(x, p)\ny = Mul(m, half)\noutput y",
     0, "Mul Erf Add Mul Mul"},
    {"GeluErfRead", fuse_gelu,
     kErf + "a = Div(x, r)\ne = Erf(a)\np = Add(e, one)\nm = Mul(x, p)\ny = Mul(m, half)\n"
            "output y, e",
     0, "Div Erf Add Mul Mul"},
    {"GeluOfOther", fuse_gelu,
     kErf + "z = Neg(x)\na = Div(z, r)\ne = Erf(a)\np = Add(e, one)\nm = Mul(x, p)\n"
            "y = Mul(m, half)\noutput y",
     0, "Neg Div Erf Add Mul Mul"},
    {"GeluTanhPow", fuse_gelu,
     kTanh + "p = Pow(x, three)\nq = Mul(a, p)\nr = Add(x, q)\nt = Mul(k, r)\nu = Tanh(t)\n"
             "v = Add(u, one)\nh = Mul(half, x)\ny = Mul(h, v)\noutput y",
     1, "Gelu[tanh]"},
    {"GeluTanhProducts", fuse_gelu,
     kTanh + "p = Mul(x, x)\nq = Mul(a, p)\nr = Add(one, q)\nn = Mul(x, k)\nt = Mul(n, r)\n"
             "u = Tanh(t)\nv = Add(one, u)\nh = Mul(x, v)\ny = Mul(half, h)\noutput y",
     1, "Gelu[tanh]"},
    {"GeluTanhSquare", fuse_gelu,
     kTanh + "p = Mul(x, x)\nq = Mul(a, p)\nr = Add(x, q)\nt = Mul(k, r)\nu = Tanh(t)\n"
             "v = Add(u, one)\nh = Mul(half, x)\ny = Mul(h, v)\noutput y",
     0, "Mul Mul Add Mul Tanh Add Mul Mul"},

    {"Bias", fuse_matmul_bias, kMatMul + "const b f32 [3] = [1, 2, 3]\nz = Add(b, y)\noutput z", 1,
     "MatMul[+b]"},
    {"BiasWithOnes", fuse_matmul_bias,
     kMatMul + "const b f32 [1, 1, 3] = [1, 2, 3]\nz = Add(y, b)\noutput z", 1, "MatMul[+b]"},
    {"BiasRaisesRank", fuse_matmul_bias,
     kMatMul + "const b f32 [1, 1, 1, 3] = [1, 2, 3]\nz = Add(y, b)\noutput z", 0, "MatMul Add"},
    {"BiasOfOneNumber", fuse_matmul_bias,
     kMatMul + "const b f32 [1] = [1]\nz = Add(y, b)\noutput z", 1, "MatMul[+b]"},
    {"BiasWithoutDimensions", fuse_matmul_bias,
     kMatMul + "const b f32 [] = [1]\nz = Add(b, y)\noutput z", 1, "MatMul[+b]"},
    {"BiasPerRow", fuse_matmul_bias,
     "input x f32 [3, 4]\nconst w f32 [4, 3] = fill 0.5\nconst b f32 [3, 1] = [1, 2, 3]\n"
     "y = MatMul(x, w)\nz = Add(y, b)\noutput z",
     0, "MatMul Add"},
    {"BiasProductRead", fuse_matmul_bias,
     kMatMul + "const b f32 [3] = [1, 2, 3]\nz = Add(b, y)\nn = Neg(y)\noutput z, n", 0,
     "MatMul Add Neg"},

    {"ActivationConv", fuse_activation, kConv + "z = Relu(y)\noutput z", 1, "Conv[Relu]"},
    {"ActivationMatMul", fuse_activation, kMatMul + "z = Gelu(y)\nv = Tanh(z)\noutput v", 1,
     "MatMul[Gelu] Tanh"},
    {"ActivationHardSwish", fuse_activation, kConv + "z = HardSwish(y)\noutput z", 1,
     "Conv[HardSwish]"},
    {"ActivationLeakyRelu", fuse_activation, kConv + "z = LeakyRelu(y)\noutput z", 1,
     "Conv[LeakyRelu 0.01]"},
    {"ActivationHardSigmoid", fuse_activation, kConv + "z = HardSigmoid(y)\noutput z", 1,
     "Conv[HardSigmoid 0.2]"},
    {"ActivationRelu6", fuse_activation,
     kConv + "const l f32 [] = [0]\nconst h f32 [] = [6]\nz = Clip(y, l, h)\noutput z", 1,
     "Conv[Clip 0 6]"},
    {"ActivationClipFromBelow", fuse_activation,
     kConv + "const l f32 [] = [-1]\nz = Clip(y, l)\noutput z", 1, "Conv[Clip -1 3.40282e+38]"},
    {"ActivationClipOfABoundThatRunningTells", fuse_activation,
     "input h f32 []\n" + kConv + "z = Clip(y, _, h)\noutput z", 0, "Conv Clip"},
    {"ActivationClipToNan", fuse_activation,
     kConv + "const l f32 [] = [nan]\nz = Clip(y, l)\noutput z", 0, "Conv Clip"},
    {"ActivationBehindAnActivation", fuse_activation, kConv + "z = Relu(y)\nv = Tanh(z)\noutput v",
     1, "Conv[Relu] Tanh"},
    {"ActivationTanhGelu", fuse_activation,
     kMatMul + "z = Gelu(y) {approximate = \"tanh\"}\noutput z", 0, "MatMul Gelu[tanh]"},
    {"ActivationIsOutput", fuse_activation, kConv + "z = Relu(y)\noutput z, y", 0, "Conv Relu"},
    {"ActivationProductRead", fuse_activation, kConv + "z = Relu(y)\nn = Neg(y)\noutput z, n", 0,
     "Conv Relu Neg"},
    {"ActivationRuntimeWeights", fuse_activation,
     "input x f32 [2, 2]\ny = MatMul(x, x)\nz = Relu(y)\noutput z", 0, "MatMul Relu"},

    {"BatchNormalization", fuse_conv_bn,
     kConv + "const s f32 [2] = [2, 3]\nz = BatchNormalization(y, s, s, s, s)\noutput z", 1,
     "Conv"},
    {"BatchNormalizationThenAdd", fuse_conv_bn,
     kConv + "const s f32 [2] = [2, 3]\nconst d f32 [2, 1, 1] = [5, 6]\n"
             "z = BatchNormalization(y, s, s, s, s)\nv = Add(d, z)\noutput v",
     2, "Conv"},
    {"BatchNormalizationOfTransposed", fuse_conv_bn,
     "input x f32 [1, 2, 5]\nconst w f32 [2, 3, 4] = fill 0.5\nconst s f32 [6] = fill 2\n"
     "y = ConvTranspose(x, w) {group = 2}\nz = BatchNormalization(y, s, s, s, s)\noutput z",
     1, "ConvTranspose"},
    {"TransposedWithoutStrides", turn_conv_transpose,
     "input x f32 [1, 4, 5]\nconst w f32 [4, 3, 4] = fill 0.5\n"
     "y = ConvTranspose(x, w) {group = 2, pads = [1, 3], output_padding = [1]}\noutput y",
     1, "Conv"},
    {"TransposedWithStrides", turn_conv_transpose,
     "input x f32 [1, 2, 5]\nconst w f32 [2, 3, 4] = fill 0.5\n"
     "y = ConvTranspose(x, w) {strides = [2]}\noutput y",
     0, "ConvTranspose"},
    {"TransposedThatIsCut", turn_conv_transpose,
     "input x f32 [1, 2, 9]\nconst w f32 [2, 3, 2] = fill 0.5\n"
     "y = ConvTranspose(x, w) {pads = [2, 0]}\noutput y",
     0, "ConvTranspose"},
    {"ActivationOfTransposed", fuse_activation,
     "input x f32 [1, 2, 5]\nconst w f32 [2, 3, 4] = fill 0.5\n"
     "y = ConvTranspose(x, w)\nz = Relu(y)\noutput z",
     1, "ConvTranspose[Relu]"},
    {"BatchNormalizationOfNothing", fuse_conv_bn,
     kConv + "const s f32 [2] = [2, 3]\nconst v f32 [2] = [-4, 1]\n"
             "z = BatchNormalization(y, s, s, s, v)\noutput z",
     0, "Conv BatchNormalization"},
    {"BatchNormalizationConvRead", fuse_conv_bn,
     kConv + "const s f32 [2] = [2, 3]\nz = BatchNormalization(y, s, s, s, s)\noutput z, y", 0,
     "Conv BatchNormalization"},
    {"AddPerPixel", fuse_conv_bn,
     kConv + "const d f32 [1, 1, 3, 3] = fill 1\nz = Add(y, d)\noutput z", 0, "Conv Add"},
};

class Fuse : public testing::TestWithParam<FusionCase> {};

TEST_P(Fuse, FiresExactlyWhereItMay) {
  const FusionCase& row = GetParam();
  Graph graph = graph_of(row.text);
  const std::vector<ValueId> outputs = graph.outputs;
  std::vector<Shape> shapes;
  std::vector<std::string> names;
  for (const ValueId output : outputs) {
    shapes.push_back(graph.values[output].shape);
    names.push_back(graph.values[output].name);
  }
  const std::string before = print(graph);
  const Result<int> changes = row.pass(graph, {});
  ASSERT_TRUE(changes) << changes.error().to_string();
  EXPECT_EQ(*changes, row.changes);
  EXPECT_EQ(*changes > 0, print(graph) != before);
  EXPECT_EQ(operators_with_epilogues(graph), row.after);
  const Status valid = verify(graph, Stage::kSimplify);
  EXPECT_TRUE(valid) << valid.error().to_string();
  const Status inferred = infer_graph(graph);
  EXPECT_TRUE(inferred) << inferred.error().to_string();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(graph.values[graph.outputs[i]].shape, shapes[i]);
    EXPECT_EQ(graph.values[graph.outputs[i]].name, names[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Fuse, testing::ValuesIn(kFusionCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(NearMisses, NameTheGuardThatRefused) {
  const std::string attention =
      "input q f32 [2, 8, 4]\ninput k f32 [2, 4, 8]\ninput v f32 [2, 8, 4]\ns = MatMul(q, k)\n";
  const NearMissCase rows[] = {
      {fuse_silu, "input x f32 [4]\ns = Sigmoid(x)\ny = Mul(x, s) @last\noutput y, s",
       "something else reads the Sigmoid"},
      {fuse_activation, kConv + "z = Relu(y) @last\noutput z, y",
       "something else reads the product"},
      {fuse_activation, kConv + "input low f32 []\nz = Clip(y, low) @last\noutput z",
       "the bounds are not constant numbers"},
      {fuse_activation, kConv + "z = Gelu(y) {approximate = \"tanh\"} @last\noutput z",
       "kernels of products have the exact Gelu alone"},
      {fuse_activation, kConv + "z = Silu(y) {alpha = 3.0} @last\noutput z",
       "kernels of products have two factors of Silu"},
      {fuse_activation,
       "input x f32 [3, 4]\ninput w f32 [4, 3]\ny = MatMul(x, w)\nz = Relu(y) @last\noutput z",
       "the weights are not constant"},
      {fuse_gelu,
       "input x f32 [4]\nconst r f32 [] = [0.7071068]\nconst one f32 [] = [1]\n"
       "const half f32 [] = [0.5]\na = Mul(x, r)\ne = Erf(a)\np = Add(e, one)\nh = Mul(x, half)\n"
       "y = Mul(h, p) @last\noutput y, e",
       "something else reads a part"},
      {fuse_matmul_bias, kMatMul + "const b f32 [3] = fill 1\nz = Add(y, b) @last\noutput z, y",
       "something else reads the product"},
      {fuse_matmul_bias,
       kMatMul + "const b f32 [1, 1, 1, 3] = fill 1\nz = Add(y, b) @last\noutput z",
       "the sum has more dimensions than the product"},
      {fuse_matmul_bias,
       "input x f32 [3, 4]\ninput w f32 [4, 3]\nconst b f32 [3] = fill 1\ny = MatMul(x, w)\n"
       "z = Add(y, b) @last\noutput z",
       "the weights are not a constant matrix"},
      {fuse_conv_bn,
       kConv + "const s f32 [2] = [2, 3]\nz = BatchNormalization(y, s, s, s, s) @last\noutput z, y",
       "something else reads the convolution"},
      {fuse_conv_bn,
       kConv + "const s f32 [2] = [2, 3]\nconst v f32 [2] = [-4, 1]\n"
               "z = BatchNormalization(y, s, s, s, v) @last\noutput z",
       "its statistics are not finite constants"},
      {fuse_pad,
       "input x f32 [1, 1, 4, 4]\nconst p i64 [8] = [0, 0, 1, 1, 0, 0, 1, 1]\n"
       "y = Pad(x, p) @last\nz = Relu(y)\noutput z",
       "something reads it that cannot pad by itself"},
      {fuse_attention, attention + "p = Softmax(s)\ny = MatMul(p, v) @last\noutput y, s",
       "something else reads the scores"},
      {fuse_attention, attention + "p = Softmax(s) {axis = 1}\ny = MatMul(p, v) @last\noutput y",
       "Softmax is not along the keys"},
      {fuse_attention, attention + "e = Exp(s)\np = Softmax(e)\ny = MatMul(p, v) @last\noutput y",
       "the scores are not a product, scaled and masked"},
      {fuse_norm_residual,
       "input x f32 [4, 8]\ninput r f32 [8]\nconst g f32 [8] = fill 1\n"
       "n = LayerNormalization(x, g)\ny = Add(r, n) @last\noutput y",
       "what is added has another shape"},
  };
  expect_near_misses(rows);
}

TEST(FuseFor, MakesWhatADeviceHasButForDisabledPasses) {
  const std::string text = "input x f32 [4]\ns = Sigmoid(x)\ny = Mul(x, s)\noutput y";
  const std::vector<std::string> disabled = {"fuse_silu"};
  Graph graph = graph_of(text);
  EXPECT_EQ(fuse_for([](OpKind op) { return op == OpKind::kGelu; }, graph, {}).value_or(-1), 0);
  const auto all = [](OpKind) { return true; };
  EXPECT_EQ(fuse_for(all, graph, {}, disabled).value_or(-1), 0);
  EXPECT_EQ(fuse_for(all, graph, {}).value_or(-1), 1);
  EXPECT_EQ(operators_with_epilogues(graph), "Silu");
}

TEST(FuseConvBn, ScalesWeightsAndBias) {
  Graph graph = graph_of(kConv +
                         "const s f32 [2] = [2, 3]\nconst b f32 [2] = [10, 20]\n"
                         "const m f32 [2] = [1, -1]\nconst v f32 [2] = [4, 9]\n"
                         "z = BatchNormalization(y, s, b, m, v) {epsilon = 0.0}\noutput z");
  ASSERT_EQ(fuse_conv_bn(graph, {}).value_or(0), 1);
  const Node& conv = graph.nodes[NodeId{0}];
  // 2 / sqrt(4) = 1 and 3 / sqrt(9) = 1; bias [1, 2] - mean [1, -1] + [10, 20].
  EXPECT_EQ(floats(*float_constant(graph, conv.inputs[1])), std::vector<float>(36, 0.5F));
  EXPECT_EQ(floats(*float_constant(graph, conv.inputs[2])), (std::vector<float>{10, 23}));
}

TEST(FuseUtil, UniqueNamesAvoidThoseOfTheModel) {
  const Graph graph = graph_of("input w f32 [1]\nw_2 = Neg(w) @n\noutput w_2");
  UniqueNames names(graph);
  EXPECT_EQ(names.make("w"), "w_3");
  EXPECT_EQ(names.make("w"), "w_4");
  EXPECT_EQ(names.make("n"), "n_2");
  EXPECT_EQ(names.make("new"), "new");
}

TEST(FuseUtil, UniqueNamesAvoidThoseThatAreTaken) {
  UniqueNames names;
  names.take("a_2");
  EXPECT_EQ(names.make("a"), "a");
  EXPECT_EQ(names.make("a"), "a_3");
  names.take("a_4");
  EXPECT_EQ(names.make("a"), "a_5");
}

TEST(FuseGelu, KnowsConstantsThatWereRoundedToF16) {
  for (const bool half : {false, true}) {
    Graph graph = graph_of(
        "input x f32 [4]\nconst root f32 [] = [1.4140625]\nconst one f32 [] = [1]\n"
        "const h f32 [] = [0.5]\na = Div(x, root)\nb = Erf(a)\nc = Add(b, one)\nd = Mul(x, c)\n"
        "y = Mul(d, h)\noutput y");
    for (Value& value : graph.values)
      if (value.constant) value.constant->is_half = half;
    ASSERT_TRUE(fuse_gelu(graph, {}));
    EXPECT_EQ(operators_of(graph), half ? "Gelu" : "Div Erf Add Mul Mul");
  }
}

}  // namespace
}  // namespace parallax
