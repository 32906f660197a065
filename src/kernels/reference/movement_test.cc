// Views, Transpose, Expand, Slice, Concat, Split, Tile, Pad, and what makes tensors: Shape,
// ConstantOfShape, Range.
#include <gmock/gmock.h>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using U8 = std::uint8_t;

Tensor from_zero(const Dims& dims) {
  Ints elements(static_cast<std::size_t>(dims.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::int64_t>(i);
  return test_tensor<std::int64_t>(dims, elements);
}

TEST(ReferenceView, CopiesTheBytes) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kReshape, test_inputs(from_zero({2, 2}), ints({4}))),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(run_one<U8>(OpKind::kIdentity, test_inputs(scalar<U8>(7))), ElementsAre(7));
  EXPECT_TRUE(
      run_one<float>(OpKind::kFlatten, test_inputs(test_tensor<float>({0, 3}, {}))).empty());
}

TEST(ReferenceTranspose, PermutesAxes) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kTranspose, test_inputs(from_zero({2, 3}))),
              ElementsAre(0, 3, 1, 4, 2, 5));
  const auto perm = test_attributes({{"perm", Ints{1, 0, 2}}});
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kTranspose, test_inputs(from_zero({2, 2, 2})), perm),
              ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  EXPECT_THAT(run_one<U8>(OpKind::kTranspose, test_inputs(scalar<U8>(7))), ElementsAre(7));
}

TEST(ReferenceExpand, RepeatsAxesOfSizeOne) {
  EXPECT_THAT(
      run_one<std::int64_t>(OpKind::kExpand, test_inputs(from_zero({2, 1}), ints({2, 1, 2}))),
      ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kExpand, test_inputs(from_zero({3}), ints({1}))),
              ElementsAre(0, 1, 2));
}

TEST(ReferenceSlice, StartsEndsAxesSteps) {
  struct Case {
    Ints starts, ends, axes, steps, expected;
  };
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  const Case cases[] = {
      {{1}, {3}, {0}, {1}, {1, 2}},
      {{-2}, {far}, {0}, {1}, {3, 4}},
      {{4}, {low}, {-1}, {-2}, {4, 2, 0}},
      {{far}, {low}, {0}, {-1}, {4, 3, 2, 1, 0}},
      {{-1}, {low}, {0}, {low}, {4}},
      {{3}, {1}, {0}, {1}, {}},
      {{7}, {9}, {0}, {1}, {}},
      {{0}, {far}, {0}, {far}, {0}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(run_one<std::int64_t>(OpKind::kSlice,
                                    test_inputs(from_zero({5}), ints(c.starts), ints(c.ends),
                                                ints(c.axes), ints(c.steps))),
              c.expected)
        << testing::PrintToString(c.starts) << testing::PrintToString(c.steps);
  }
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kSlice,
                                    test_inputs(from_zero({2, 3}), row<std::int32_t>({1}),
                                                row<std::int32_t>({3}), row<std::int32_t>({1}))),
              ElementsAre(1, 2, 4, 5));
}

TEST(ReferenceConcat, JoinsAlongAnyAxis) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kConcat,
                                    test_inputs(from_zero({2, 1}), from_zero({2, 2})), on_axis(-1)),
              ElementsAre(0, 0, 1, 1, 2, 3));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kConcat,
                                    test_inputs(from_zero({0, 2}), from_zero({1, 2})), on_axis(0)),
              ElementsAre(0, 1));
  EXPECT_FALSE(run_kernel({OpKind::kConcat, test_inputs(from_zero({1}), std::nullopt), on_axis(0)},
                          KernelLibrary::kReference)
                   .has_value());
}

TEST(ReferenceSplit, ByNumberAndBySizes) {
  const auto count = test_attributes({{"num_outputs", std::int64_t{2}}, {"axis", std::int64_t{1}}});
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kSplit, test_inputs(from_zero({2, 3})), count, 2, 0),
              ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kSplit, test_inputs(from_zero({2, 3})), count, 2, 1),
              ElementsAre(2, 5));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kSplit, test_inputs(from_zero({4}), ints({1, 0, 3})),
                                    on_axis(0), 3, 2),
              ElementsAre(1, 2, 3));
  EXPECT_TRUE(run_one<std::int64_t>(OpKind::kSplit, test_inputs(from_zero({4}), ints({1, 0, 3})),
                                    on_axis(0), 3, 1)
                  .empty());
}

TEST(ReferenceTile, Repeats) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kTile, test_inputs(from_zero({2, 2}), ints({2, 2}))),
              ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_TRUE(run_one<std::int64_t>(OpKind::kTile, test_inputs(from_zero({2}), ints({0}))).empty());
}

TEST(ReferencePad, AllModes) {
  const auto mode = [](const char* name) { return test_attributes({{"mode", std::string(name)}}); };
  const auto pad = [&](const char* name, const Ints& pads) {
    return run_one<std::int64_t>(OpKind::kPad, test_inputs(from_zero({3}), ints(pads)), mode(name));
  };
  EXPECT_THAT(pad("constant", {1, 2}), ElementsAre(0, 0, 1, 2, 0, 0));
  EXPECT_THAT(pad("reflect", {2, 2}), ElementsAre(2, 1, 0, 1, 2, 1, 0));
  EXPECT_THAT(pad("edge", {2, 1}), ElementsAre(0, 0, 0, 1, 2, 2));
  EXPECT_THAT(pad("constant", {-1, 1}), ElementsAre(1, 2, 0));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kPad, test_inputs(from_zero({2, 2}), ints({1, 0}),
                                                              scalar<std::int64_t>(9), ints({-1}))),
              ElementsAre(9, 0, 1, 9, 2, 3));
  EXPECT_EQ(error_of(OpKind::kPad, test_inputs(from_zero({0}), ints({1, 0})), mode("edge")).code,
            ErrorCode::kInvalidModel);
}

TEST(ReferenceShape, GivesDimensions) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kShape, test_inputs(from_zero({2, 0, 3}))),
              ElementsAre(2, 0, 3));
  EXPECT_THAT(run_one<std::int64_t>(
                  OpKind::kShape, test_inputs(from_zero({2, 4, 3})),
                  test_attributes({{"start", std::int64_t{-2}}, {"end", std::int64_t{2}}})),
              ElementsAre(4));
  EXPECT_TRUE(run_one<std::int64_t>(OpKind::kShape, test_inputs(scalar(1.0F))).empty());
}

TEST(ReferenceSize, CountsElements) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kSize, test_inputs(from_zero({2, 4, 3}))),
              ElementsAre(24));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kSize, test_inputs(from_zero({2, 0}))), ElementsAre(0));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kSize, test_inputs(scalar(1.0F))), ElementsAre(1));
}

TEST(ReferenceConstantOfShape, FillsWithItsValue) {
  EXPECT_THAT(run_one<float>(OpKind::kConstantOfShape, test_inputs(ints({2}))), ElementsAre(0, 0));
  const Tensor three = row<U8>({3});
  const auto value =
      test_attributes({{"value", make_constant(DType::kU8, {1}, three.view().bytes)}});
  EXPECT_THAT(run_one<U8>(OpKind::kConstantOfShape, test_inputs(ints({1, 2})), value),
              ElementsAre(3, 3));
  EXPECT_THAT(run_one<U8>(OpKind::kConstantOfShape, test_inputs(ints({})), value), ElementsAre(3));
}

TEST(ReferenceRange, CountsUpAndDown) {
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kRange,
                                    test_inputs(scalar<std::int64_t>(5), scalar<std::int64_t>(0),
                                                scalar<std::int64_t>(-2))),
              ElementsAre(5, 3, 1));
  EXPECT_THAT(run_one<float>(OpKind::kRange, test_inputs(scalar(0.0F), scalar(1.0F), scalar(0.5F))),
              ElementsAre(0, 0.5F));
  EXPECT_TRUE(run_one<std::int32_t>(OpKind::kRange,
                                    test_inputs(scalar<std::int32_t>(0), scalar<std::int32_t>(-1),
                                                scalar<std::int32_t>(1)))
                  .empty());
}

}  // namespace
}  // namespace parallax
