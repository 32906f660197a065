// GatherElements, ScatterElements, TensorScatter, OneHot, EyeLike, Trilu.
#include <gmock/gmock.h>

#include <cstdint>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;

Tensor pairs(Dims dims, const Ints& indices) { return test_tensor<std::int64_t>(dims, indices); }

TEST(ReferenceGatherElements, PicksOneByOne) {
  EXPECT_THAT(run_one<float>(OpKind::kGatherElements,
                             test_inputs(matrix(), pairs({2, 2}, {0, -1, 2, 0})), on_axis(1)),
              ElementsAre(1, 3, 6, 4));
  EXPECT_THAT(run_one<float>(OpKind::kGatherElements,
                             test_inputs(matrix(), pairs({3, 2}, {1, 0, 0, 0, -1, 1}))),
              ElementsAre(4, 2, 1, 2, 4, 5));
  EXPECT_TRUE(
      run_one<float>(OpKind::kGatherElements, test_inputs(matrix(), pairs({0, 3}, {}))).empty());
  for (const std::int64_t index : {3, -4}) {
    EXPECT_EQ(
        error_of(OpKind::kGatherElements, test_inputs(matrix(), pairs({1, 1}, {index})), on_axis(1))
            .code,
        ErrorCode::kOutOfRange);
  }
}

TEST(ReferenceScatterElements, ReplacesOrReduces) {
  const auto scatter = [](const char* reduction) {
    auto attributes = on_axis(0);
    attributes.set("reduction", std::string(reduction));
    return run_one<float>(
        OpKind::kScatterElements,
        test_inputs(row<float>({1, 2, 3}), ints({0, -1, 0}), row<float>({5, 2, -4})), attributes);
  };
  EXPECT_THAT(scatter("none"), ElementsAre(-4, 2, 2));
  EXPECT_THAT(scatter("add"), ElementsAre(2, 2, 5));
  EXPECT_THAT(scatter("mul"), ElementsAre(-20, 2, 6));
  EXPECT_THAT(scatter("max"), ElementsAre(5, 2, 3));
  EXPECT_THAT(scatter("min"), ElementsAre(-4, 2, 2));
  EXPECT_EQ(
      error_of(OpKind::kScatterElements, test_inputs(row<float>({1}), ints({1}), row<float>({5})))
          .code,
      ErrorCode::kOutOfRange);
}

TEST(ReferenceTensorScatter, WritesFromAnIndexOn) {
  const auto run = [](const char* mode, std::int64_t index) {
    return KernelRun{OpKind::kTensorScatter,
                     test_inputs(test_tensor<float>({1, 3, 1}, {1, 2, 3}),
                                 test_tensor<float>({1, 2, 1}, {8, 9}), ints({index})),
                     test_attributes({{"mode", std::string(mode)}})};
  };
  const auto values = [&](const char* mode, std::int64_t index) {
    const auto result = run_kernel(run(mode, index), KernelLibrary::kReference);
    return result ? test_values<float>(result->at(0)) : Floats{};
  };
  EXPECT_THAT(values("linear", 1), ElementsAre(1, 8, 9));
  EXPECT_TRUE(values("linear", 2).empty());
  EXPECT_TRUE(values("linear", -1).empty());
  EXPECT_THAT(values("circular", 2), ElementsAre(9, 2, 8));
  EXPECT_THAT(values("circular", std::numeric_limits<std::int64_t>::min()), ElementsAre(1, 8, 9));
  EXPECT_THAT(
      run_one<float>(OpKind::kTensorScatter, test_inputs(test_tensor<float>({1, 3, 1}, {1, 2, 3}),
                                                         test_tensor<float>({1, 2, 1}, {8, 9}))),
      ElementsAre(8, 9, 3));
}

TEST(ReferenceOneHot, IndicesOutsideLeaveAllOff) {
  EXPECT_THAT(
      run_one<float>(OpKind::kOneHot, test_inputs(ints({1, -1, 3, -4}), scalar<std::int64_t>(3),
                                                  row<float>({2, 5}))),
      ElementsAre(2, 5, 2, 2, 2, 5, 2, 2, 2, 2, 2, 2));
  EXPECT_THAT(
      run_one<bool>(OpKind::kOneHot,
                    test_inputs(row<float>({1, kNan}), scalar(2.0F), row<bool>({false, true})),
                    on_axis(0)),
      ElementsAre(false, false, true, false));
  EXPECT_TRUE(run_one<float>(OpKind::kOneHot,
                             test_inputs(ints({0}), scalar<std::int64_t>(0), row<float>({2, 5})))
                  .empty());
}

TEST(ReferenceEyeLike, HasOneDiagonal) {
  const auto k = [](std::int64_t diagonal) { return test_attributes({{"k", diagonal}}); };
  EXPECT_THAT(run_one<float>(OpKind::kEyeLike, test_inputs(matrix()), k(1)),
              ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(run_one<float>(OpKind::kEyeLike, test_inputs(matrix()),
                             k(std::numeric_limits<std::int64_t>::min())),
              ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(ReferenceTrilu, KeepsOneSide) {
  const auto run = [](std::int64_t upper, std::int64_t k) {
    return run_one<float>(OpKind::kTrilu, test_inputs(matrix(), scalar(k)),
                          test_attributes({{"upper", upper}}));
  };
  EXPECT_THAT(run(1, 0), ElementsAre(1, 2, 3, 0, 5, 6));
  EXPECT_THAT(run(1, 1), ElementsAre(0, 2, 3, 0, 0, 6));
  EXPECT_THAT(run(0, 0), ElementsAre(1, 0, 0, 4, 5, 0));
  EXPECT_THAT(run(0, -1), ElementsAre(0, 0, 0, 4, 0, 0));
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(run(1, kMin), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(0, kMax), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(1, kMax), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(run(0, kMin), ElementsAre(0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace parallax
