// Tests 16-bit storage: conversions, and regions that use it.
#include "delegates/opencl/half.h"

#include <limits>
#include <utility>
#include <vector>

#include "delegates/opencl/opencl_test_util.h"
#include "ir/text/text.h"

namespace parallax::opencl {
namespace {

TEST(OpenClHalf, RoundsToTheNearest) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::pair<float, unsigned> numbers[] = {{0.0F, 0},
                                                {-0.0F, 0x8000},
                                                {1.0F, 0x3C00},
                                                {-2.0F, 0xC000},
                                                {0x1p-14F, 0x0400},
                                                {0x1p-24F, 0x0001},
                                                {0x1p-25F, 0},
                                                {0x1.8p-24F, 0x0002},
                                                {0x1.002p0F, 0x3C00},
                                                {0x1.006p0F, 0x3C02},
                                                {0x1.003p0F, 0x3C01},
                                                {0x1.ffep0F, 0x4000},
                                                {65504.0F, 0x7BFF},
                                                {65519.0F, 0x7BFF},
                                                {1e30F, 0x7BFF},
                                                {-1e30F, 0xFBFF},
                                                {kInfinity, 0x7C00},
                                                {-kInfinity, 0xFC00}};
  for (const auto& [number, bits] : numbers) EXPECT_EQ(half_of(number), bits) << number;
  EXPECT_EQ(half_of(std::numeric_limits<float>::quiet_NaN()) & 0x7E00U, 0x7E00U);
}

void expect_about(const KernelRun& run, const std::string& what) {
  RegionOptions options;
  options.half = true;
  expect_as_reference(run, what, options);
}

TEST(OpenClHalf, NodesAreAboutTheReference) {
  PX_NEEDS_DEVICE();
  using Ints = std::vector<std::int64_t>;
  const auto image = [] { return random_tensor({2, 4, 9, 11}); };
  const auto pads = test_attributes({{"pads", Ints{1, 1, 1, 1}}});
  const auto window = test_attributes({{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}});
  const auto axis = test_attributes({{"axis", std::int64_t{1}}});
  expect_about({OpKind::kConv,
                test_inputs(image(), random_tensor({6, 4, 3, 3}, 2), random_tensor({6}, 3)), pads},
               "3x3");
  expect_about({OpKind::kConv, test_inputs(image(), random_tensor({4, 1, 3, 3}, 2)),
                test_attributes({{"group", std::int64_t{4}}})},
               "depthwise");
  expect_about({OpKind::kMatMul, test_inputs(random_tensor({70, 33}), random_tensor({33, 65}, 2))},
               "");
  expect_about({OpKind::kGemm, test_inputs(random_tensor({5, 7}), random_tensor({18, 7}, 2)),
                test_attributes({{"transB", std::int64_t{1}}})},
               "");
  expect_about({OpKind::kMaxPool, test_inputs(image()), window}, "");
  expect_about({OpKind::kAveragePool, test_inputs(image()), window}, "");
  expect_about({OpKind::kGlobalAveragePool, test_inputs(image())}, "");
  expect_about({OpKind::kSoftmax, test_inputs(random_tensor({3, 70}, 1, -9, 9)), axis}, "wide");
  expect_about({OpKind::kSoftmax, test_inputs(image()), axis}, "");
  expect_about(
      {OpKind::kLayerNormalization,
       test_inputs(random_tensor({3, 50}), random_tensor({50}, 2), random_tensor({50}, 3)), axis},
      "");
  expect_about({OpKind::kReduceMean, test_inputs(image(), int_tensor({0, 3}))}, "");
  expect_about(
      {OpKind::kTranspose, test_inputs(image()), test_attributes({{"perm", Ints{1, 2, 3, 0}}})},
      "");
  expect_about(
      {OpKind::kConcat, test_inputs(random_tensor({2, 8}), random_tensor({2, 5}, 2)), axis}, "");
  expect_about({OpKind::kPad, test_inputs(random_tensor({3, 4}), int_tensor({1, 0, 0, 2}),
                                          test_tensor<float>({}, {0.5F}))},
               "");
  expect_about({OpKind::kGather, test_inputs(random_tensor({5, 6}), int_tensor({4, 0, 1})), axis},
               "");
  expect_about({OpKind::kResize,
                test_inputs(random_tensor({1, 2, 4, 5}), test_tensor<float>({0}, {}),
                            test_tensor<float>({4}, {1, 1, 2, 2})),
                test_attributes({{"mode", std::string("linear")}})},
               "");
  expect_about({OpKind::kMul, test_inputs(random_tensor({3, 1}), random_tensor({1, 300}, 2))}, "");
  expect_about({OpKind::kGreater, test_inputs(random_tensor({40}), random_tensor({1}, 2))}, "");
}

TEST(OpenClHalf, ConstantsTakeHalfTheMemoryAndFiniteNumbersStayFinite) {
  PX_NEEDS_DEVICE();
  auto graph = parse_graph(
      "input x f32 [4]\nconst m f32 [4] = [-3e38, 0, 3e38, 1]\na = Add(x, m)\nb = Neg(a)\n"
      "c = Softmax(a)\nr = Reciprocal(c)\noutput b, c, x, m\n");
  ASSERT_TRUE(graph && infer_graph(*graph));
  RegionOptions options;
  options.half = true;
  const auto half = Region::compile(test_context(), *graph, options);
  ASSERT_TRUE(half) << half.error().to_string();
  EXPECT_EQ((*half)->memory_bytes(), 4 * 2);
  const Tensor x = test_tensor<float>({4}, {0.5F, -1, 2, 1});
  const auto result = run_graph(*graph, {x.view()}, options);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(test_values<float>((*result)[0]), (std::vector<float>{65504, 1, -65504, -2}));
  EXPECT_EQ(test_values<float>((*result)[1]), (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(test_values<float>((*result)[2]), test_values<float>(x));
  EXPECT_EQ(test_values<float>((*result)[3]), (std::vector<float>{-65504, 0, 65504, 1}));
}

}  // namespace
}  // namespace parallax::opencl
