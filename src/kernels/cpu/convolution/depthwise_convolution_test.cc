#include "kernels/cpu/convolution/depthwise_convolution.h"

#include <random>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

Result<std::unique_ptr<Kernel>> depthwise(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape) return std::unique_ptr<Kernel>();
  return make_depthwise_convolution(request, *shape);
}

constexpr double kDepthwiseError = 2e-6;

ConvolutionCase of_channels(ConvolutionCase row) {
  row.filters = row.group = row.x[row.x.rank() - 1];
  return row;
}

const std::vector<ConvolutionCase> kDepthwiseCases = {
    {"Common", {1, 30, 40, 64}, 0, {3, 3}, {1, 1, 1, 1}},
    {"Halves", {1, 9, 60, 8}, 0, {3, 3}, {1, 1, 1, 1}, {2, 2}},
    {"VectorAndHalf", {2, 19, 13, 24}, 0, {3, 3}, {1, 1, 1, 1}},
    {"Overlapping", {1, 19, 13, 45}, 0, {5, 5}, {2, 2, 2, 2}},
    {"LessThanAVector", {1, 7, 13, 13}, 0, {5, 5}, {1, 2, 2, 1}, {2, 2}},
    {"Dilated", {1, 17, 25, 20}, 0, {3, 3}, {2, 3, 2, 3}, {1, 1}, {2, 3}},
    {"Strided", {1, 17, 35, 16}, 0, {3, 3}, {0, 0, 0, 0}, {3, 3}},
    {"Asymmetric", {1, 10, 31, 18}, 0, {3, 4}, {0, 1, 2, 3}, {2, 1}},
    {"WiderThanTheImage", {1, 2, 2, 32}, 0, {5, 5}, {3, 3, 3, 3}},
    {"OneColumn", {1, 3, 1, 24}, 0, {3, 5}, {1, 4, 1, 4}},
    {"NarrowStrided", {1, 5, 3, 16}, 0, {5, 5}, {2, 2, 2, 2}, {2, 2}},
    {"NothingInside", {1, 4, 3, 16}, 0, {3, 5}, {1, 4, 1, 4}, {1, 2}, {1, 2}},
    {"LargeFilter", {1, 20, 21, 29}, 0, {31, 19}, {15, 9, 15, 9}},
    {"SevenTaps", {1, 14, 14, 48}, 0, {7, 7}, {3, 3, 3, 3}},
    {"LargeStrided", {1, 20, 40, 16}, 0, {9, 11}, {4, 5, 4, 5}, {2, 3}, {1, 2}},
    {"LongerThanTheImage", {1, 3, 20, 16}, 0, {3, 33}, {1, 16, 1, 16}},
    {"Line", {2, 51, 19}, 0, {3}, {1, 0}, {2}},
    {"LongLine", {1, 4001, 20}, 0, {9}, {4, 4}},
    {"FewLongRows", {1, 3, 901, 16}, 0, {3, 3}, {1, 1, 1, 1}, {1, 2}},
    {"OneTap", {2, 13, 17, 24}, 0, {1, 1}, {0, 0, 0, 0}},
    {"OneTapHalf", {1, 13, 19, 13}, 0, {1, 1}, {0, 0, 0, 0}},
    {"OneTapStrided", {1, 13, 19, 16}, 0, {1, 1}, {0, 0, 0, 0}, {2, 2}},
};

class DepthwiseConvolution : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(DepthwiseConvolution, LikeReference) {
  for (const char* activation : {"", "Relu", "LeakyRelu", "Clip", "Silu"}) {
    const KernelRun run = convolution_run(of_channels(GetParam()), *activation != '\0', activation);
    EXPECT_LE(error_against_reference(run, depthwise), allowed_error(activation, kDepthwiseError))
        << activation;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, DepthwiseConvolution, testing::ValuesIn(kDepthwiseCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(DepthwiseConvolutions, RandomShapesAreLikeReference) {
  std::mt19937 random(7);
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 80; ++i) {
    ConvolutionCase row;
    row.kernel = {pick(1, 5), pick(1, 5)};
    row.dilations = {pick(1, 2), pick(1, 2)};
    row.strides = {pick(1, 3), pick(1, 3)};
    row.pads = {pick(0, 4), pick(0, 4), pick(0, 4), pick(0, 4)};
    for (std::size_t p = 0; p < 4; ++p)
      row.pads[p] = std::min(row.pads[p], (row.kernel[p % 2] - 1) * row.dilations[p % 2]);
    row.x = {pick(1, 2), pick(9, 16), pick(9, 26), pick(8, 70)};
    const KernelRun run = convolution_run(of_channels(row), i % 2 == 0, i % 3 == 0 ? "Relu" : "");
    SCOPED_TRACE(row.x.to_string());
    EXPECT_LE(error_against_reference(run, depthwise), kDepthwiseError);
  }
}

TEST(DepthwiseConvolutions, DeclineWhatTheyCannotCompute) {
  const auto declines = [](const KernelRun& run) {
    const auto got = run_kernel_tiles(run, depthwise);
    return !got && got.error().code == ErrorCode::kUnsupported;
  };
  ConvolutionCase row{"", {1, 20, 20, 32}, 32, {3, 3}, {0, 0, 0, 0}};
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
  row.group = 32;
  EXPECT_FALSE(declines(convolution_run(row, true, "")));
  row.filters = 64;
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
  row.filters = 32;
  row.group = 16;
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
  row = of_channels({"", {1, 20, 20, 1}, 0, {3, 3}, {0, 0, 0, 0}});
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
}

}  // namespace
}  // namespace parallax
