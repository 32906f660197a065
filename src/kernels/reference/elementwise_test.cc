// Unary and binary functions, Clip, Cast, comparison, logic, Where, Min, Max.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using I8 = std::int8_t;
using U8 = std::uint8_t;
using I32 = std::int32_t;
using I64 = std::int64_t;

constexpr I32 kMin32 = std::numeric_limits<I32>::min();
constexpr I64 kMin64 = std::numeric_limits<I64>::min();
constexpr I64 kMax64 = std::numeric_limits<I64>::max();

TEST(ReferenceUnary, IntegersWrap) {
  EXPECT_THAT(run_one<I32>(OpKind::kAbs, test_inputs(row<I32>({-3, kMin32}))),
              ElementsAre(3, kMin32));
  EXPECT_THAT(run_one<I64>(OpKind::kNeg, test_inputs(row<I64>({5, kMin64}))),
              ElementsAre(-5, kMin64));
  EXPECT_THAT(run_one<I8>(OpKind::kNeg, test_inputs(row<I8>({-128, 1}))), ElementsAre(-128, -1));
  EXPECT_THAT(run_one<U8>(OpKind::kAbs, test_inputs(row<U8>({200}))), ElementsAre(200));
  EXPECT_THAT(run_one<I32>(OpKind::kRelu, test_inputs(row<I32>({-1, 2}))), ElementsAre(0, 2));
}

TEST(ReferenceUnary, Floats) {
  struct Case {
    OpKind op;
    float x, y;
  };
  const Case cases[] = {
      {OpKind::kAbs, -2, 2},           {OpKind::kNeg, -2, 2},
      {OpKind::kExp, 1, 2.7182817F},   {OpKind::kLog, 2.7182817F, 1},
      {OpKind::kSqrt, 9, 3},           {OpKind::kReciprocal, 4, 0.25F},
      {OpKind::kErf, 1, 0.8427008F},   {OpKind::kTanh, 0.5F, 0.46211716F},
      {OpKind::kSigmoid, 0, 0.5F},     {OpKind::kRelu, -1, 0},
      {OpKind::kSilu, 1, 0.73105858F}, {OpKind::kGelu, 1, 0.84134475F},
      {OpKind::kSigmoid, -200, 0},     {OpKind::kHardSwish, 1, 0.6666667F},
      {OpKind::kHardSwish, 4, 4},      {OpKind::kHardSwish, -4, 0},
  };
  for (const Case& c : cases) {
    const Floats y = run_one<float>(c.op, test_inputs(scalar(c.x)));
    ASSERT_EQ(y.size(), 1U) << to_string(c.op);
    EXPECT_NEAR(y[0], c.y, 1e-6F) << to_string(c.op);
    EXPECT_TRUE(std::isnan(run_one<float>(c.op, test_inputs(scalar(kNan))).at(0)))
        << to_string(c.op);
    EXPECT_TRUE(run_one<float>(c.op, test_inputs(row<float>({}))).empty());
  }
  expect_near(run_one<float>(OpKind::kGelu, test_inputs(scalar(1.0F)),
                             test_attributes({{"approximate", std::string("tanh")}})),
              {0.841192F}, 1e-6F);
}

TEST(ReferenceUnary, NotTakesAnyByteButZeroAsTrue) {
  Tensor odd = row<bool>({true, false});
  odd.mutable_view().bytes[0] = std::byte{2};
  EXPECT_THAT(run_one<bool>(OpKind::kNot, test_inputs(std::move(odd))), ElementsAre(false, true));
}

TEST(ReferenceUnary, IsNaN) {
  EXPECT_THAT(run_one<bool>(OpKind::kIsNaN, test_inputs(row<float>({kNan, kInf, -kNan, -0.0F}))),
              ElementsAre(true, false, true, false));
  EXPECT_TRUE(run_one<bool>(OpKind::kIsNaN, test_inputs(row<float>({}))).empty());
}

TEST(ReferenceClip, BoundsAreOptionalAndTheUpperOneWins) {
  EXPECT_THAT(run_one<I32>(OpKind::kClip,
                           test_inputs(row<I32>({-5, 0, 5}), scalar<I32>(-1), scalar<I32>(1))),
              ElementsAre(-1, 0, 1));
  EXPECT_THAT(
      run_one<I32>(OpKind::kClip, test_inputs(row<I32>({-5, 5}), std::nullopt, scalar<I32>(1))),
      ElementsAre(-5, 1));
  EXPECT_THAT(
      run_one<float>(OpKind::kClip, test_inputs(row<float>({-5, 5}), scalar(3.0F), scalar(2.0F))),
      ElementsAre(2, 2));
  // A bound that is left out is the type's lowest or greatest number, as in ONNX Runtime.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMax = std::numeric_limits<float>::max();
  const auto clip = [&](std::optional<Tensor> low, std::optional<Tensor> high) {
    return run_one<float>(OpKind::kClip, test_inputs(row<float>({-kInfinity, 0, kInfinity}),
                                                     std::move(low), std::move(high)));
  };
  EXPECT_THAT(clip(scalar(0.0F), std::nullopt), ElementsAre(0, 0, kMax));
  EXPECT_THAT(clip(std::nullopt, scalar(0.0F)), ElementsAre(-kMax, 0, 0));
  EXPECT_THAT(clip(std::nullopt, std::nullopt), ElementsAre(-kMax, 0, kMax));
  EXPECT_TRUE(std::isnan(
      run_one<float>(OpKind::kClip, test_inputs(scalar(kNan), scalar(0.0F), scalar(1.0F))).at(0)));
}

TEST(ReferenceCast, FloatsSaturateAndIntegersWrap) {
  const auto cast = [](I64 to) { return test_attributes({{"to", to}}); };
  const Floats x = {kNan, kInf, -kInf, 1e20F, -1.9F, 300.0F};
  EXPECT_THAT(run_one<I64>(OpKind::kCast, test_inputs(row(x)), cast(7)),
              ElementsAre(kMin64, kMax64, kMin64, kMax64, -1, 300));
  EXPECT_THAT(run_one<I32>(OpKind::kCast, test_inputs(row(x)), cast(6)),
              ElementsAre(kMin32, std::numeric_limits<I32>::max(), kMin32,
                          std::numeric_limits<I32>::max(), -1, 300));
  EXPECT_THAT(run_one<U8>(OpKind::kCast, test_inputs(row(x)), cast(2)),
              ElementsAre(0, 255, 0, 255, 0, 255));
  EXPECT_THAT(run_one<I8>(OpKind::kCast, test_inputs(row(x)), cast(3)),
              ElementsAre(0, 127, -128, 127, -1, 127));
  EXPECT_THAT(run_one<bool>(OpKind::kCast, test_inputs(row(x)), cast(9)),
              ElementsAre(true, true, true, true, true, true));
  EXPECT_THAT(run_one<I8>(OpKind::kCast, test_inputs(row<I64>({300, -129})), cast(3)),
              ElementsAre(44, 127));
  EXPECT_THAT(run_one<float>(OpKind::kCast, test_inputs(row<bool>({true, false})), cast(1)),
              ElementsAre(1, 0));
}

TEST(ReferenceArithmetic, BroadcastsBothWays) {
  // [2, 1] + [3] = [2, 3]
  EXPECT_THAT(run_one<float>(OpKind::kAdd, test_inputs(test_tensor<float>({2, 1}, {10, 20}),
                                                       row<float>({1, 2, 3}))),
              ElementsAre(11, 12, 13, 21, 22, 23));
  EXPECT_THAT(run_one<I32>(OpKind::kSub, test_inputs(scalar<I32>(1), row<I32>({1, 2}))),
              ElementsAre(0, -1));
  EXPECT_TRUE(
      run_one<float>(OpKind::kMul, test_inputs(test_tensor<float>({0, 2}, {}), row<float>({1, 2})))
          .empty());
}

TEST(ReferenceArithmetic, IntegersWrap) {
  EXPECT_THAT(run_one<U8>(OpKind::kAdd, test_inputs(row<U8>({250}), row<U8>({10}))),
              ElementsAre(4));
  EXPECT_THAT(run_one<I64>(OpKind::kMul, test_inputs(row<I64>({kMin64}), row<I64>({-1}))),
              ElementsAre(kMin64));
  EXPECT_THAT(run_one<I64>(OpKind::kSub, test_inputs(row<I64>({kMin64}), row<I64>({1}))),
              ElementsAre(kMax64));
}

TEST(ReferenceDiv, TruncatesAndRefusesZero) {
  EXPECT_THAT(
      run_one<I32>(OpKind::kDiv, test_inputs(row<I32>({7, -7, kMin32}), row<I32>({2, 2, -1}))),
      ElementsAre(3, -3, kMin32));
  EXPECT_EQ(error_of(OpKind::kDiv, test_inputs(row<I32>({1, 2}), row<I32>({1, 0}))).code,
            ErrorCode::kInvalidInput);
  EXPECT_EQ(run_one<float>(OpKind::kDiv, test_inputs(scalar(1.0F), scalar(0.0F))).at(0), kInf);
}

TEST(ReferenceMod, SignFollowsTheDivisorUnlessFmod) {
  const auto fmod = test_attributes({{"fmod", I64{1}}});
  const auto a = [] { return row<I32>({-7, 7, -6, kMin32}); };
  const auto b = [] { return row<I32>({3, -3, 3, -1}); };
  EXPECT_THAT(run_one<I32>(OpKind::kMod, test_inputs(a(), b())), ElementsAre(2, -2, 0, 0));
  EXPECT_THAT(run_one<I32>(OpKind::kMod, test_inputs(a(), b()), fmod), ElementsAre(-1, 1, 0, 0));
  EXPECT_THAT(run_one<U8>(OpKind::kMod, test_inputs(row<U8>({200}), row<U8>({7}))), ElementsAre(4));
  EXPECT_THAT(run_one<float>(OpKind::kMod, test_inputs(scalar(-7.5F), scalar(2.0F)), fmod),
              ElementsAre(-1.5F));
  EXPECT_EQ(error_of(OpKind::kMod, test_inputs(row<I64>({1}), row<I64>({0}))).code,
            ErrorCode::kInvalidInput);
}

TEST(ReferencePow, TypesMayDiffer) {
  EXPECT_THAT(run_one<float>(OpKind::kPow, test_inputs(row<float>({2, 3}), row<I32>({3, -1}))),
              ElementsAre(8, 1.0F / 3));
  EXPECT_THAT(
      run_one<I32>(OpKind::kPow, test_inputs(row<I32>({2, -1, -1, 7}), row<I32>({-1, -3, -4, 0}))),
      ElementsAre(0, -1, 1, 1));
  EXPECT_THAT(run_one<I64>(OpKind::kPow, test_inputs(row<I64>({2, 3}), row<I64>({64, 4}))),
              ElementsAre(0, 81));
  EXPECT_THAT(run_one<I32>(OpKind::kPow, test_inputs(row<I32>({9}), row<float>({0.5F}))),
              ElementsAre(3));
}

TEST(ReferenceMinMax, AnyNumberOfInputsAndNan) {
  EXPECT_THAT(run_one<I8>(OpKind::kMax, test_inputs(row<I8>({1, 5}), row<I8>({3}), scalar<I8>(2))),
              ElementsAre(3, 5));
  EXPECT_THAT(run_one<float>(OpKind::kMin, test_inputs(row<float>({4, -4}))), ElementsAre(4, -4));
  const Floats y =
      run_one<float>(OpKind::kMin, test_inputs(row<float>({kNan, 1}), row<float>({1, kNan})));
  EXPECT_TRUE(std::isnan(y.at(0)) && std::isnan(y.at(1)));
}

TEST(ReferenceCompare, AllRelations) {
  struct Case {
    OpKind op;
    std::vector<bool> expected;
  };
  const Case cases[] = {
      {OpKind::kEqual, {false, true, false, false}},
      {OpKind::kLess, {true, false, false, false}},
      {OpKind::kLessOrEqual, {true, true, false, false}},
      {OpKind::kGreater, {false, false, true, false}},
      {OpKind::kGreaterOrEqual, {false, true, true, false}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(run_one<bool>(c.op, test_inputs(row<float>({1, 2, 3, kNan}), scalar(2.0F))),
              c.expected)
        << to_string(c.op);
  }
  EXPECT_THAT(run_one<bool>(OpKind::kAnd, test_inputs(row<bool>({true, false}), scalar(true))),
              ElementsAre(true, false));
  EXPECT_THAT(run_one<bool>(OpKind::kOr, test_inputs(row<bool>({true, false}), scalar(false))),
              ElementsAre(true, false));
  EXPECT_THAT(run_one<bool>(OpKind::kEqual, test_inputs(row<bool>({true, false}), scalar(true))),
              ElementsAre(true, false));
}

TEST(ReferenceWhere, BroadcastsAllThree) {
  EXPECT_THAT(run_one<I64>(OpKind::kWhere, test_inputs(test_tensor<bool>({2, 1}, {true, false}),
                                                       row<I64>({1, 2}), scalar<I64>(9))),
              ElementsAre(1, 2, 9, 9));
  EXPECT_THAT(run_one<U8>(OpKind::kWhere, test_inputs(scalar(false), scalar<U8>(1), scalar<U8>(2))),
              ElementsAre(2));
}

TEST(ReferenceElementwise, TilesCoverBigTensors) {
  const std::int64_t count = 100'003;
  std::vector<I32> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<I32>(i);
  KernelRun run{OpKind::kAdd, test_inputs(row(x), scalar<I32>(1))};
  const auto outcome = run_kernel_tiles(run, KernelLibrary::kReference);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_GT(outcome->tiles, 1);
  for (I32& element : x) ++element;
  EXPECT_EQ(test_values<I32>(outcome->outputs[0]), x);
}

}  // namespace
}  // namespace parallax
