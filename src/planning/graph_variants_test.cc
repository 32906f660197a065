#include "planning/graph_variants.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

struct AttentionSizes {
  std::int64_t model, heads, depth, width;
};

std::string constant(const char* name, const std::string& dims, std::int64_t elements,
                     std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
  std::string text = fmt::format("const {} f32 [{}] = [", name, dims);
  for (std::int64_t i = 0; i < elements; ++i)
    text += fmt::format("{}{:.6f}", i == 0 ? "" : ", ", uniform(random));
  return text + "]\n";
}

/// The cross attention of a decoder layer, of `queries` on `keys`, twice.
std::string cross_attention(const AttentionSizes& s, std::mt19937& random) {
  const std::int64_t k = s.heads * s.depth, v = s.heads * s.width;
  std::string text = fmt::format(
      "symbols batch queries keys\ninput t f32 [batch, queries, {}]\n"
      "input x f32 [batch, keys, {}]\n",
      k, s.model);
  text +=
      fmt::format("const khs i64 [4] = [0, -1, {0}, {1}]\nconst vhs i64 [4] = [0, -1, {0}, {2}]\n",
                  s.heads, s.depth, s.width);
  text += constant("wk", fmt::format("{}, {}", s.model, k), s.model * k, random);
  text += constant("wv", fmt::format("{}, {}", s.model, v), s.model * v, random);
  text += constant("bk", std::to_string(k), k, random);
  text += constant("bv", std::to_string(v), v, random);
  return text + R"(
    kp = MatMul(x, wk, bk)
    vp = MatMul(x, wv, bv)
    k = Reshape(kp, khs)
    v = Reshape(vp, vhs)
    q = Reshape(t, khs)
    y = FusedAttention(q, k, v) {scale = 0.3, q_perm = [0, 2, 1, 3], k_perm = [0, 2, 3, 1], v_perm = [0, 2, 1, 3], y_perm = [0, 2, 1, 3]}
    e = Exp(x)
    kp2 = MatMul(e, wk)
    vp2 = MatMul(e, wv)
    k2 = Reshape(kp2, khs)
    v2 = Reshape(vp2, vhs)
    z = FusedAttention(q, k2, v2) {scale = 0.1, q_perm = [0, 2, 1, 3], k_perm = [0, 2, 3, 1], v_perm = [0, 2, 1, 3], y_perm = [0, 2, 1, 3]}
    output y, z)";
}

Tensor random_tensor(const Dims& dims, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor result = *Tensor::allocate(DType::kF32, dims);
  for (std::int64_t i = 0; i < dims.elements(); ++i)
    result.mutable_view().as<float>()[i] = uniform(random);
  return result;
}

class AttentionInputs {
 public:
  AttentionInputs(const AttentionSizes& s, std::int64_t batch, std::int64_t queries,
                  std::int64_t keys, std::mt19937& random)
      : t_(random_tensor({batch, queries, s.heads * s.depth}, random)),
        x_(random_tensor({batch, keys, s.model}, random)) {}
  std::vector<NamedInput> named() const { return {{"t", t_.view()}, {"x", x_.view()}}; }

 private:
  Tensor t_, x_;
};

std::vector<Tensor> run(Session& session, const AttentionInputs& inputs) {
  auto outputs = session.run(inputs.named());
  EXPECT_TRUE(outputs) << outputs.error().to_string();
  return outputs ? *std::move(outputs) : std::vector<Tensor>();
}

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.dims(), b.dims());
  for (std::int64_t i = 0; i < a.dims().elements(); ++i)
    ASSERT_NEAR(a.view().as<float>()[i], b.view().as<float>()[i], 1e-4) << i;
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.dims(), b.dims());
  EXPECT_EQ(std::memcmp(a.view().bytes.data(), b.view().bytes.data(), a.view().bytes.size()), 0);
}

TEST(GraphVariants, BothAgreeWithTheReferenceKernels) {
  std::mt19937 random(7);
  for (const AttentionSizes& s : {AttentionSizes{24, 3, 8, 8}, AttentionSizes{20, 6, 4, 3},
                                  AttentionSizes{33, 2, 17, 5}, AttentionSizes{8, 1, 8, 8}}) {
    const Model model = model_of(cross_attention(s, random));
    auto best = Session::create(model, {Scheduler::kDataflow, 2});
    auto sequential = Session::create(model, {Scheduler::kSequential, 1});
    auto reference = Session::create(model, {Scheduler::kSequential, 1, {}, Kernels::kReference});
    ASSERT_TRUE(best && sequential && reference);
    int factored = 0;
    const std::int64_t lengths[] = {2, 100, 1, 90, 3, 0, 2};
    for (const std::int64_t queries : lengths) {
      const std::int64_t keys = 110 + queries % 2;
      SCOPED_TRACE(fmt::format("{} queries, model {}", queries, s.model));
      const Binding binding{{2, queries, keys}};
      GraphVariants& forms = *impl_of(model).forms;
      const bool is_factored = forms.of(binding, {}).value() != forms.plain();
      EXPECT_EQ(is_factored, queries > 0 && queries < 10);
      factored += is_factored ? 1 : 0;
      EXPECT_EQ(forms.of(binding, {.reference_only = true}).value(), forms.canonical().value());
      const AttentionInputs inputs(s, 2, queries, keys, random);
      const auto a = run(*best, inputs), b = run(*sequential, inputs), c = run(*reference, inputs);
      ASSERT_TRUE(a.size() == 2 && b.size() == 2 && c.size() == 2);
      for (std::size_t i = 0; i < 2; ++i) {
        expect_same_bits(a[i], b[i]);
        expect_near(a[i], c[i]);
      }
    }
    EXPECT_EQ(factored, 4);
  }
}

TEST(GraphVariants, ThePlanIsOfTheFormThatRuns) {
  std::mt19937 random(7);
  const AttentionSizes s{24, 3, 8, 8};
  auto session = Session::create(model_of(cross_attention(s, random)), {.threads = 2});
  ASSERT_TRUE(session);
  const auto nodes = [&](std::int64_t queries) {
    const std::vector<DimValue> dims = {{"batch", 1}, {"queries", queries}, {"keys", 100}};
    const auto plan = Planner(*session).plan(dims);
    EXPECT_TRUE(plan) << plan.error().to_string();
    return plan ? plan->nodes : 0;
  };
  const int few = nodes(2), many = nodes(50);
  EXPECT_NE(few, many);
  EXPECT_EQ(nodes(3), few);
  EXPECT_EQ(nodes(60), many);
}

TEST(GraphVariants, AModelWithoutCrossAttentionHasOne) {
  const Model model = model_of("symbols n\ninput x f32 [n, 8]\ny = Relu(x)\noutput y");
  GraphVariants& forms = *impl_of(model).forms;
  EXPECT_EQ(forms.of({{1}}, {}).value(), forms.plain());
  EXPECT_EQ(forms.canonical().value(), forms.plain()) << "no pass changes it";
}

std::string operators(const std::vector<NodeEvent>& nodes) {
  std::string text;
  for (const NodeEvent& node : nodes) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

TEST(GraphVariants, TheReferenceKernelsRunTheCanonicalGraph) {
  const Model model = model_of(R"(
      symbols n
      input x f32 [n, 8]
      const one f32 [1] = [1]
      const two f32 [1] = [2]
      three = Add(one, two)
      s = Sigmoid(x)
      m = Mul(x, s)
      i = Identity(m)
      y = Add(i, three)
      output y)");
  std::mt19937 random(7);
  const Tensor x = random_tensor({3, 8}, random);
  const std::vector<NamedInput> inputs = {{"x", x.view()}};
  std::vector<std::vector<Tensor>> results;
  for (const auto& [kernels, ran] :
       {std::pair{Kernels::kBest, "ElementwiseChain"}, {Kernels::kReference, "Sigmoid Mul Add"}}) {
    auto session = Session::create(model, {.threads = 1, .kernels = kernels});
    ASSERT_TRUE(session);
    RunTrace trace;
    auto outputs = session->run(inputs, {.trace = &trace});
    ASSERT_TRUE(outputs) << outputs.error().to_string();
    EXPECT_EQ(operators(trace.nodes), ran);
    results.push_back(*std::move(outputs));
  }
  expect_near(results[0][0], results[1][0]);
}

}  // namespace
}  // namespace parallax
