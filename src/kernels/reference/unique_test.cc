// Unique, Compress, and random numbers.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>

#include "kernels/reference/philox.h"
#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(ReferenceUnique, SortedOrByFirstOccurrence) {
  const auto run = [](std::int64_t sorted, std::size_t output) {
    return run_one<std::int64_t>(OpKind::kUnique, test_inputs(ints({2, 1, 1, 3, 4, 3})),
                                 test_attributes({{"sorted", sorted}}), 4, output);
  };
  EXPECT_THAT(run(1, 0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(run(1, 1), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(run(1, 2), ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(run(1, 3), ElementsAre(2, 1, 2, 1));
  EXPECT_THAT(run(0, 0), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(run(0, 1), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(run(0, 2), ElementsAre(0, 1, 1, 2, 3, 2));
  EXPECT_THAT(run(0, 3), ElementsAre(1, 2, 2, 1));
}

TEST(ReferenceUnique, SlicesAlongAnAxis) {
  const auto run = [](std::int64_t axis) {
    return run_one<float>(OpKind::kUnique,
                          test_inputs(test_tensor<float>({3, 3}, {2, 0, 2, 1, 0, 1, 2, 0, 2})),
                          on_axis(axis));
  };
  EXPECT_THAT(run(0), ElementsAre(1, 0, 1, 2, 0, 2));
  EXPECT_THAT(run(1), ElementsAre(0, 2, 0, 1, 0, 2));
  EXPECT_TRUE(run_one<float>(OpKind::kUnique, test_inputs(row<float>({}))).empty());
  EXPECT_EQ(run_one<float>(OpKind::kUnique, test_inputs(row<float>({kNan, 0, -0.0F, kNan}))).size(),
            2U);
}

TEST(ReferenceCompress, ShortConditionsChooseNothingBeyond) {
  EXPECT_THAT(run_one<float>(OpKind::kCompress, test_inputs(matrix(), row<bool>({false, true})),
                             on_axis(1)),
              ElementsAre(2, 5));
  EXPECT_THAT(run_one<float>(OpKind::kCompress,
                             test_inputs(matrix(), row<bool>({true, false, false, true}))),
              ElementsAre(1, 4));
  EXPECT_TRUE(run_one<float>(OpKind::kCompress, test_inputs(matrix(), row<bool>({}))).empty());
  EXPECT_EQ(error_of(OpKind::kCompress, test_inputs(matrix(), row<bool>({false, false, true})),
                     on_axis(0))
                .code,
            ErrorCode::kOutOfRange);
}

/// The known answers of the generator's authors, for counter and key of zeros and of ones.
TEST(Philox, GivesTheKnownNumbers) {
  EXPECT_THAT(philox(0, 0), ElementsAre(0x6627E8D5U, 0xE169C58DU, 0xBC57AC4CU, 0x9B00DBD8U));
}

Attributes seeded(std::vector<std::int64_t> shape) {
  return test_attributes({{"shape", std::move(shape)}, {"seed", 3.0F}});
}

TEST(ReferenceRandom, HasTheMomentsThatItShould) {
  constexpr std::int64_t kCount = 100000;
  const auto mean_of = [](const Floats& x, int power) {
    double sum = 0;
    for (const float v : x) sum += std::pow(static_cast<double>(v), power);
    return sum / static_cast<double>(x.size());
  };
  const Floats uniform = run_one<float>(OpKind::kRandomUniform, {}, seeded({kCount}));
  EXPECT_NEAR(mean_of(uniform, 1), 0.5, 0.01);
  EXPECT_NEAR(mean_of(uniform, 2), 1.0 / 3, 0.01);
  EXPECT_THAT(uniform, Each(testing::AllOf(testing::Ge(0.0F), testing::Lt(1.0F))));
  auto attributes = seeded({kCount});
  attributes.set("mean", 2.0F);
  attributes.set("scale", 3.0F);
  const Floats normal = run_one<float>(OpKind::kRandomNormal, {}, attributes);
  EXPECT_NEAR(mean_of(normal, 1), 2, 0.05);
  EXPECT_NEAR(mean_of(normal, 2), 4 + 9, 0.2);
  EXPECT_EQ(uniform, run_one<float>(OpKind::kRandomUniform, {}, seeded({kCount})));
  EXPECT_TRUE(run_one<float>(OpKind::kRandomUniform, {}, seeded({0})).empty());
}

TEST(ReferenceRandom, DrawsByProbability) {
  EXPECT_THAT(run_one<float>(OpKind::kBernoulli, test_inputs(row<float>({0, 1, 0, kNan}))),
              ElementsAre(0, 1, 0, 0));
  const auto samples = test_attributes({{"sample_size", std::int64_t{50}}});
  EXPECT_THAT(
      run_one<std::int32_t>(OpKind::kMultinomial,
                            test_inputs(test_tensor<float>({1, 3}, {-kInf, 5, -kInf})), samples),
      Each(1));
}

TEST(ReferenceDropout, DropsInTrainingAlone) {
  const auto run = [](float ratio, bool training) {
    return run_one<float>(OpKind::kDropout,
                          test_inputs(matrix(), scalar(ratio), scalar<bool>(training)), {}, 2);
  };
  EXPECT_THAT(run(0.5F, false), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(0, true), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(1, true), Each(0));
  EXPECT_EQ(
      error_of(OpKind::kDropout, test_inputs(matrix(), scalar(2.0F), scalar<bool>(true))).code,
      ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace parallax
