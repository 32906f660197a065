// LogSoftmax, Hardmax, CumSum, CumProd, and the reductions and ArgMin.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::IsNan;

Attributes flags(std::initializer_list<const char*> names) {
  Attributes attributes;
  for (const char* name : names) attributes.set(name, std::int64_t{1});
  return attributes;
}

TEST(ReferenceLogSoftmax, IsTheLogarithmOfSoftmax) {
  expect_near(run_one<float>(OpKind::kLogSoftmax, test_inputs(row<float>({1, 2, 3}))),
              {-2.407606F, -1.407606F, -0.407606F});
  expect_near(run_one<float>(OpKind::kLogSoftmax, test_inputs(row<float>({1e4F, 0}))), {0, -1e4F});
  EXPECT_TRUE(
      run_one<float>(OpKind::kLogSoftmax, test_inputs(test_tensor<float>({2, 0}, {}))).empty());
}

TEST(ReferenceHardmax, MarksTheFirstOfTheLargest) {
  EXPECT_THAT(
      run_one<float>(OpKind::kHardmax, test_inputs(test_tensor<float>({2, 3}, {3, 3, 1, 0, 1, 2}))),
      ElementsAre(1, 0, 0, 0, 0, 1));
  EXPECT_THAT(run_one<float>(OpKind::kHardmax, test_inputs(matrix()), on_axis(0)),
              ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(ReferenceCumulative, GoesEachWayAlongEachAxis) {
  const auto run = [](OpKind op, std::int64_t axis, Attributes attributes) {
    return run_one<float>(op, test_inputs(matrix(), scalar<std::int64_t>(axis)),
                          std::move(attributes));
  };
  EXPECT_THAT(run(OpKind::kCumSum, -1, {}), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(run(OpKind::kCumSum, 0, {}), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(run(OpKind::kCumSum, 1, flags({"exclusive"})), ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(run(OpKind::kCumSum, 1, flags({"reverse", "exclusive"})),
              ElementsAre(5, 3, 0, 11, 6, 0));
  EXPECT_THAT(run(OpKind::kCumProd, 1, flags({"reverse"})), ElementsAre(6, 6, 3, 120, 30, 6));
  EXPECT_THAT(
      run_one<std::int32_t>(OpKind::kCumProd, test_inputs(row<std::int32_t>({1 << 20, 1 << 20, 3}),
                                                          scalar<std::int64_t>(0))),
      ElementsAre(1 << 20, 0, 0));
  EXPECT_EQ(error_of(OpKind::kCumSum, test_inputs(matrix(), scalar<std::int64_t>(2))).code,
            ErrorCode::kInvalidModel);
}

TEST(ReferenceReduce, FoldsByHand) {
  struct Case {
    OpKind op;
    float all, none;  ///< results for 1, -2, 4 and for an empty tensor
  };
  const Case cases[] = {
      {OpKind::kReduceL1, 7, 0},
      {OpKind::kReduceLogSum, std::log(3.0F), -kInf},
      {OpKind::kReduceLogSumExp, 4.0509459F, -kInf},
      {OpKind::kReduceProd, -8, 1},
      {OpKind::kReduceMin, -2, kInf},
      {OpKind::kReduceMax, 4, -kInf},
      {OpKind::kReduceSum, 3, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.op));
    expect_near(run_one<float>(c.op, test_inputs(row<float>({1, -2, 4}))), {c.all});
    EXPECT_THAT(run_one<float>(c.op, test_inputs(row<float>({}))), ElementsAre(c.none));
    EXPECT_THAT(run_one<float>(c.op, test_inputs(row<float>({1, kNan, 0}))), ElementsAre(IsNan()));
  }
  expect_near(run_one<float>(OpKind::kReduceLogSumExp, test_inputs(row<float>({1000, 1000}))),
              {1000.6931F}, 1e-3F);
}

TEST(ReferenceReduce, OfIntegersAndBools) {
  EXPECT_THAT(run_one<std::int32_t>(OpKind::kReduceL1, test_inputs(row<std::int32_t>({-3, 4}))),
              ElementsAre(7));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kReduceProd, test_inputs(ints({3, -5}))),
              ElementsAre(-15));
  EXPECT_THAT(run_one<std::uint8_t>(OpKind::kReduceMin, test_inputs(row<std::uint8_t>({}))),
              ElementsAre(255));
  EXPECT_THAT(run_one<std::int32_t>(OpKind::kReduceMax, test_inputs(row<std::int32_t>({}))),
              ElementsAre(std::numeric_limits<std::int32_t>::min()));
  EXPECT_THAT(run_one<bool>(OpKind::kReduceMin, test_inputs(row<bool>({true, false}))),
              ElementsAre(false));
  EXPECT_THAT(run_one<bool>(OpKind::kReduceMin, test_inputs(row<bool>({}))), ElementsAre(true));
}

TEST(ReferenceArgMin, FirstOrLastOfEquals) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kArgMin, test_inputs(row<float>({2, 1, 1}))),
              ElementsAre(1));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kArgMin, test_inputs(row<float>({2, 1, 1})),
                                    flags({"select_last_index"})),
              ElementsAre(2));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kArgMin, test_inputs(row<float>({2, kNan, 1}))),
              ElementsAre(1));
}

}  // namespace
}  // namespace parallax
