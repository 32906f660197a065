// DepthToSpace, SpaceToDepth, ReverseSequence, Col2Im.
#include <gmock/gmock.h>

#include <cstdint>
#include <numeric>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;

Attributes blocks_of_two(const char* mode) {
  return test_attributes({{"blocksize", std::int64_t{2}}, {"mode", std::string(mode)}});
}

Tensor counted(std::vector<std::int64_t> dims) {
  Dims shape;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    shape.push_back(dim);
    count *= dim;
  }
  std::vector<float> elements(static_cast<std::size_t>(count));
  std::iota(elements.begin(), elements.end(), 0.0F);
  return test_tensor<float>(shape, elements);
}

TEST(ReferenceBlocks, DepthBecomesSpaceInBothOrders) {
  EXPECT_THAT(run_one<float>(OpKind::kDepthToSpace, test_inputs(counted({1, 8, 1, 1})),
                             blocks_of_two("DCR")),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(run_one<float>(OpKind::kDepthToSpace, test_inputs(counted({1, 8, 1, 1})),
                             blocks_of_two("CRD")),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(run_one<float>(OpKind::kDepthToSpace, test_inputs(counted({1, 4, 1, 2})),
                             blocks_of_two("DCR")),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_TRUE(run_one<float>(OpKind::kDepthToSpace, test_inputs(counted({0, 4, 1, 2})),
                             blocks_of_two("DCR"))
                  .empty());
}

TEST(ReferenceBlocks, SpaceToDepthIsTheInverse) {
  for (const char* mode : {"DCR", "CRD"}) {
    const auto deep = run_one<float>(OpKind::kSpaceToDepth, test_inputs(counted({2, 3, 4, 6})),
                                     blocks_of_two(mode));
    const auto back =
        run_one<float>(OpKind::kDepthToSpace, test_inputs(test_tensor<float>({2, 12, 2, 3}, deep)),
                       blocks_of_two(mode));
    EXPECT_EQ(back, test_values<float>(counted({2, 3, 4, 6}))) << mode;
  }
}

TEST(ReferenceReverseSequence, KeepsWhatLiesBeyondTheLength) {
  EXPECT_THAT(
      run_one<float>(OpKind::kReverseSequence,
                     test_inputs(test_tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), ints({1, 2, 0}))),
      ElementsAre(1, 5, 3, 4, 2, 6));
  const auto batch_first =
      test_attributes({{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}});
  EXPECT_THAT(
      run_one<float>(OpKind::kReverseSequence, test_inputs(matrix(), ints({3, 2})), batch_first),
      ElementsAre(3, 2, 1, 5, 4, 6));
  for (const std::int64_t length : {-1, 4}) {
    EXPECT_EQ(
        error_of(OpKind::kReverseSequence, test_inputs(matrix(), ints({3, length})), batch_first)
            .code,
        ErrorCode::kInvalidInput);
  }
}

TEST(ReferenceCol2Im, AddsWhereBlocksMeet) {
  // Blocks of two of a line of three: the middle is in both.
  EXPECT_THAT(
      run_one<float>(OpKind::kCol2Im, test_inputs(test_tensor<float>({1, 2, 2}, {1, 2, 3, 4}),
                                                  ints({3}), ints({2}))),
      ElementsAre(1, 2 + 3, 4));
  const auto padded = test_attributes(
      {{"pads", std::vector<std::int64_t>{1, 1}}, {"strides", std::vector<std::int64_t>{2}}});
  EXPECT_THAT(
      run_one<float>(OpKind::kCol2Im,
                     test_inputs(test_tensor<float>({1, 2, 2}, {1, 2, 3, 4}), ints({2}), ints({2})),
                     padded),
      ElementsAre(3, 2));
  EXPECT_EQ(error_of(OpKind::kCol2Im, test_inputs(test_tensor<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}),
                                                  ints({3}), ints({2})))
                .code,
            ErrorCode::kInvalidModel);
}

}  // namespace
}  // namespace parallax
