// NonZero and NonMaxSuppression.
#include <gmock/gmock.h>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;

TEST(ReferenceNonZero, GivesIndicesPerAxis) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kNonZero,
                                    test_inputs(test_tensor<float>({2, 2}, {1, 0, kNan, -2}))),
              ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_TRUE(run_one<std::int64_t>(OpKind::kNonZero, test_inputs(row<bool>({false}))).empty());
  EXPECT_TRUE(
      run_one<std::int64_t>(OpKind::kNonZero, test_inputs(test_tensor<float>({0, 2}, {}))).empty());
  const auto result = run_kernel({OpKind::kNonZero, test_inputs(scalar<std::int64_t>(5))},
                                 KernelLibrary::kReference);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->at(0).dims(), (Dims{0, 1}));
}

/// Three boxes: the second overlaps the first by 0.9 / 1.1 of the union, the third lies apart.
Tensor boxes() {
  return test_tensor<float>({1, 3, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11});
}
Tensor scores() { return test_tensor<float>({1, 1, 3}, {0.9F, 0.95F, 0.5F}); }

TEST(ReferenceNonMaxSuppression, DropsOverlapsAndLowScores) {
  const auto run = [](std::int64_t most, float iou, float score) {
    return run_one<std::int64_t>(
        OpKind::kNonMaxSuppression,
        test_inputs(boxes(), scores(), scalar(most), scalar(iou), scalar(score)));
  };
  EXPECT_THAT(run(10, 0.5F, 0.0F), ElementsAre(0, 0, 1, 0, 0, 2));
  EXPECT_THAT(run(10, 0.85F, 0.0F), ElementsAre(0, 0, 1, 0, 0, 0, 0, 0, 2));
  EXPECT_THAT(run(1, 0.5F, 0.0F), ElementsAre(0, 0, 1));
  EXPECT_THAT(run(10, 0.5F, 0.5F), ElementsAre(0, 0, 1));
  EXPECT_TRUE(run(0, 0.5F, 0.0F).empty());
  EXPECT_TRUE(run(-1, 0.5F, 0.0F).empty());
}

TEST(ReferenceNonMaxSuppression, OptionalInputsAndConstants) {
  EXPECT_TRUE(
      run_one<std::int64_t>(OpKind::kNonMaxSuppression, test_inputs(boxes(), scores())).empty());
  // A limit known when the kernel is made, and two classes of which each keeps its own.
  KernelRun run{
      OpKind::kNonMaxSuppression,
      test_inputs(boxes(), test_tensor<float>({1, 2, 3}, {0.9F, 0.95F, 0.5F, kNan, 0.1F, 0.2F}),
                  ints({1})),
      {},
      1,
      0b100};
  const auto result = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(test_values<std::int64_t>(result->at(0)), ElementsAre(0, 0, 1, 0, 1, 2));
}

TEST(ReferenceNonMaxSuppression, CornersInAnyOrderAndCenters) {
  const auto flipped = [] { return test_tensor<float>({1, 2, 4}, {1, 1, 0, 0, 0, 0, 1, 1}); };
  const auto equal = [] { return test_tensor<float>({1, 1, 2}, {0.5F, 0.5F}); };
  EXPECT_THAT(
      run_one<std::int64_t>(OpKind::kNonMaxSuppression, test_inputs(flipped(), equal(), ints({5}))),
      ElementsAre(0, 0, 0));
  // As (x, y, width, height) the first has no area and overlaps nothing.
  EXPECT_THAT(
      run_one<std::int64_t>(OpKind::kNonMaxSuppression, test_inputs(flipped(), equal(), ints({5})),
                            test_attributes({{"center_point_box", std::int64_t{1}}})),
      ElementsAre(0, 0, 0, 0, 0, 1));
}

TEST(ReferenceNonMaxSuppression, RefusesAThresholdThatIsNone) {
  EXPECT_EQ(
      error_of(OpKind::kNonMaxSuppression, test_inputs(boxes(), scores(), ints({5}), scalar(kNan)))
          .code,
      ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace parallax
