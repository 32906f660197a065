// Quantised models: which nodes become integer kernels, and that they give what the model's own
// nodes do.
#include <gtest/gtest.h>

#include <string>

#include "bind/evaluate.h"
#include "ir/text/text.h"
#include "lower/cpu/lower.h"
#include "ops/infer.h"
#include "parallax/session.h"
#include "session/model_impl.h"
#include "session/numbers_test_util.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

constexpr const char* kScales =
    "const s f32 [] = [0.05]\nconst z u8 [] = [120]\nconst s2 f32 [] = [0.07]\n"
    "const z2 u8 [] = [90]\nconst ws f32 [2] = [0.02, 0.01]\nconst wz i8 [2] = [0, 0]\n"
    "const w i8 [2, 4, 1, 1] = [1, -20, 30, 4, 5, 60, -70, 8]\n"
    "const m i8 [4, 2] = [1, -20, 30, 4, 5, 60, -70, 8]\nconst b f32 [2] = [0.5, -0.5]\n"
    "input x u8 [1, 4, 5, 6]\nr = DequantizeLinear(x, s, z)\n"
    "wr = DequantizeLinear(w, ws, wz) {axis = 0}\nmr = DequantizeLinear(m, ws, wz) {axis = 1}\n";

struct QuantisedCase {
  const char* name;
  std::string nodes;     ///< of `r`, with the output y
  const char* expected;  ///< operators of the graph that is run, but for layouts
};

std::string lowered_ops(Graph graph) {
  const PassContext context{evaluate_node, evaluate_into};
  const auto done = run_passes(all_passes(), graph, context);
  if (!done) return done.error().to_string();
  std::string ops;
  for (const Node& node : graph.nodes)
    if (node.op != OpKind::kTranspose && node.op != OpKind::kReshape)
      ops += (ops.empty() ? "" : " ") + std::string(to_string(node.op));
  return ops;
}

Result<std::vector<Tensor>> outputs_of(const Graph& graph, Kernels kernels, const Tensor& x) {
  LoadOptions options;
  if (kernels == Kernels::kReference) options.disabled_passes = Model::passes();
  auto model = Model::Impl::make(graph, options);
  if (!model) return tl::unexpected(model.error());
  auto session = Session::create(*model, {.threads = 1, .kernels = kernels});
  if (!session) return tl::unexpected(session.error());
  const NamedInput input{"x", x.view()};
  return session->run({&input, 1});
}

class Quantised : public testing::TestWithParam<QuantisedCase> {};

TEST_P(Quantised, RunsOnBytes) {
  auto graph = parse_graph(kScales + GetParam().nodes + "output y\n");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto inferred = infer_graph(*graph);
  ASSERT_TRUE(inferred) << inferred.error().to_string();
  EXPECT_EQ(lowered_ops(*graph), GetParam().expected);
  const Tensor x = test_input(DType::kU8, {1, 4, 5, 6}, {}, false);
  const auto want = outputs_of(*graph, Kernels::kReference, x);
  const auto got = outputs_of(*graph, Kernels::kBest, x);
  ASSERT_TRUE(want) << want.error().to_string();
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(problem(got->front(), want->front(), false, true), "");
}

std::string ones(int count) {
  std::string text = "1";
  for (int i = 1; i < count; ++i) text += ", 1";
  return text;
}

const QuantisedCase kCases[] = {
    {"Conv", "c = Conv(r, wr, b)\ny = QuantizeLinear(c, s2, z2)\n", "ConvInteger"},
    {"ConvRelu", "c = Conv(r, wr)\na = Relu(c)\ny = QuantizeLinear(a, s2, z2)\n", "ConvInteger"},
    {"ConvSilu",
     "c = Conv(r, wr)\nq = QuantizeLinear(c, s2, z2)\nd = DequantizeLinear(q, s2, z2)\n"
     "g = Sigmoid(d)\nh = QuantizeLinear(g, s, z)\ni = DequantizeLinear(h, s, z)\n"
     "e = Mul(d, i)\ny = QuantizeLinear(e, s, z)\n",
     "ConvInteger"},
    {"ConvOfTfliteTurnsFilters",
     "const n i8 [2, 2, 1, 6] = [1, -20, 30, 4, 5, 60, -70, 8, 9, -10, 11, 12, "
     "13, -14, 15, 16, 7, -18, 19, 2, 21, 22, -23, 24]\n"
     "nr = DequantizeLinear(n, ws, wz) {axis = 0}\nt = Transpose(nr) {perm = [0, 3, 1, 2]}\n"
     "c = Conv(r, t, b) {layout = \"NHWC\"}\ny = QuantizeLinear(c, s2, z2)\n",
     "ConvInteger"},
    {"MatMulBias",
     "const p i64 [2] = [30, 4]\nt = Reshape(r, p)\nu = QuantizeLinear(t, s, z)\n"
     "v = DequantizeLinear(u, s, z)\nc = MatMul(v, mr)\na = Add(c, b)\n"
     "y = QuantizeLinear(a, s2, z2)\n",
     "MatMulInteger"},
    {"Gemm",
     "const p i64 [2] = [30, 4]\nt = Reshape(r, p)\nu = QuantizeLinear(t, s, z)\n"
     "v = DequantizeLinear(u, s, z)\nconst n i8 [2, 4] = [1, 30, 5, -70, -20, 4, 60, 8]\n"
     "nr = DequantizeLinear(n, ws, wz) {axis = 0}\na = Gemm(v, nr, b) {transB = 1}\n"
     "y = QuantizeLinear(a, s2, z2)\n",
     "MatMulInteger"},
    {"GemmOfColumns",
     "const p i64 [2] = [30, 4]\nt = Reshape(r, p)\nu = QuantizeLinear(t, s, z)\n"
     "v = DequantizeLinear(u, s, z)\na = Gemm(v, mr)\ny = QuantizeLinear(a, s2, z2)\n",
     "MatMulInteger"},
    {"GemmOfHalfStaysReal",
     "const p i64 [2] = [30, 4]\nt = Reshape(r, p)\nu = QuantizeLinear(t, s, z)\n"
     "v = DequantizeLinear(u, s, z)\na = Gemm(v, mr) {alpha = 0.5}\n"
     "y = QuantizeLinear(a, s2, z2)\n",
     "DequantizeLinear Gemm QuantizeLinear"},
    {"Depthwise",
     "const n i8 [4, 1, 3, 2] = [1, -20, 30, 4, 5, 60, -70, 8, 9, -10, 11, 12, "
     "13, -14, 15, 16, 7, -18, 19, 2, 21, 22, -23, 24]\nconst ns f32 [] = [0.02]\n"
     "nr = DequantizeLinear(n, ns)\nc = Conv(r, nr) {group = 4, pads = [1, 0, 1, 1]}\n"
     "a = Clip(c)\ny = QuantizeLinear(a, s2, z2)\n",
     "ConvInteger"},
    {"Grouped",
     "const n i8 [2, 8, 1, 1] = [1, -20, 30, 4, 5, 60, -70, 8, 9, -10, 11, 12, 13, -14, 15, 16]\n"
     "nr = DequantizeLinear(n, ws, wz) {axis = 0}\ng = Concat(r, r, r, r) {axis = 1}\n"
     "h = QuantizeLinear(g, s, z)\ni = DequantizeLinear(h, s, z)\n"
     "c = Conv(i, nr) {group = 2}\ny = QuantizeLinear(c, s2, z2)\n",
     "Concat ConvInteger"},
    {"GroupsOfTwoStayReal",
     "const n i8 [2, 2, 1, 1] = [1, -20, 30, 4]\nnr = DequantizeLinear(n, ws, wz) {axis = 0}\n"
     "c = Conv(r, nr) {group = 2}\ny = QuantizeLinear(c, s2, z2)\n",
     "DequantizeLinear Conv QuantizeLinear"},
    {"DepthwiseOfManyTapsStaysReal",
     "const n i8 [4, 1, 17, 16] = [" + ones(4 * 17 * 16) +
         "]\nconst ns f32 [] = [0.02]\nnr = DequantizeLinear(n, ns)\n"
         "c = Conv(r, nr) {group = 4, pads = [8, 8, 8, 8]}\ny = QuantizeLinear(c, s2, z2)\n",
     "DequantizeLinear Conv QuantizeLinear"},
    {"Table", "a = Tanh(r)\ny = QuantizeLinear(a, s2, z2)\n", "QuantizeLinear"},
    {"SameScales",
     "a = Relu(r)\nq = QuantizeLinear(a, s, z)\nd = DequantizeLinear(q, s, z)\n"
     "y = QuantizeLinear(d, s2, z2)\n",
     "QuantizeLinear"},
    {"Concat", "c = Concat(r, r) {axis = 1}\ny = QuantizeLinear(c, s, z)\n", "Concat"},
    {"ConcatOfOtherScales", "c = Concat(r, r) {axis = 1}\ny = QuantizeLinear(c, s2, z2)\n",
     "QuantizeLinear QuantizeLinear Concat"},
    {"Split",
     "p, q = Split(r) {axis = 1, num_outputs = 2}\na = QuantizeLinear(p, s, z)\n"
     "e = QuantizeLinear(q, s, z)\nf = DequantizeLinear(a, s, z)\ng = DequantizeLinear(e, s, z)\n"
     "h = Concat(g, f) {axis = 1}\ny = QuantizeLinear(h, s, z)\n",
     "Split Concat"},
    {"SoftmaxStaysReal", "a = Softmax(r)\ny = QuantizeLinear(a, s2, z2)\n",
     "DequantizeLinear Softmax QuantizeLinear"},
};

INSTANTIATE_TEST_SUITE_P(Cases, Quantised, testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

constexpr const char* kDynamic =
    "input x u8 [1, 4, 5, 6]\nconst s f32 [] = [0.05]\nr = DequantizeLinear(x, s)\n"
    "const p i64 [2] = [30, 4]\nt = Reshape(r, p)\nq, qs, qz = DynamicQuantizeLinear(t)\n"
    "const m i8 [4, 2] = [1, -20, 30, 4, 5, 60, -70, 8]\nconst mz i8 [] = [0]\n"
    "const ms f32 [] = [0.02]\nconst b f32 [2] = [0.5, -0.5]\n"
    "i = MatMulInteger(q, m, qz, mz)\nc = Cast(i) {to = 1}\nf = Mul(qs, ms)\ng = Mul(c, f)\n"
    "y = Add(b, g)\noutput y\n";

TEST(QuantisedDynamically, ScalesAndBiasBecomePartsOfTheProduct) {
  auto graph = parse_graph(kDynamic);
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_TRUE(infer_graph(*graph));
  EXPECT_EQ(lowered_ops(*graph), "DequantizeLinear DynamicQuantizeLinear MatMulInteger");
  const Tensor x = test_input(DType::kU8, {1, 4, 5, 6}, {}, false);
  const auto want = outputs_of(*graph, Kernels::kReference, x);
  const auto got = outputs_of(*graph, Kernels::kBest, x);
  ASSERT_TRUE(want && got);
  EXPECT_EQ(problem(got->front(), want->front(), false, true), "");
}

TEST(QuantisedConstants, StayBytesUntilIntegerKernelsHadTheChoice) {
  auto graph = parse_graph(kScales + std::string("y = Conv(r, wr)\noutput y\n"));
  ASSERT_TRUE(graph);
  ASSERT_TRUE(infer_graph(*graph));
  const PassContext context{evaluate_node, evaluate_into};
  ASSERT_TRUE(run_passes(simplify_passes(), *graph, context));
  EXPECT_NE(print(*graph).find("DequantizeLinear(w"), std::string::npos) << print(*graph);
  EXPECT_EQ(lowered_ops(*graph), "DequantizeLinear Conv");
}

}  // namespace
}  // namespace parallax
