#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(ReferenceMatMul, VectorsMatricesAndBatches) {
  const auto a = [] { return test_tensor<float>({2, 2}, {1, 2, 3, 4}); };
  EXPECT_THAT(run_one<float>(OpKind::kMatMul, test_inputs(a(), a())), ElementsAre(7, 10, 15, 22));
  EXPECT_THAT(run_one<float>(OpKind::kMatMul, test_inputs(row<float>({1, 1}), a())),
              ElementsAre(4, 6));
  EXPECT_THAT(run_one<float>(OpKind::kMatMul, test_inputs(a(), row<float>({1, 1}))),
              ElementsAre(3, 7));
  EXPECT_THAT(run_one<float>(OpKind::kMatMul, test_inputs(row<float>({1, 2}), row<float>({3, 4}))),
              ElementsAre(11));
  // [2, 1, 1, 2] x [3, 2, 1]: batches broadcast to [2, 3].
  EXPECT_THAT(run_one<float>(OpKind::kMatMul,
                             test_inputs(test_tensor<float>({2, 1, 1, 2}, {1, 0, 0, 1}),
                                         test_tensor<float>({3, 2, 1}, {1, 2, 3, 4, 5, 6}))),
              ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(ReferenceMatMul, BiasActivationAndIntegers) {
  EXPECT_THAT(run_one<float>(OpKind::kMatMul,
                             test_inputs(test_tensor<float>({1, 1}, {2}),
                                         test_tensor<float>({1, 2}, {1, -3}), row<float>({1, 1})),
                             {}, 1, 0, then("Relu")),
              ElementsAre(3, 0));
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kMatMul, test_inputs(ints({big, 3}), ints({4, 5}))),
              ElementsAre(15));
}

TEST(ReferenceMatMul, AppliesEachActivationAsItsOperatorDoes) {
  const Floats x = {-7, -2.5F, -0.0F, 0.5F, 2, 8, std::nanf("")};
  const auto last = [&](Epilogue epilogue) {
    return run_one<float>(
        OpKind::kMatMul,
        test_inputs(test_tensor<float>({1, 1}, {1}), test_tensor<float>({1, 7}, x)), {}, 1, 0,
        epilogue);
  };
  const auto same = [](const Floats& a, const Floats& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  };
  for (const OpKind op : {OpKind::kRelu, OpKind::kSigmoid, OpKind::kSilu, OpKind::kTanh,
                          OpKind::kGelu, OpKind::kHardSwish}) {
    EXPECT_TRUE(same(last({{.op = op}}), run_one<float>(op, test_inputs(row<float>(last({}))))))
        << to_string(op);
  }
  EXPECT_TRUE(same(last({{.op = OpKind::kSilu, .alpha = 1.702F}}),
                   run_one<float>(OpKind::kSilu, test_inputs(row<float>(last({}))),
                                  test_attributes({{"alpha", 1.702F}}))));
  EXPECT_TRUE(same(
      last({{.op = OpKind::kClip, .low = 0, .high = 6}}),
      run_one<float>(OpKind::kClip, test_inputs(row<float>(last({})), test_tensor<float>({}, {0}),
                                                test_tensor<float>({}, {6})))));
}

TEST(ReferenceMatMul, NothingToSumGivesZeroOrBias) {
  EXPECT_THAT(run_one<float>(OpKind::kMatMul, test_inputs(test_tensor<float>({2, 0}, {}),
                                                          test_tensor<float>({0, 2}, {}))),
              Each(0.0F));
  EXPECT_THAT(run_one<float>(OpKind::kMatMul,
                             test_inputs(test_tensor<float>({1, 0}, {}),
                                         test_tensor<float>({0, 2}, {}), row<float>({1, 2}))),
              ElementsAre(1, 2));
  EXPECT_TRUE(
      run_one<float>(OpKind::kMatMul, test_inputs(test_tensor<float>({0, 3}, {}),
                                                  test_tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6})))
          .empty());
}

TEST(ReferenceGemm, TransposesScalesAndBroadcastsC) {
  const auto a = [] { return test_tensor<float>({2, 2}, {1, 2, 3, 4}); };
  const auto trans = [](std::int64_t trans_a, std::int64_t trans_b) {
    return test_attributes(
        {{"transA", trans_a}, {"transB", trans_b}, {"alpha", 2.0F}, {"beta", 0.5F}});
  };
  EXPECT_THAT(run_one<float>(OpKind::kGemm, test_inputs(a(), a(), row<float>({2, 4})), trans(0, 0)),
              ElementsAre(15, 22, 31, 46));
  EXPECT_THAT(
      run_one<float>(OpKind::kGemm, test_inputs(a(), a(), test_tensor<float>({2, 1}, {2, 4})),
                     trans(1, 0)),
      ElementsAre(21, 29, 30, 42));
  EXPECT_THAT(run_one<float>(OpKind::kGemm, test_inputs(a(), a(), scalar(2.0F)), trans(0, 1)),
              ElementsAre(11, 23, 23, 51));
  EXPECT_THAT(run_one<float>(OpKind::kGemm, test_inputs(a(), a()), trans(1, 1)),
              ElementsAre(14, 30, 20, 44));
}

/// Plain, blocked and transposed paths sum in one order: their bits are those of the plain loop.
RC_GTEST_PROP(ReferenceMatMulProperty, EveryPathEqualsThePlainLoop, ()) {
  const auto m = *rc::gen::inRange<std::int64_t>(1, 11);
  const auto n = *rc::gen::inRange<std::int64_t>(1, *rc::gen::element<std::int64_t>(40, 600));
  const auto k = *rc::gen::inRange<std::int64_t>(0, 23);
  const auto value = [](std::int64_t i) { return std::sin(static_cast<float>(i)); };
  Floats a, a_transposed(static_cast<std::size_t>(m * k)), b;
  Floats b_transposed(static_cast<std::size_t>(k * n)), expected;
  for (std::int64_t i = 0; i < m * k; ++i) {
    a.push_back(value(i));
    a_transposed[static_cast<std::size_t>(i % k * m + i / k)] = a.back();
  }
  for (std::int64_t i = 0; i < k * n; ++i) {
    b.push_back(value(i + 1000));
    b_transposed[static_cast<std::size_t>(i % n * k + i / n)] = b.back();
  }
  for (std::int64_t i = 0; i < m * n; ++i) {
    float sum = 0;
    for (std::int64_t l = 0; l < k; ++l) {
      sum +=
          a[static_cast<std::size_t>(i / n * k + l)] * b[static_cast<std::size_t>(l * n + i % n)];
    }
    expected.push_back(sum);
  }
  const auto plain = run_one<float>(
      OpKind::kMatMul, test_inputs(test_tensor<float>({m, k}, a), test_tensor<float>({k, n}, b)));
  const auto by_columns = run_one<float>(
      OpKind::kGemm,
      test_inputs(test_tensor<float>({m, k}, a), test_tensor<float>({n, k}, b_transposed)),
      test_attributes({{"transB", std::int64_t{1}}}));
  const auto by_rows = run_one<float>(
      OpKind::kGemm,
      test_inputs(test_tensor<float>({k, m}, a_transposed), test_tensor<float>({k, n}, b)),
      test_attributes({{"transA", std::int64_t{1}}}));
  RC_ASSERT(plain == expected);
  RC_ASSERT(by_columns == expected);
  RC_ASSERT(by_rows == expected);
}

}  // namespace
}  // namespace parallax
