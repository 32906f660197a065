#include <gmock/gmock.h>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReferenceGather, PicksAlongAnyAxis) {
  EXPECT_THAT(run_one<float>(OpKind::kGather, test_inputs(matrix(), ints({-1, 0})), on_axis(0)),
              ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(run_one<float>(OpKind::kGather, test_inputs(matrix(), row<std::int32_t>({2, -3})),
                             on_axis(-1)),
              ElementsAre(3, 1, 6, 4));
  EXPECT_THAT(
      run_one<float>(OpKind::kGather, test_inputs(matrix(), scalar<std::int64_t>(1)), on_axis(1)),
      ElementsAre(2, 5));
  EXPECT_TRUE(run_one<float>(OpKind::kGather, test_inputs(matrix(), ints({})), on_axis(0)).empty());
}

TEST(ReferenceGather, NamesIndexAxisAndDimension) {
  for (const std::int64_t index :
       {std::int64_t{3}, std::int64_t{-4}, std::numeric_limits<std::int64_t>::min()}) {
    const Error error =
        error_of(OpKind::kGather, test_inputs(matrix(), ints({0, index})), on_axis(1));
    EXPECT_EQ(error.code, ErrorCode::kOutOfRange);
    EXPECT_THAT(error.message,
                HasSubstr("index " + std::to_string(index) + " is out of range for axis 1 of 3"));
  }
}

TEST(ReferenceGatherNd, WithAndWithoutBatch) {
  EXPECT_THAT(run_one<float>(OpKind::kGatherND, test_inputs(matrix(), test_tensor<std::int64_t>(
                                                                          {2, 2}, {0, 1, -1, -1}))),
              ElementsAre(2, 6));
  EXPECT_THAT(run_one<float>(OpKind::kGatherND,
                             test_inputs(matrix(), test_tensor<std::int64_t>({1, 1}, {1}))),
              ElementsAre(4, 5, 6));
  EXPECT_THAT(run_one<float>(OpKind::kGatherND,
                             test_inputs(matrix(), test_tensor<std::int64_t>({2, 1}, {2, 0})),
                             test_attributes({{"batch_dims", std::int64_t{1}}})),
              ElementsAre(3, 4));
  const Error error =
      error_of(OpKind::kGatherND, test_inputs(matrix(), test_tensor<std::int64_t>({1, 2}, {0, 7})));
  EXPECT_EQ(error.code, ErrorCode::kOutOfRange);
  EXPECT_THAT(error.message, HasSubstr("axis 1"));
}

TEST(ReferenceScatterNd, AllReductions) {
  struct Case {
    const char* reduction;
    Floats expected;
  };
  const Case cases[] = {{"none", {1, 7, 3, 9}},
                        {"add", {1, 14, 3, 13}},
                        {"mul", {1, 70, 3, 36}},
                        {"min", {1, 2, 3, 4}},
                        {"max", {1, 7, 3, 9}}};
  for (const Case& c : cases) {
    EXPECT_EQ(run_one<float>(
                  OpKind::kScatterND,
                  test_inputs(row<float>({1, 2, 3, 4}),
                              test_tensor<std::int64_t>({3, 1}, {1, -1, 1}), row<float>({5, 9, 7})),
                  test_attributes({{"reduction", std::string(c.reduction)}})),
              c.expected)
        << c.reduction;
  }
  const auto of_bools = [](const char* reduction) {
    return run_one<bool>(OpKind::kScatterND,
                         test_inputs(test_tensor<bool>({4}, {false, false, true, true}),
                                     test_tensor<std::int64_t>({4, 1}, {0, 1, 2, 3}),
                                     test_tensor<bool>({4}, {false, true, false, true})),
                         test_attributes({{"reduction", std::string(reduction)}}));
  };
  for (const char* either : {"add", "max"})
    EXPECT_THAT(of_bools(either), ElementsAre(false, true, true, true)) << either;
  for (const char* both : {"mul", "min"})
    EXPECT_THAT(of_bools(both), ElementsAre(false, false, false, true)) << both;
  // A row at a time.
  EXPECT_THAT(run_one<float>(OpKind::kScatterND,
                             test_inputs(matrix(), test_tensor<std::int64_t>({1, 1}, {1}),
                                         test_tensor<float>({1, 3}, {7, 8, 9}))),
              ElementsAre(1, 2, 3, 7, 8, 9));
  EXPECT_EQ(error_of(OpKind::kScatterND,
                     test_inputs(row<float>({1}), test_tensor<std::int64_t>({1, 1}, {1}),
                                 row<float>({5})))
                .code,
            ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace parallax
