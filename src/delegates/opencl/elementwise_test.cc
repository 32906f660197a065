// Tests elementwise operators and chains of them against the reference kernels.
#include <limits>

#include "base/status.h"
#include "delegates/opencl/opencl_test_util.h"
#include "delegates/opencl/operators.h"
#include "ir/text/text.h"

namespace parallax::opencl {
namespace {

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

Tensor special_values() {
  return test_tensor<float>(
      {9}, {0.0F, -0.0F, 1.5F, -2.5F, kNoNumber, kInfinite, -kInfinite, 30.0F, -30.0F});
}
Tensor bools(const Dims& dims) {
  Tensor made = std::move(Tensor::allocate(DType::kBool, dims)).value();
  const auto bytes = made.mutable_view().bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i % 3 == 0 ? 1 : 0);
  return made;
}

TEST(OpenClElementwise, OfOneInput) {
  PX_NEEDS_DEVICE();
  for (const OpKind op :
       {OpKind::kAbs, OpKind::kErf, OpKind::kExp, OpKind::kGelu, OpKind::kHardSwish, OpKind::kIsNaN,
        OpKind::kNeg, OpKind::kRelu, OpKind::kSigmoid, OpKind::kSilu, OpKind::kTanh}) {
    expect_as_reference({op, test_inputs(special_values())}, "special");
    expect_as_reference({op, test_inputs(random_tensor({3, 100}, 1, -4, 4))}, "random");
    expect_as_reference({op, test_inputs(random_tensor({2, 0}))}, "empty");
    expect_as_reference({op, test_inputs(random_tensor({}))}, "scalar");
  }
  for (const OpKind op : {OpKind::kLog, OpKind::kSqrt, OpKind::kReciprocal})
    expect_as_reference({op, test_inputs(random_tensor({300}, 2, 0.01F, 5))}, "positive");
  expect_as_reference({OpKind::kNot, test_inputs(bools({7}))}, "");
  expect_as_reference({OpKind::kGelu, test_inputs(random_tensor({9}, 1, -4, 4)),
                       test_attributes({{"approximate", std::string("tanh")}})},
                      "tanh");
  expect_as_reference({OpKind::kNeg, test_inputs(int_tensor({1, -2, 1LL << 40}))}, "i64");
}

TEST(OpenClElementwise, OfTwoInputs) {
  PX_NEEDS_DEVICE();
  for (const OpKind op : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMin,
                          OpKind::kMax, OpKind::kLess, OpKind::kLessOrEqual, OpKind::kGreater,
                          OpKind::kGreaterOrEqual, OpKind::kEqual}) {
    expect_as_reference({op, test_inputs(random_tensor({2, 3, 5}), random_tensor({3, 1}, 2))},
                        "broadcast");
    expect_as_reference({op, test_inputs(random_tensor({200}), random_tensor({3, 200}, 2))},
                        "rows");
    expect_as_reference(
        {op, test_inputs(random_tensor({4, 1, 3, 1, 2}), random_tensor({1, 3, 1, 2, 1}, 2))},
        "both");
    expect_as_reference({op, test_inputs(random_tensor({0, 1}), random_tensor({1, 4}))}, "empty");
    expect_as_reference({op, test_inputs(special_values(), test_tensor<float>({}, {1.5F}))},
                        "special");
  }
  expect_as_reference(
      {OpKind::kPow, test_inputs(random_tensor({50}, 1, 0.1F, 3), random_tensor({}, 2))}, "");
  expect_as_reference({OpKind::kAnd, test_inputs(bools({6}), bools({1}))}, "");
  expect_as_reference({OpKind::kOr, test_inputs(bools({2, 3}), bools({3}))}, "");
  expect_as_reference({OpKind::kEqual, test_inputs(bools({6}), bools({1}))}, "bools");
  expect_as_reference({OpKind::kAdd, test_inputs(int_tensor({1, 2, 3}), int_tensor({1LL << 40}))},
                      "i64");
  expect_as_reference({OpKind::kMax, test_inputs(random_tensor({3}), random_tensor({1}, 2),
                                                 random_tensor({2, 1}, 3))},
                      "three");
}

TEST(OpenClElementwise, ExtremesOfManyInputs) {
  PX_NEEDS_DEVICE();
  for (const OpKind op : {OpKind::kMax, OpKind::kMin}) {
    for (const unsigned count : {10U, 11U, 19U, 40U}) {
      std::vector<std::optional<Tensor>> inputs;
      for (unsigned i = 0; i < count; ++i)
        inputs.emplace_back(random_tensor(i % 3 == 0 ? Dims{5, 1} : Dims{5, 7}, i + 1));
      expect_as_reference({op, std::move(inputs)}, std::to_string(count));
    }
  }
}

TEST(OpenClElementwise, ClipCastAndWhere) {
  PX_NEEDS_DEVICE();
  const auto number = [](float x) { return test_tensor<float>({}, {x}); };
  expect_as_reference({OpKind::kClip, test_inputs(special_values(), number(-1), number(2))}, "");
  expect_as_reference({OpKind::kClip, test_inputs(special_values())}, "without bounds");
  KernelRun high{OpKind::kClip, test_inputs(special_values())};
  high.inputs.emplace_back();
  high.inputs.emplace_back(number(1));
  expect_as_reference(high, "high");
  expect_as_reference(
      {OpKind::kClip, test_inputs(int_tensor({-5, 5, 9}), test_tensor<std::int64_t>({}, {0}))},
      "i64");
  for (const DType to : {DType::kF32, DType::kI32, DType::kI64, DType::kBool}) {
    const auto attributes = test_attributes({{"to", std::int64_t{info_of(to).onnx}}});
    expect_as_reference({OpKind::kCast, test_inputs(special_values()), attributes}, "of f32");
    expect_as_reference({OpKind::kCast, test_inputs(int_tensor({-1, 0, 5})), attributes}, "of i64");
    expect_as_reference({OpKind::kCast, test_inputs(bools({5})), attributes}, "of bool");
  }
  expect_as_reference({OpKind::kWhere, test_inputs(bools({3, 1}), random_tensor({4}), number(0))},
                      "");
  expect_as_reference(
      {OpKind::kWhere, test_inputs(bools({4}), int_tensor({1}), int_tensor({1, 2, 3, 4}))}, "i64");
}

TEST(OpenClElementwise, AChainIsOneStep) {
  PX_NEEDS_DEVICE();
  auto graph = parse_graph(
      "input x f32 [3, 5]\ninput b f32 [5]\na = Add(x, b)\ns = Sigmoid(a)\nm = Mul(a, s)\nd = "
      "Sub(m, x)\n"
      "n = Neg(m)\noutput d, n\n");
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_TRUE(infer_graph(*graph));
  const auto steps = find_steps(*graph);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 3U);  // m has two readers that are no chain
  EXPECT_EQ((*steps)[0].chain.nodes.size(), 3U);
  const Tensor x = random_tensor({3, 5}), b = random_tensor({5}, 2);
  const auto result = run_graph(*graph, {x.view(), b.view()}, false);
  ASSERT_TRUE(result) << result.error().to_string();
  const auto xs = test_values<float>(x), bs = test_values<float>(b),
             d = test_values<float>((*result)[0]);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const float a = xs[i] + bs[i % 5];
    EXPECT_NEAR(d[i], a / (1 + std::exp(-a)) - xs[i], 1e-5F);
  }
}

TEST(OpenClElementwise, TheDescriptionHasEveryRow) {
  const std::string text = profile_text({1e-4, 1e9, 1e9, 1e9, 1 << 30});
  for (const char* expected :
       {"name = \"opencl\"", "  \"Conv\",",
        "[delegate.limits.Where]\ndtypes = [\"f32\", \"i32\", \"i64\", \"bool\"]",
        "[delegate.limits.Gemm]\ndtypes = [\"f32\"]\nmax_rank = 2"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

}  // namespace
}  // namespace parallax::opencl
