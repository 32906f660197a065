// Tests the NaN check of `verify` on made-up results: the library has no known fault to show it.
#include "nan_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "difference.h"
#include "session/session_test_util.h"

namespace parallax::cli {
namespace {

constexpr std::string_view kHead = R"(
    input x f32 [3]
    const zero f32 [3] = fill 0
    const one f32 [3] = fill 1
    const i i64 [1] = [0]
    more = Greater(x, zero)
    m = Cast(more) {to = 1}
)";

/// 1 where x is positive; a comparison with NaN is false.
Model losing() { return model_of(std::string(kHead) + "y = Identity(m)\noutput y"); }
/// The same, and NaN where x is.
Model keeping() {
  return model_of(std::string(kHead) + "n = Mul(x, zero)\ny = Add(m, n)\noutput y");
}
/// NaN wherever x has one.
Model spreading() {
  return model_of(std::string(kHead) +
                  "s = ReduceSum(x, i)\nn = Mul(s, zero)\ny = Add(m, n)\noutput y");
}
/// Refuses a NaN, which becomes an index far outside.
Model refusing() {
  return model_of(std::string(kHead) +
                  "n = Mul(x, zero)\nj = Cast(n) {to = 7}\ny = Gather(m, j)\noutput y");
}

Status check(const Model& ours, const Model& oracle) {
  Tensor x = *Tensor::allocate(DType::kF32, {3});
  for (int i = 0; i < 3; ++i) x.mutable_view().as<float>()[i] = 0.5F;
  const NamedInput input{"x", x.view()};
  return check_nan(ours, oracle, {.threads = 1}, {&input, 1});
}

TEST(NanCheck, SeesNanThatIsLost) {
  for (const auto& [oracle, count] : {std::pair(keeping(), "1 elements of output 'y' are numbers"),
                                      {spreading(), "3 elements of output 'y' are numbers"}}) {
    const Status lost = check(losing(), oracle);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::kInternal);
    EXPECT_THAT(lost.error().message, testing::StartsWith(count));
  }
  ASSERT_FALSE(check(keeping(), spreading()));
  EXPECT_THAT(check(keeping(), spreading()).error().message, testing::StartsWith("2 elements"));
}

TEST(NanCheck, MoreNanIsNoneThatIsLost) {
  EXPECT_TRUE(check(losing(), losing()));
  EXPECT_TRUE(check(keeping(), keeping()));
  EXPECT_TRUE(check(keeping(), losing()));
  EXPECT_TRUE(check(spreading(), keeping()));
}

TEST(NanCheck, WhoRefusesNanIsAskedNothing) {
  EXPECT_TRUE(check(losing(), refusing()));
  const Status refused = check(refusing(), keeping());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
}

TEST(Difference, OfWhatIsNoFiniteNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto between = [](float ours, float oracle) {
    const auto view = [](const std::vector<float>& values) {
      return TensorView{DType::kF32, {2}, std::as_bytes(std::span(values))};
    };
    const std::vector<float> a = {1, ours}, b = {1, oracle};
    return difference(view(a), view(b));
  };
  for (const float same : {kInfinity, -kInfinity, kNan}) {
    EXPECT_FALSE(between(same, same).apart) << same;
    EXPECT_EQ(between(same, same).largest, 0);
  }
  for (const auto& [ours, oracle] : {std::pair(kInfinity, -kInfinity),
                                     {kNan, kInfinity},
                                     {kInfinity, kNan},
                                     {kNan, 1.F},
                                     {1.F, kNan},
                                     {kInfinity, 1.F},
                                     {1.F, -kInfinity}}) {
    EXPECT_TRUE(between(ours, oracle).apart) << ours << ' ' << oracle;
    EXPECT_EQ(between(ours, oracle).relative, std::numeric_limits<double>::infinity());
  }
  EXPECT_DOUBLE_EQ(between(3, 2).relative, 0.5);
}

TEST(Difference, OfIntegersThatSayAmounts) {
  const auto between = [](DType dtype, std::vector<std::uint8_t> a, std::vector<std::uint8_t> b) {
    const auto view = [dtype](const std::vector<std::uint8_t>& bytes) {
      const std::int64_t size = info_of(dtype).bits / 8;
      return TensorView{dtype, {std::ssize(bytes) / size}, std::as_bytes(std::span(bytes))};
    };
    return difference(view(a), view(b));
  };
  EXPECT_DOUBLE_EQ(between(DType::kU8, {3, 200}, {1, 200}).relative, 0.01);
  EXPECT_DOUBLE_EQ(between(DType::kI8, {3, 255}, {1, 255}).relative, 2.0 / 128);
  EXPECT_TRUE(between(DType::kU16, {3, 0}, {1, 0}).apart);
  EXPECT_TRUE(between(DType::kBool, {1, 0}, {1, 1}).apart);
}

}  // namespace
}  // namespace parallax::cli
