// Tests operators that move elements against the reference kernels.
#include "delegates/opencl/opencl_test_util.h"

namespace parallax::opencl {
namespace {

TEST(OpenClMovement, Transpose) {
  PX_NEEDS_DEVICE();
  const auto perm = [](std::vector<std::int64_t> axes) {
    return test_attributes({{"perm", axes}});
  };
  expect_as_reference({OpKind::kTranspose, test_inputs(random_tensor({3, 5}))}, "without perm");
  expect_as_reference(
      {OpKind::kTranspose, test_inputs(random_tensor({2, 3, 4, 5})), perm({0, 2, 1, 3})}, "heads");
  expect_as_reference(
      {OpKind::kTranspose, test_inputs(random_tensor({2, 3, 300})), perm({1, 2, 0})}, "long");
  expect_as_reference({OpKind::kTranspose, test_inputs(random_tensor({2, 2, 3, 2, 3, 4})),
                       perm({0, 2, 4, 1, 3, 5})},
                      "windows");
  expect_as_reference({OpKind::kTranspose, test_inputs(random_tensor({2, 0, 3})), perm({2, 0, 1})},
                      "empty");
  expect_as_reference(
      {OpKind::kTranspose, test_inputs(test_tensor<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6}))},
      "i64");
}

TEST(OpenClMovement, ViewsAreCopiedToOutputs) {
  PX_NEEDS_DEVICE();
  expect_as_reference({OpKind::kReshape, test_inputs(random_tensor({2, 6}), int_tensor({3, -1}))},
                      "");
  expect_as_reference({OpKind::kFlatten, test_inputs(random_tensor({2, 3, 4}))}, "");
  expect_as_reference({OpKind::kIdentity, test_inputs(test_tensor<bool>({3}, {true, false, true}))},
                      "bool");
  expect_as_reference({OpKind::kUnsqueeze, test_inputs(random_tensor({}), int_tensor({0}))},
                      "scalar");
  expect_as_reference({OpKind::kSqueeze, test_inputs(random_tensor({1, 0}), int_tensor({0}))},
                      "empty");
}

TEST(OpenClMovement, ExpandAndTile) {
  PX_NEEDS_DEVICE();
  expect_as_reference({OpKind::kExpand, test_inputs(random_tensor({3, 1}), int_tensor({2, 1, 5}))},
                      "");
  expect_as_reference({OpKind::kExpand, test_inputs(random_tensor({}), int_tensor({130}))},
                      "scalar");
  expect_as_reference({OpKind::kTile, test_inputs(random_tensor({2, 3}), int_tensor({2, 3}))}, "");
  expect_as_reference({OpKind::kTile, test_inputs(random_tensor({2, 3}), int_tensor({0, 3}))},
                      "empty");
}

TEST(OpenClMovement, Slice) {
  PX_NEEDS_DEVICE();
  expect_as_reference({OpKind::kSlice, test_inputs(random_tensor({5, 7}), int_tensor({1}),
                                                   int_tensor({4}), int_tensor({1}))},
                      "");
  expect_as_reference(
      {OpKind::kSlice, test_inputs(random_tensor({5, 7}), int_tensor({-1, 6}), int_tensor({-9, 0}),
                                   int_tensor({0, 1}), int_tensor({-2, -3}))},
      "backwards");
  expect_as_reference({OpKind::kSlice, test_inputs(random_tensor({5, 7}), int_tensor({4}),
                                                   int_tensor({2}), int_tensor({0}))},
                      "empty");
}

TEST(OpenClMovement, ConcatAndSplit) {
  PX_NEEDS_DEVICE();
  const auto axis = [](std::int64_t a) { return test_attributes({{"axis", a}}); };
  expect_as_reference(
      {OpKind::kConcat,
       test_inputs(random_tensor({2, 3}), random_tensor({2, 0}), random_tensor({2, 5})), axis(1)},
      "");
  expect_as_reference(
      {OpKind::kConcat, test_inputs(random_tensor({0, 3}), random_tensor({4, 3})), axis(-2)},
      "empty part");
  expect_as_reference(
      {OpKind::kSplit, test_inputs(random_tensor({2, 7, 3}), int_tensor({2, 0, 5})), axis(1), 3},
      "");
  Attributes equal = axis(0);
  equal.set("num_outputs", std::int64_t{3});
  expect_as_reference({OpKind::kSplit, test_inputs(random_tensor({8, 3})), equal, 3}, "equal");
}

TEST(OpenClMovement, Range) {
  PX_NEEDS_DEVICE();
  const auto number = [](auto x) { return test_tensor<decltype(x)>({}, {x}); };
  expect_as_reference({OpKind::kRange, test_inputs(number(1.5F), number(4.0F), number(0.5F))},
                      "f32");
  expect_as_reference({OpKind::kRange, test_inputs(number(9L), number(2L), number(-3L))}, "i64");
}

TEST(OpenClMovement, Pad) {
  PX_NEEDS_DEVICE();
  for (const char* mode : {"constant", "reflect", "edge"}) {
    const auto attributes = test_attributes({{"mode", std::string(mode)}});
    expect_as_reference(
        {OpKind::kPad, test_inputs(random_tensor({3, 4}), int_tensor({1, 2, 2, 3})), attributes},
        mode);
    expect_as_reference(
        {OpKind::kPad, test_inputs(random_tensor({3, 5}), int_tensor({-1, 2, 1, -2})), attributes},
        mode);
  }
  expect_as_reference({OpKind::kPad, test_inputs(random_tensor({3, 0}), int_tensor({0, 1, 0, 2}),
                                                 random_tensor({}))},
                      "of nothing");
  expect_as_reference({OpKind::kPad, test_inputs(random_tensor({2, 3, 2}), int_tensor({1, 1}),
                                                 random_tensor({}), int_tensor({-2}))},
                      "axes");
}

TEST(OpenClMovement, Gather) {
  PX_NEEDS_DEVICE();
  const auto axis = [](std::int64_t a) { return test_attributes({{"axis", a}}); };
  expect_as_reference(
      {OpKind::kGather,
       test_inputs(random_tensor({3, 5}), test_tensor<std::int64_t>({2, 2}, {0, -1, 2, 1})),
       axis(0)},
      "");
  expect_as_reference(
      {OpKind::kGather,
       test_inputs(random_tensor({2, 3, 2}), test_tensor<std::int32_t>({3}, {2, 0, -3})), axis(1)},
      "i32");
  expect_as_reference(
      {OpKind::kGather, test_inputs(random_tensor({3, 5}), test_tensor<std::int64_t>({}, {1})),
       axis(-1), 1, 2},
      "constant");
  expect_as_reference(
      {OpKind::kGather, test_inputs(random_tensor({3, 5}), test_tensor<std::int64_t>({0}, {})),
       axis(0)},
      "nothing");
}

TEST(OpenClMovement, AnIndexOutOfRangeIsAnError) {
  PX_NEEDS_DEVICE();
  for (const std::uint32_t constants : {0U, 2U}) {
    const KernelRun run{OpKind::kGather,
                        test_inputs(random_tensor({3, 5}), test_tensor<std::int64_t>({2}, {0, 3})),
                        {},
                        1,
                        constants};
    const auto result = run_node(run, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(result.error().node, "node");
  }
}

TEST(OpenClMovement, Resize) {
  PX_NEEDS_DEVICE();
  const auto sized = [](const Dims& dims, std::vector<std::int64_t> sizes, const char* mode,
                        const char* coordinates) {
    return KernelRun{
        OpKind::kResize,
        [&] {
          std::vector<std::optional<Tensor>> inputs;
          inputs.emplace_back(random_tensor(dims));
          inputs.emplace_back();
          inputs.emplace_back();
          inputs.emplace_back(int_tensor(sizes));
          return inputs;
        }(),
        test_attributes({{"mode", std::string(mode)},
                         {"coordinate_transformation_mode", std::string(coordinates)}})};
  };
  for (const char* mode : {"nearest", "linear"}) {
    for (const char* coordinates :
         {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"}) {
      expect_as_reference(sized({1, 2, 3, 5}, {1, 2, 7, 4}, mode, coordinates), coordinates);
      expect_as_reference(sized({2, 1, 4}, {2, 1, 8}, mode, coordinates), coordinates);
    }
  }
}

}  // namespace
}  // namespace parallax::opencl
