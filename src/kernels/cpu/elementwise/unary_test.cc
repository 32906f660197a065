#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

struct UnaryCase {
  OpKind op;
  Tolerance tolerance;
  Attributes attributes = {};
};

std::vector<UnaryCase> unary_cases() {
  const Tolerance few_ulp{5e-7, 1e-37};
  return {{OpKind::kAbs, {}},
          {OpKind::kNeg, {}},
          {OpKind::kSqrt, {1e-7, 0}},
          {OpKind::kReciprocal, {1e-7, 0}},
          {OpKind::kExp, few_ulp},
          {OpKind::kLog, few_ulp},
          {OpKind::kErf, few_ulp},
          {OpKind::kTanh, few_ulp},
          {OpKind::kSigmoid, few_ulp},
          {OpKind::kRelu, {1e-7, 0}},
          {OpKind::kHardSwish, {1e-7, 0}},
          {OpKind::kCeil, {}},
          {OpKind::kFloor, {}},
          {OpKind::kRound, {}},
          {OpKind::kSign, {}},
          {OpKind::kSin, {5e-7, 1e-7}},
          {OpKind::kCos, {5e-7, 1e-7}},
          {OpKind::kSoftplus, few_ulp},
          {OpKind::kSoftsign, {1e-7, 0}},
          {OpKind::kMish, few_ulp},
          {OpKind::kLeakyRelu, {1e-7, 0}},
          {OpKind::kElu, few_ulp, test_attributes({{"alpha", 1.5F}})},
          {OpKind::kCelu, few_ulp, test_attributes({{"alpha", 2.0F}})},
          {OpKind::kSelu, few_ulp},
          {OpKind::kHardSigmoid, {1e-7, 0}, test_attributes({{"beta", 0.25F}})},
          {OpKind::kThresholdedRelu, {}, test_attributes({{"alpha", 0.5F}})},
          {OpKind::kSilu, {5e-7, 1e-35}},
          {OpKind::kSilu, {5e-7, 1e-35}, test_attributes({{"alpha", 1.702F}})},
          {OpKind::kGelu, {1e-6, 1e-6}},
          {OpKind::kGelu, {1e-6, 1e-6}, test_attributes({{"approximate", std::string("tanh")}})}};
}

TEST(CpuUnary, AgreesWithReferenceOnRandomAndSpecialValues) {
  for (const UnaryCase& c : unary_cases()) {
    SCOPED_TRACE(to_string(c.op));
    std::vector<float> values = special_floats();
    const auto random = test_values<float>(random_floats({1000}, 7, -20.0F, 20.0F));
    values.insert(values.end(), random.begin(), random.end());
    expect_same_as_reference(
        {c.op, test_inputs(test_tensor<float>({static_cast<std::int64_t>(values.size())}, values)),
         c.attributes},
        c.tolerance);
  }
}

/// Returns f of each element, all of them in one run.
std::vector<float> run_unary(const UnaryCase& c, const std::vector<float>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto y = run_kernel({c.op, test_inputs(test_tensor<float>({n}, x)), c.attributes},
                            KernelLibrary::kCpu);
  return y ? test_values<float>((*y)[0]) : std::vector<float>{};
}

TEST(CpuUnary, GivesAnElementTheSameBitsWhateverItsNeighbours) {
  std::vector<float> x = special_floats();
  for (int i = 0; i < 70; ++i) x.push_back(0.37F * static_cast<float>(i) - 11.0F);
  for (const UnaryCase& c : unary_cases()) {
    SCOPED_TRACE(to_string(c.op));
    const std::vector<float> together = run_unary(c, x);
    ASSERT_EQ(together.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::vector<float> alone = run_unary(c, {x[i]});
      ASSERT_EQ(alone.size(), 1U);
      if (std::isnan(alone[0]) && std::isnan(together[i])) continue;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(alone[0]), std::bit_cast<std::uint32_t>(together[i]))
          << x[i];
    }
  }
}

TEST(CpuUnary, KeepsTheSignOfZeroInASine) {
  const std::vector<float> y = run_unary({OpKind::kSin, {}}, {-0.0F, 0.0F});
  ASSERT_EQ(y.size(), 2U);
  EXPECT_TRUE(std::signbit(y[0]));
  EXPECT_FALSE(std::signbit(y[1]));
}

TEST(CpuUnary, TakesEveryLengthAndShape) {
  for (std::int64_t n = 0; n < 70; ++n)
    expect_same_as_reference({OpKind::kSigmoid, test_inputs(random_floats({n}, 1))}, {5e-7, 0});
  expect_same_as_reference({OpKind::kTanh, test_inputs(random_floats({}, 2))}, {5e-7, 0});
  expect_same_as_reference({OpKind::kTanh, test_inputs(random_floats({3, 0, 5}, 2))}, {5e-7, 0});
  expect_same_as_reference({OpKind::kNeg, test_inputs(random_floats({2, 3, 150001}, 3))});
}

TEST(CpuGelu, IsNearDoublePrecision) {
  std::vector<float> x;
  for (int i = -90000; i <= 90000; ++i) x.push_back(static_cast<float>(i) * 1e-4F);
  const auto count = static_cast<std::int64_t>(x.size());
  const auto y =
      run_kernel({OpKind::kGelu, test_inputs(test_tensor<float>({count}, x))}, KernelLibrary::kCpu);
  ASSERT_TRUE(y.has_value()) << y.error().to_string();
  const std::vector<float> got = test_values<float>((*y)[0]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i], want = v / 2 * std::erfc(-v / std::sqrt(2.0));
    ASSERT_NEAR(got[i], want, 3e-7 * std::max(std::abs(v), 1.0)) << v;
  }
}

TEST(CpuClip, HoldsValuesWithinConstantLimits) {
  const Tensor x = test_tensor<float>(
      {7}, {-5.0F, -0.5F, 0.25F, 7.0F, std::nanf(""), std::numeric_limits<float>::infinity(),
            -std::numeric_limits<float>::infinity()});
  const Tensor low = test_tensor<float>({}, {-1.0F}), high = test_tensor<float>({}, {2.0F});
  const Tolerance exact{1e-9, 0};
  expect_same_as_reference(
      {OpKind::kClip, test_inputs(Tensor(test_tensor<float>({2}, {1, 2}))), {}, 1, 0}, exact);
  KernelRun run{OpKind::kClip, {}, {}, 1, 0b110};
  run.inputs.emplace_back(test_tensor<float>({7}, test_values<float>(x)));
  expect_same_as_reference(run, exact);
  run.inputs.emplace_back(test_tensor<float>({}, test_values<float>(low)));
  expect_same_as_reference(run, exact);
  run.inputs.emplace_back(test_tensor<float>({}, test_values<float>(high)));
  expect_same_as_reference(run, exact);
  run.inputs[1].reset();
  expect_same_as_reference(run, exact);
}

TEST(CpuPow, CoversSimpleExponentsAndDeclinesOthers) {
  for (const float exponent : {1.0F, 2.0F, 3.0F, 0.5F, -1.0F}) {
    SCOPED_TRACE(exponent);
    const std::vector<float> values = special_floats();
    expect_same_as_reference(
        {OpKind::kPow,
         test_inputs(test_tensor<float>({static_cast<std::int64_t>(values.size())}, values),
                     test_tensor<float>({}, {exponent})),
         {},
         1,
         0b10},
        {3e-7, 1e-37});
  }
  EXPECT_TRUE(
      cpu_declines({OpKind::kPow,
                    test_inputs(random_floats({4}, 1, 0.0F), test_tensor<float>({}, {2.5F})),
                    {},
                    1,
                    0b10}));
}

}  // namespace
}  // namespace parallax
