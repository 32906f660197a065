// NaN, infinities and -0 through every operator that computes with floats, alone and fused: the
// oracle is the graph as it was loaded on reference kernels.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "parallax/session.h"
#include "session/numbers_test_util.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

struct NotFiniteCase {
  std::string name, graph;
  /// NaN may also come out beside those of the oracle: Winograd's minimal filtering adds
  /// neighbours to each other (docs/decisions/kernels-and-tiles.md).
  bool spreads = false;
};

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Model loaded(const std::string& text, bool passes) {
  auto graph = parse_graph(text);
  if (!graph) throw std::runtime_error(graph.error().to_string());
  if (auto status = infer_graph(*graph); !status)
    throw std::runtime_error(status.error().to_string());
  LoadOptions options;
  if (!passes) options.disabled_passes = Model::passes();
  auto model = Model::Impl::make(*std::move(graph), options);
  if (!model) throw std::runtime_error(model.error().to_string());
  return *std::move(model);
}

Tensor input_of(const TensorInfo& info, std::optional<float> special, bool everywhere) {
  Dims dims;
  for (const Dimension& dim : info.shape) dims.push_back(dim.value);
  return numbers(dims, special, everywhere);
}

struct Way {
  std::string name;
  bool passes = true;
  SessionOptions options;
};

std::vector<Way> ways() {
  std::vector<Way> all = {
      {"canonical, reference", true, {.threads = 1, .kernels = Kernels::kReference}},
      {"alone", false, {.threads = 1}},
      {"fused", true, {.threads = 2}}};
  if (Session::supports(Precision::kBf16))
    all.push_back({"fused, bf16", true, {.threads = 1, .precision = Precision::kBf16}});
  return all;
}

/// Every float input in turn has the special number.
void check(const NotFiniteCase& row) {
  const Model alone = loaded(row.graph, false), fused = loaded(row.graph, true);
  auto oracle = Session::create(alone, {.threads = 1, .kernels = Kernels::kReference});
  ASSERT_TRUE(oracle);
  for (const Way& way : ways()) {
    auto session = Session::create(way.passes ? fused : alone, way.options);
    ASSERT_TRUE(session);
    for (std::size_t at = 0; at < alone.inputs().size(); ++at) {
      for (const float special : {kNaN, kInfinity, -kInfinity, -0.0F}) {
        for (const bool everywhere : {false, true}) {
          std::vector<Tensor> tensors;
          std::vector<NamedInput> inputs;
          for (std::size_t i = 0; i < alone.inputs().size(); ++i)
            tensors.push_back(input_of(
                alone.inputs()[i], i == at ? std::optional(special) : std::nullopt, everywhere));
          for (std::size_t i = 0; i < tensors.size(); ++i)
            inputs.push_back({alone.inputs()[i].name, tensors[i].view()});
          const auto wanted = oracle->run(inputs);
          const auto got = session->run(inputs);
          ASSERT_TRUE(wanted) << wanted.error().to_string();
          ASSERT_TRUE(got) << got.error().to_string();
          for (std::size_t i = 0; i < wanted->size(); ++i) {
            EXPECT_EQ(problem((*got)[i], (*wanted)[i], row.spreads,
                              way.options.precision == Precision::kF32),
                      "")
                << row.name << ", " << way.name << ": " << special
                << (everywhere ? " everywhere in '" : " once in '") << alone.inputs()[at].name
                << "', output " << i << "\n"
                << row.graph;
          }
        }
      }
    }
  }
}

/// Operators that fuse behind products and convolutions, from c to y.
const std::vector<std::pair<std::string, std::string>> kActivations = {
    {"None", "y = Identity(c)\n"},
    {"Relu", "y = Relu(c)\n"},
    {"Sigmoid", "y = Sigmoid(c)\n"},
    {"Tanh", "y = Tanh(c)\n"},
    {"HardSwish", "y = HardSwish(c)\n"},
    {"Silu", "s = Sigmoid(c)\ny = Mul(c, s)\n"},
    {"QuickGelu",
     "const alpha f32 [] = [1.702]\nt = Mul(c, alpha)\ns = Sigmoid(t)\n"
     "y = Mul(c, s)\n"},
    {"Gelu",
     "const root f32 [] = [1.4142135]\nconst one f32 [] = [1]\nconst half f32 [] = [0.5]\n"
     "d = Div(c, root)\ne = Erf(d)\nf = Add(e, one)\ng = Mul(c, f)\ny = Mul(g, half)\n"},
    {"Clip", "const low f32 [] = [0]\nconst high f32 [] = [6]\ny = Clip(c, low, high)\n"},
    {"ClipBelow", "const low f32 [] = [0]\ny = Clip(c, low)\n"},
};

std::vector<NotFiniteCase> convolutions() {
  struct Kind {
    const char *name, *text;
    bool spreads = false;
  };
  const std::string before = "const w0 f32 [16, 3, 1, 1] = fill 0.5\nx0 = Conv(x, w0)\n";
  const std::vector<Kind> kinds = {
      {"Plane1x1", "input x f32 [1, 3, 7, 9]\nconst w f32 [8, 3, 1, 1] = fill 0.5\nc = Conv(x, w)"},
      {"Plane3x3",
       "input x f32 [1, 3, 9, 9]\nconst w f32 [8, 3, 3, 3] = fill 0.25\n"
       "c = Conv(x, w) {pads = [1, 1, 1, 1]}"},
      {"PlaneGroups",
       "input x f32 [1, 8, 9, 9]\nconst w f32 [8, 4, 3, 3] = fill 0.25\n"
       "c = Conv(x, w) {group = 2}"},
      {"OneDimension",
       "input x f32 [1, 8, 40]\nconst w f32 [8, 8, 5] = fill 0.25\n"
       "const b f32 [8] = fill -0.25\nc = Conv(x, w, b) {pads = [2, 2]}"},
      {"OneDimension3",
       "input x f32 [1, 16, 40]\nconst w f32 [16, 16, 3] = fill 0.25\n"
       "c = Conv(x, w) {pads = [1, 1]}",
       true},
      {"Pointwise",
       "input x f32 [1, 3, 7, 9]\nI\nconst w f32 [24, 16, 1, 1] = fill 0.25\n"
       "c = Conv(x0, w)"},
      {"Winograd",
       "input x f32 [1, 3, 12, 12]\nI\nconst w f32 [16, 16, 3, 3] = fill 0.25\n"
       "c = Conv(x0, w) {pads = [1, 1, 1, 1]}",
       true},
      {"Window",
       "input x f32 [1, 3, 24, 24]\nI\nconst w f32 [8, 16, 5, 5] = fill 0.25\n"
       "c = Conv(x0, w) {strides = [2, 2], pads = [2, 2, 2, 2]}"},
      {"Columns",
       "input x f32 [1, 3, 9, 9]\nI\nconst w f32 [8, 16, 3, 3] = fill 0.25\n"
       "c = Conv(x0, w) {strides = [2, 2]}"},
      {"Depthwise",
       "input x f32 [1, 3, 12, 12]\nI\nconst w f32 [16, 1, 3, 3] = fill 0.25\n"
       "c = Conv(x0, w) {group = 16, pads = [1, 1, 1, 1]}"},
      {"Groups",
       "input x f32 [1, 3, 12, 12]\nI\nconst w f32 [16, 4, 3, 3] = fill 0.25\n"
       "c = Conv(x0, w) {group = 4, pads = [1, 1, 1, 1]}"},
  };
  std::vector<NotFiniteCase> rows;
  for (const Kind& kind : kinds) {
    std::string text = kind.text;
    if (const auto at = text.find("\nI\n"); at != std::string::npos)
      text.replace(at + 1, 2, before);
    for (const auto& [name, activation] : kActivations)
      rows.push_back(
          {kind.name + ("/" + name), text + "\n" + activation + "output y", kind.spreads});
  }
  return rows;
}

std::vector<NotFiniteCase> products() {
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"FewRows",
       "input x f32 [3, 24]\nconst w f32 [24, 20] = fill 0.25\n"
       "const b f32 [20] = fill -0.5\np = MatMul(x, w)\nc = Add(p, b)"},
      {"ManyRows",
       "input x f32 [100, 24]\nconst w f32 [24, 20] = fill 0.25\n"
       "const b f32 [20] = fill -0.5\np = MatMul(x, w)\nc = Add(p, b)"},
      {"Batched", "input x f32 [2, 5, 24]\ninput w f32 [2, 24, 20]\nc = MatMul(x, w)"},
      {"Gemm",
       "input x f32 [5, 24]\nconst w f32 [20, 24] = fill 0.25\n"
       "const b f32 [20] = fill -0.5\nc = Gemm(x, w, b) {transB = 1}"},
  };
  std::vector<NotFiniteCase> rows;
  for (const auto& [kind, text] : kinds)
    for (const auto& [name, activation] : kActivations)
      rows.push_back({kind + "/" + name, text + "\n" + activation + "output y"});
  return rows;
}

std::vector<NotFiniteCase> attentions() {
  std::vector<NotFiniteCase> rows;
  for (const int queries : {3, 40}) {
    for (const int keys : {5, 33}) {
      const std::string head =
          fmt::format("input q f32 [2, {0}, 8]\ninput k f32 [2, 8, {1}]\ninput v f32 [2, {1}, 8]\n",
                      queries, keys);
      const std::string tail = "w = Softmax(a) {axis = -1}\ny = MatMul(w, v)\noutput y";
      const std::string size = fmt::format("/{}x{}", queries, keys);
      rows.push_back({"Attention" + size, head + "a = MatMul(q, k)\n" + tail});
      rows.push_back({"Masked" + size, head + fmt::format("input mask f32 [1, 1, {}]\n", keys) +
                                           "s = MatMul(q, k)\na = Add(s, mask)\n" + tail});
      rows.push_back(
          {"MaskedQueries" + size, head + fmt::format("input mask f32 [{}, {}]\n", queries, keys) +
                                       "s = MatMul(q, k)\na = Add(s, mask)\n" + tail});
    }
  }
  return rows;
}

/// Attention of cosines as Swin v2 writes it.
NotFiniteCase cosines() {
  return {"Cosines",
          "input q f32 [4, 9, 3, 8]\ninput k f32 [4, 9, 3, 8]\ninput v f32 [4, 9, 3, 5]\n"
          "input bias f32 [1, 3, 9, 9]\nconst scale f32 [3, 1, 1] = [1, 2, 3]\n"
          "const eps f32 [] = [0.5]\nconst last i64 [1] = [-1]\n"
          "qt = Transpose(q) {perm = [0, 2, 1, 3]}\nkt = Transpose(k) {perm = [0, 2, 1, 3]}\n"
          "vt = Transpose(v) {perm = [0, 2, 1, 3]}\n"
          "l = ReduceL2(qt, last)\nm = ReduceL2(kt, last)\nlc = Clip(l, eps)\nmc = Clip(m, eps)\n"
          "qn = Div(qt, lc)\nkn = Div(kt, mc)\nkf = Transpose(kn) {perm = [0, 1, 3, 2]}\n"
          "p = MatMul(qn, kf)\na = Mul(p, scale)\ne = Add(bias, a)\nw = Softmax(e)\n"
          "r = MatMul(w, vt)\ny = Transpose(r) {perm = [0, 2, 1, 3]}\noutput y"};
}

std::vector<NotFiniteCase> folds() {
  std::vector<NotFiniteCase> rows;
  for (const int n : {1, 2, 3, 4, 7, 16, 40, 200}) {
    rows.push_back({fmt::format("Softmax{}", n),
                    fmt::format("input x f32 [5, {}]\ny = Softmax(x)\noutput y", n)});
    rows.push_back({fmt::format("SoftmaxDown{}", n),
                    fmt::format("input x f32 [{}, 21]\ny = Softmax(x) {{axis = 0}}\noutput y", n)});
  }
  for (const char* op : {"ReduceMax", "ReduceMean", "ReduceSum", "ReduceL2"})
    for (const int axis : {0, 1})
      rows.push_back({fmt::format("{}{}", op, axis),
                      fmt::format("input x f32 [37, 43]\nconst a i64 [1] = [{}]\ny = {}(x, a)\n"
                                  "output y",
                                  axis, op)});
  for (const char* op : {"MaxPool(x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}",
                         "AveragePool(x) {kernel_shape = [2, 2]}", "GlobalAveragePool(x)"})
    rows.push_back({op, fmt::format("input x f32 [1, 5, 9, 9]\ny = {}\noutput y", op)});
  // As NHWC, between convolutions, with a padding that is taken in.
  rows.push_back(
      {"MaxPoolNhwc",
       "input x f32 [1, 3, 9, 9]\nconst w f32 [8, 3, 1, 1] = fill 0.5\n"
       "const v f32 [4, 8, 1, 1] = fill 0.5\nconst p i64 [8] = [0, 0, 1, 1, 0, 0, 1, 1]\n"
       "c = Conv(x, w)\nr = Relu(c)\nd = Pad(r, p)\n"
       "m = MaxPool(d) {kernel_shape = [3, 3]}\ny = Conv(m, v)\noutput y"});
  for (const char* mode : {"linear", "nearest"})
    rows.push_back({fmt::format("Resize/{}", mode),
                    fmt::format("input x f32 [1, 3, 6, 6]\nconst s f32 [4] = [1, 1, 2, 2]\n"
                                "y = Resize(x, _, s) {{mode = \"{}\"}}\noutput y",
                                mode)});
  rows.push_back({"LayerNormalization",
                  "input x f32 [4, 20]\ninput r f32 [4, 20]\nconst s f32 [20] = fill 2\n"
                  "const b f32 [20] = fill 1\nn = LayerNormalization(x, s, b)\ny = Add(n, r)\n"
                  "output y"});
  rows.push_back({"BatchNormalization",
                  "input x f32 [1, 4, 5, 5]\nconst s f32 [4] = fill 2\nconst b f32 [4] = fill 1\n"
                  "const m f32 [4] = fill 0.5\nconst v f32 [4] = fill 4\n"
                  "y = BatchNormalization(x, s, b, m, v)\noutput y"});
  return rows;
}

std::vector<NotFiniteCase> elementwise() {
  std::vector<NotFiniteCase> rows;
  for (const auto& [name, activation] : kActivations)
    rows.push_back({name, "input c f32 [70]\n" + activation + "output y"});
  for (const char* op : {"Abs", "Neg", "Exp", "Log", "Erf", "Sqrt", "Reciprocal", "Gelu"})
    rows.push_back({op, fmt::format("input x f32 [70]\ny = {}(x)\noutput y", op)});
  rows.push_back({"GeluTanh", "input x f32 [70]\ny = Gelu(x) {approximate = \"tanh\"}\noutput y"});
  rows.push_back(
      {"ClipAbove", "input x f32 [70]\nconst h f32 [] = [6]\ny = Clip(x, _, h)\noutput y"});
  rows.push_back({"ClipOfNothing", "input x f32 [70]\ny = Clip(x)\noutput y"});
  for (const int type : {3, 6, 7, 9})
    rows.push_back(
        {fmt::format("Cast{}", type),
         fmt::format("input x f32 [70]\nt = Cast(x) {{to = {}}}\ny = Cast(t) {{to = 1}}\n"
                     "output y",
                     type)});
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"})
    rows.push_back(
        {op, fmt::format("input x f32 [3, 70]\ninput z f32 [70]\ny = {}(x, z)\noutput y", op)});
  for (const char* exponent : {"2", "3", "0.5", "-1"})
    rows.push_back({fmt::format("Pow{}", exponent),
                    fmt::format("input x f32 [70]\nconst e f32 [] = [{}]\ny = Pow(x, e)\noutput y",
                                exponent)});
  rows.push_back({"Where",
                  "input x f32 [70]\ninput z f32 [70]\nt = Less(x, z)\n"
                  "y = Where(t, x, z)\noutput y"});
  return rows;
}

void check_all(const std::vector<NotFiniteCase>& rows) {
  for (const NotFiniteCase& row : rows) check(row);
}

TEST(NotFinite, Elementwise) { check_all(elementwise()); }
TEST(NotFinite, Folds) { check_all(folds()); }
TEST(NotFinite, Products) { check_all(products()); }
TEST(NotFinite, Convolutions) { check_all(convolutions()); }
TEST(NotFinite, Attention) { check_all(attentions()); }
TEST(NotFinite, CosineAttention) { check(cosines()); }

}  // namespace
}  // namespace parallax
