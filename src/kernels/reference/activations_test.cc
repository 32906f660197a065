// Activations, trigonometry, rounding, bits, powers.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::IsNan;

Attributes numbers(std::initializer_list<std::pair<const char*, float>> list) {
  Attributes attributes;
  for (const auto& [name, value] : list) attributes.set(name, value);
  return attributes;
}

TEST(ReferenceActivation, ValuesByHand) {
  struct Case {
    OpKind op;
    Attributes attributes;
    float x, y;
  };
  const Case cases[] = {
      {OpKind::kLeakyRelu, {}, -2, -0.02F},
      {OpKind::kLeakyRelu, numbers({{"alpha", 0.5F}}), -2, -1},
      {OpKind::kElu, {}, -1, -0.63212056F},
      {OpKind::kElu, numbers({{"alpha", 2}}), 3, 3},
      {OpKind::kCelu, numbers({{"alpha", 2}}), -1, -0.7869387F},
      {OpKind::kCelu, {}, 4, 4},
      {OpKind::kSelu, {}, 1, 1.050701F},
      {OpKind::kSelu, {}, -1, -1.1113307F},
      {OpKind::kHardSigmoid, {}, 1, 0.7F},
      {OpKind::kHardSigmoid, numbers({{"alpha", 1}, {"beta", 0}}), -3, 0},
      {OpKind::kSoftplus, {}, 0, 0.6931472F},
      {OpKind::kSoftplus, {}, 200, 200},
      {OpKind::kSoftplus, {}, -200, 0},
      {OpKind::kSoftsign, {}, -3, -0.75F},
      {OpKind::kMish, {}, 1, 0.86509836F},
      {OpKind::kAcos, {}, 0.5F, 1.0471976F},
      {OpKind::kAcosh, {}, 2, 1.3169579F},
      {OpKind::kAsin, {}, 0.5F, 0.5235988F},
      {OpKind::kAsinh, {}, 2, 1.4436355F},
      {OpKind::kAtan, {}, 1, 0.7853982F},
      {OpKind::kAtanh, {}, 0.5F, 0.5493061F},
      {OpKind::kCos, {}, 1, 0.5403023F},
      {OpKind::kCosh, {}, 1, 1.5430807F},
      {OpKind::kSin, {}, 1, 0.841471F},
      {OpKind::kSinh, {}, 1, 1.1752012F},
      {OpKind::kTan, {}, 1, 1.5574077F},
      {OpKind::kCeil, {}, -1.5F, -1},
      {OpKind::kFloor, {}, -1.5F, -2},
      {OpKind::kSign, {}, -7, -1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.op));
    expect_near(run_one<float>(c.op, test_inputs(scalar(c.x)), c.attributes), {c.y}, 1e-5F);
    EXPECT_THAT(run_one<float>(c.op, test_inputs(scalar(kNan)), c.attributes),
                ElementsAre(IsNan()));
    EXPECT_TRUE(run_one<float>(c.op, test_inputs(row<float>({})), c.attributes).empty());
  }
}

TEST(ReferenceActivation, ThresholdsTakeNoNumberAsBelow) {
  EXPECT_THAT(run_one<float>(OpKind::kThresholdedRelu, test_inputs(row<float>({1, 1.5F, kNan})),
                             numbers({{"alpha", 1}})),
              ElementsAre(0, 1.5F, 0));
  EXPECT_THAT(run_one<float>(OpKind::kShrink, test_inputs(row<float>({-2, -0.5F, 0.5F, 2, kNan})),
                             numbers({{"lambd", 1}, {"bias", 0.5F}})),
              ElementsAre(-1.5F, 0, 0, 1.5F, 0));
  EXPECT_THAT(run_one<std::int8_t>(OpKind::kShrink, test_inputs(row<std::int8_t>({-128, 0, 5})),
                                   numbers({{"lambd", 1.9F}, {"bias", 1}})),
              ElementsAre(-127, 0, 4));
  EXPECT_THAT(run_one<std::int8_t>(OpKind::kShrink, test_inputs(row<std::int8_t>({-8, -2, 2, 5})),
                                   numbers({{"lambd", 1.5F}, {"bias", 1.5F}})),
              ElementsAre(-6, 0, 0, 3));
}

TEST(ReferenceRounding, HalvesGoToTheEvenNeighbour) {
  EXPECT_THAT(run_one<float>(OpKind::kRound,
                             test_inputs(row<float>({0.5F, 1.5F, 2.5F, -0.5F, 0.9F, -kInf}))),
              ElementsAre(0, 2, 2, 0, 1, -kInf));
  EXPECT_THAT(run_one<std::uint8_t>(OpKind::kSign, test_inputs(row<std::uint8_t>({0, 200}))),
              ElementsAre(0, 1));
}

TEST(ReferenceIsInf, TellsSignsApart) {
  const auto run = [](Attributes attributes) {
    return run_one<bool>(OpKind::kIsInf, test_inputs(row<float>({kInf, -kInf, kNan, 1})),
                         std::move(attributes));
  };
  EXPECT_THAT(run({}), ElementsAre(true, true, false, false));
  EXPECT_THAT(run(test_attributes({{"detect_negative", std::int64_t{0}}})),
              ElementsAre(true, false, false, false));
  EXPECT_THAT(run(test_attributes({{"detect_positive", std::int64_t{0}}})),
              ElementsAre(false, true, false, false));
}

TEST(ReferenceBits, LogicOfIntegers) {
  const auto run = [](OpKind op) {
    return run_one<std::uint8_t>(
        op, test_inputs(row<std::uint8_t>({12, 255}), row<std::uint8_t>({10})));
  };
  EXPECT_THAT(run(OpKind::kBitwiseAnd), ElementsAre(8, 10));
  EXPECT_THAT(run(OpKind::kBitwiseOr), ElementsAre(14, 255));
  EXPECT_THAT(run(OpKind::kBitwiseXor), ElementsAre(6, 245));
  EXPECT_THAT(run_one<std::int32_t>(OpKind::kBitwiseNot, test_inputs(row<std::int32_t>({0, 5}))),
              ElementsAre(-1, -6));
  EXPECT_THAT(run_one<bool>(OpKind::kXor, test_inputs(row<bool>({true, false}), row<bool>({true}))),
              ElementsAre(false, true));
}

TEST(ReferenceBits, ShiftsBeyondTheWidthLeaveWhatIsShiftedIn) {
  const auto shift = [](const char* direction, std::vector<std::int32_t> by) {
    return run_one<std::int32_t>(OpKind::kBitShift,
                                 test_inputs(row<std::int32_t>({-8, 8, 1}), row(by)),
                                 test_attributes({{"direction", std::string(direction)}}));
  };
  EXPECT_THAT(shift("RIGHT", {1, 1, 0}), ElementsAre(-4, 4, 1));
  EXPECT_THAT(shift("RIGHT", {32, 32, -1}), ElementsAre(-1, 0, 0));
  EXPECT_THAT(shift("LEFT", {1, 31, 31}),
              ElementsAre(-16, 0, std::numeric_limits<std::int32_t>::min()));
  EXPECT_THAT(shift("LEFT", {32, -1, std::numeric_limits<std::int32_t>::max()}),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(run_one<std::uint8_t>(
                  OpKind::kBitShift,
                  test_inputs(row<std::uint8_t>({200, 200, 200}), row<std::uint8_t>({3, 8, 255})),
                  test_attributes({{"direction", std::string("RIGHT")}})),
              ElementsAre(25, 0, 0));
}

TEST(ReferencePRelu, BroadcastsItsSlope) {
  EXPECT_THAT(run_one<float>(OpKind::kPRelu, test_inputs(test_tensor<float>({2, 2}, {-1, 2, -3, 4}),
                                                         test_tensor<float>({2, 1}, {0.5F, 2}))),
              ElementsAre(-0.5F, 2, -6, 4));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kPRelu, test_inputs(ints({-3, 3}), ints({2}))),
              ElementsAre(-6, 3));
}

TEST(ReferenceMod, FloatsFollowTheDivisorToo) {
  EXPECT_THAT(run_one<float>(OpKind::kMod, test_inputs(row<float>({-7, 7, 1, -1, kInf, 1, -0.0F}),
                                                       row<float>({3, -3, kInf, kInf, 2, 0, 5}))),
              ElementsAre(2, -2, 1, kInf, IsNan(), IsNan(), 0));
}

TEST(ReferencePow, TakesEachTypeOfExponent) {
  EXPECT_THAT(
      run_one<float>(OpKind::kPow, test_inputs(row<float>({2, 3}), row<std::int8_t>({3, -1}))),
      ElementsAre(8, 1.0F / 3));
  EXPECT_THAT(run_one<std::int32_t>(OpKind::kPow, test_inputs(row<std::int32_t>({2, 9, 2}),
                                                              row<float>({3, 0.5F, kNan}))),
              ElementsAre(8, 3, std::numeric_limits<std::int32_t>::min()));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kPow,
                                    test_inputs(ints({-1, 3, 2}), row<std::uint8_t>({255, 2, 64}))),
              ElementsAre(-1, 9, 0));
}

}  // namespace
}  // namespace parallax
