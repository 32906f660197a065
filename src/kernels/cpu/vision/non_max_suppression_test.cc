#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

/// Corners on a coarse grid, so that equal boxes and equal overlaps occur, some without area, some
/// NaN or infinite.
Tensor random_boxes(std::int64_t batches, std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> place(0, 40), special(0, 200);
  std::vector<float> elements(static_cast<std::size_t>(batches * count * 4));
  for (float& x : elements) {
    const int kind = special(generator);
    x = static_cast<float>(place(generator)) * 0.1F;
    if (kind == 0) x = std::numeric_limits<float>::quiet_NaN();
    if (kind == 1) x = std::numeric_limits<float>::infinity();
    if (kind == 2) x = -x;
  }
  return test_tensor<float>({batches, count, 4}, elements);
}

/// Returns scores with few distinct values, so that most are ties; both zeros and NaN among them.
Tensor random_scores(const Dims& dims, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> level(-5, 30);
  std::vector<float> elements(static_cast<std::size_t>(dims.elements()));
  for (float& x : elements) {
    const int kind = level(generator);
    x = static_cast<float>(kind) * 0.0625F;
    if (kind == 1) x = -0.0F;
    if (kind == 2) x = std::numeric_limits<float>::quiet_NaN();
  }
  return test_tensor<float>(dims, elements);
}

TEST(CpuNonMaxSuppression, ChoosesAsTheReference) {
  for (const std::int64_t boxes : {0, 1, 5, 64, 65, 700}) {
    for (const std::int64_t center : {0, 1}) {
      for (const float iou : {0.0F, 0.3F, 0.5F, 1.0F}) {
        for (const std::int64_t most : {-1, 0, 3, 1000}) {
          SCOPED_TRACE(testing::Message() << boxes << " boxes, center " << center << ", iou " << iou
                                          << ", at most " << most);
          KernelRun run{
              OpKind::kNonMaxSuppression,
              test_inputs(random_boxes(2, boxes, 7), random_scores({2, 3, boxes}, 8),
                          test_tensor<std::int64_t>({1}, {most}), test_tensor<float>({1}, {iou})),
              test_attributes({{"center_point_box", center}})};
          expect_same_as_reference(run);
          run.inputs.emplace_back(test_tensor<float>({1}, {0.125F}));
          expect_same_as_reference(run);
          run.constants = 0b11100;
          expect_same_as_reference(run);
        }
      }
    }
  }
}

TEST(CpuNonMaxSuppression, ManyBoxesOfRandomSize) {
  for (const float iou : {0.1F, 0.45F, 0.7F}) {
    expect_same_as_reference(
        {OpKind::kNonMaxSuppression,
         test_inputs(random_floats({1, 3000, 4}, 1, 0, 1), random_floats({1, 1, 3000}, 2, 0, 1),
                     test_tensor<std::int64_t>({1}, {3000}), test_tensor<float>({1}, {iou}))});
  }
}

TEST(CpuNonMaxSuppression, OptionalInputsAndBadThresholds) {
  KernelRun run{OpKind::kNonMaxSuppression,
                test_inputs(random_boxes(1, 9, 1), random_scores({1, 1, 9}, 2))};
  expect_same_as_reference(run);
  run.inputs.emplace_back(test_tensor<std::int64_t>({1}, {9}));
  expect_same_as_reference(run);
  run.inputs.emplace_back(test_tensor<float>({1}, {1.5F}));
  const auto result = run_kernel(run, KernelLibrary::kCpu);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace parallax
