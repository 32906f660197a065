// Reduce*, ArgMax, TopK, Softmax, LpNormalization, LayerNormalization, RMSNormalization,
// BatchNormalization.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;

Attributes flag(const char* name, std::int64_t value) { return test_attributes({{name, value}}); }

TEST(ReferenceReduce, AnyAxes) {
  EXPECT_THAT(run_one<float>(OpKind::kReduceSum, test_inputs(matrix(), ints({-1}))),
              ElementsAre(6, 15));
  EXPECT_THAT(run_one<float>(OpKind::kReduceSum, test_inputs(matrix(), ints({0}))),
              ElementsAre(5, 7, 9));
  EXPECT_THAT(run_one<float>(OpKind::kReduceMean, test_inputs(matrix())), ElementsAre(3.5F));
  EXPECT_THAT(run_one<float>(OpKind::kReduceMax, test_inputs(matrix(), ints({0, 1}))),
              ElementsAre(6));
  EXPECT_THAT(run_one<float>(OpKind::kReduceL2, test_inputs(row<float>({3, 4}))), ElementsAre(5));
  EXPECT_THAT(run_one<float>(OpKind::kReduceSumSquare, test_inputs(matrix(), ints({-2}))),
              ElementsAre(17, 29, 45));
  EXPECT_THAT(run_one<float>(OpKind::kReduceSumSquare, test_inputs(scalar(-3.0F))), ElementsAre(9));
  EXPECT_THAT(run_one<float>(OpKind::kReduceSum, test_inputs(row<float>({3, 4})),
                             flag("noop_with_empty_axes", 1)),
              ElementsAre(3, 4));
  EXPECT_THAT(run_one<float>(OpKind::kReduceSum, test_inputs(scalar(3.0F))), ElementsAre(3));
}

TEST(ReferenceReduce, IntegersAndBool) {
  EXPECT_THAT(run_one<std::int32_t>(
                  OpKind::kReduceSum,
                  test_inputs(row<std::int32_t>({std::numeric_limits<std::int32_t>::max(), 1}))),
              ElementsAre(std::numeric_limits<std::int32_t>::min()));
  EXPECT_THAT(run_one<std::int32_t>(OpKind::kReduceSumSquare,
                                    test_inputs(row<std::int32_t>({1 << 16, -3}))),
              ElementsAre(9));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kReduceMean, test_inputs(ints({-3, -4}))),
              ElementsAre(-3));
  EXPECT_THAT(run_one<std::uint8_t>(OpKind::kReduceMax, test_inputs(row<std::uint8_t>({3, 200}))),
              ElementsAre(200));
  EXPECT_THAT(run_one<bool>(OpKind::kReduceMax, test_inputs(row<bool>({false, true}))),
              ElementsAre(true));
}

TEST(ReferenceReduce, OfNothing) {
  const auto none = [] { return test_tensor<float>({2, 0}, {}); };
  EXPECT_THAT(run_one<float>(OpKind::kReduceSum, test_inputs(none(), ints({1}))),
              ElementsAre(0, 0));
  EXPECT_THAT(run_one<float>(OpKind::kReduceSumSquare, test_inputs(none(), ints({1}))),
              ElementsAre(0, 0));
  EXPECT_THAT(run_one<float>(OpKind::kReduceMax, test_inputs(none(), ints({1}))),
              ElementsAre(-kInf, -kInf));
  EXPECT_TRUE(std::isnan(run_one<float>(OpKind::kReduceMean, test_inputs(none())).at(0)));
  EXPECT_EQ(error_of(OpKind::kReduceMean, test_inputs(ints({}))).code, ErrorCode::kInvalidInput);
}

TEST(ReferenceReduce, NanIsTheMaximum) {
  EXPECT_TRUE(
      std::isnan(run_one<float>(OpKind::kReduceMax, test_inputs(row<float>({1, kNan, 2}))).at(0)));
}

TEST(ReferenceArgMax, FirstOrLastAmongEqual) {
  const auto last =
      test_attributes({{"axis", std::int64_t{1}}, {"select_last_index", std::int64_t{1}}});
  const auto x = [] { return test_tensor<float>({2, 3}, {7, 1, 7, kNan, 9, kNan}); };
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kArgMax, test_inputs(x()), flag("axis", -1)),
              ElementsAre(0, 0));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kArgMax, test_inputs(x()), last), ElementsAre(2, 2));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kArgMax,
                                    test_inputs(test_tensor<std::int8_t>({2, 2}, {1, -2, -3, 4}))),
              ElementsAre(0, 1));
}

TEST(ReferenceTopK, LowerIndexFirstAmongEqual) {
  const auto x = [] { return row<float>({2, 5, 5, 1, kNan}); };
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kTopK, test_inputs(x(), ints({4})), {}, 2, 1),
              ElementsAre(4, 1, 2, 0));
  EXPECT_THAT(
      run_one<std::int64_t>(OpKind::kTopK, test_inputs(x(), ints({3})), flag("largest", 0), 2, 1),
      ElementsAre(3, 0, 1));
  EXPECT_THAT(run_one<float>(OpKind::kTopK, test_inputs(x(), ints({2})), flag("largest", 0), 2, 0),
              ElementsAre(1, 2));
  const auto columns = test_tensor<std::int32_t>({2, 2}, {1, 4, 3, 2});
  EXPECT_THAT(run_one<std::int32_t>(
                  OpKind::kTopK,
                  test_inputs(test_tensor<std::int32_t>({2, 2}, test_values<std::int32_t>(columns)),
                              ints({1})),
                  flag("axis", 0), 2, 0),
              ElementsAre(3, 4));
  EXPECT_TRUE(run_one<float>(OpKind::kTopK, test_inputs(x(), ints({0})), {}, 2, 0).empty());
}

TEST(ReferenceSoftmax, IsStableAndTakesAnyAxis) {
  expect_near(run_one<float>(OpKind::kSoftmax, test_inputs(row<float>({1000, 1000, -1000}))),
              {0.5F, 0.5F, 0});
  expect_near(
      run_one<float>(OpKind::kSoftmax, test_inputs(test_tensor<float>({2, 2}, {0, 5, 0, 5})),
                     flag("axis", 0)),
      {0.5F, 0.5F, 0.5F, 0.5F});
  EXPECT_TRUE(
      run_one<float>(OpKind::kSoftmax, test_inputs(test_tensor<float>({2, 0}, {}))).empty());
}

TEST(ReferenceLpNormalization, DividesByTheNormUnlessThatIsZero) {
  const auto x = [] { return test_tensor<float>({2, 2}, {3, -4, 0, -0.0F}); };
  expect_near(run_one<float>(OpKind::kLpNormalization, test_inputs(x())), {0.6F, -0.8F, 0, 0});
  expect_near(run_one<float>(OpKind::kLpNormalization, test_inputs(x()), flag("p", 1)),
              {3.0F / 7, -4.0F / 7, 0, 0});
  expect_near(run_one<float>(OpKind::kLpNormalization, test_inputs(x()), flag("axis", -2)),
              {1, -1, 0, 0});
  EXPECT_TRUE(run_one<float>(OpKind::kLpNormalization, test_inputs(test_tensor<float>({2, 0}, {})))
                  .empty());
  const auto special =
      run_one<float>(OpKind::kLpNormalization,
                     test_inputs(test_tensor<float>({2, 2}, {kInf, 1, kNan, 1})), flag("p", 1));
  EXPECT_TRUE(std::isnan(special[0]) && special[1] == 0);
  EXPECT_TRUE(std::isnan(special[2]) && std::isnan(special[3]));
}

TEST(ReferenceLayerNormalization, ScaleBiasAndStatistics) {
  const auto inputs = [] {
    return test_inputs(test_tensor<float>({2, 2}, {1, 3, -2, -2}), row<float>({2, 1}),
                       row<float>({10, 20}));
  };
  const auto epsilon = test_attributes({{"epsilon", 0.0625F}});
  const float r = 1.0F / std::sqrt(1.0625F);
  expect_near(run_one<float>(OpKind::kLayerNormalization, inputs(), epsilon),
              {10 - 2 * r, 20 + r, 10, 20});
  expect_near(run_one<float>(OpKind::kLayerNormalization, inputs(), epsilon, 3, 1), {2, -2});
  expect_near(run_one<float>(OpKind::kLayerNormalization, inputs(), epsilon, 3, 2), {r, 4});
  expect_near(run_one<float>(OpKind::kLayerNormalization,
                             test_inputs(test_tensor<float>({1, 2, 1}, {1, 3}), scalar(1.0F)),
                             test_attributes({{"axis", std::int64_t{1}}, {"epsilon", 0.0F}})),
              {-1, 1});
}

TEST(ReferenceRMSNormalization, ScalesByTheRootOfTheMeanSquare) {
  expect_near(
      run_one<float>(OpKind::kRMSNormalization,
                     test_inputs(test_tensor<float>({2, 2}, {1, 7, -2, -2}), row<float>({5, 10})),
                     test_attributes({{"epsilon", 0.0F}})),
      {1, 14, -5, -10});
  expect_near(run_one<float>(OpKind::kRMSNormalization,
                             test_inputs(test_tensor<float>({1, 2, 1}, {1, 7}), scalar(1.0F)),
                             test_attributes({{"axis", std::int64_t{1}}, {"epsilon", 75.0F}})),
              {0.1F, 0.7F});
  EXPECT_TRUE(run_one<float>(OpKind::kRMSNormalization,
                             test_inputs(test_tensor<float>({0, 3}, {}), row<float>({1, 2, 3})))
                  .empty());
}

TEST(ReferenceBatchNormalization, PerChannel) {
  expect_near(
      run_one<float>(OpKind::kBatchNormalization,
                     test_inputs(test_tensor<float>({1, 2, 2}, {1, 2, 3, 4}), row<float>({1, 2}),
                                 row<float>({0, 1}), row<float>({1, 3}), row<float>({4, 1})),
                     test_attributes({{"epsilon", 0.0F}})),
      {0, 0.5F, 1, 3});
}

}  // namespace
}  // namespace parallax
