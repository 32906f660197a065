#include "kernels/cpu/convolution/column_convolution.h"

#include <random>
#include <string>

#include "kernels/cpu/bf16_test_util.h"
#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

Result<std::unique_ptr<Kernel>> columns(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape) return std::unique_ptr<Kernel>();
  if (request.precision == Precision::kBf16) return make_columns(request, *shape);
  auto windows = make_windows(request, *shape);
  return windows && *windows == nullptr ? make_columns(request, *shape) : std::move(windows);
}

Result<std::unique_ptr<Kernel>> planes(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape) return std::unique_ptr<Kernel>();
  return make_plane_convolution(request, *shape);
}

const std::vector<ConvolutionCase> kColumnCases = {
    {"Pointwise", {1, 9, 7, 8}, 16, {1, 1}, {0, 0, 0, 0}},
    {"PointwiseBatch", {3, 40, 11, 33}, 70, {1, 1}, {0, 0, 0, 0}},
    {"PointwiseStrided", {1, 9, 8, 8}, 16, {1, 1}, {0, 0, 0, 0}, {2, 3}},
    {"OnePixel", {1, 1, 1, 3}, 5, {3, 3}, {1, 1, 1, 1}},
    {"FewChannels", {1, 30, 31, 3}, 16, {3, 3}, {1, 1, 1, 1}, {2, 2}},
    {"Asymmetric", {1, 10, 11, 4}, 8, {3, 5}, {0, 1, 2, 3}, {2, 3}},
    {"Dilated", {1, 17, 15, 4}, 8, {3, 3}, {2, 3, 2, 3}, {1, 1}, {2, 3}},
    {"DilatedRows", {1, 17, 15, 20}, 8, {3, 3}, {2, 1, 2, 1}, {1, 2}, {2, 1}},
    {"WiderThanTheImage", {1, 2, 2, 5}, 6, {5, 5}, {3, 3, 3, 3}},
    {"Patches", {1, 32, 32, 3}, 24, {4, 4}, {0, 0, 0, 0}, {4, 4}},
    {"Floor", {1, 10, 10, 4}, 8, {3, 3}, {0, 0, 0, 0}, {4, 4}},
    {"Deep", {2, 9, 9, 130}, 150, {3, 3}, {1, 1, 1, 1}, {2, 2}},
    {"DeepByTwo", {1, 7, 7, 600}, 40, {3, 3}, {1, 1, 1, 1}, {2, 2}},
    {"WholeImage", {1, 7, 7, 200}, 70, {7, 7}, {0, 0, 0, 0}},
    {"Line", {2, 51, 19}, 37, {3}, {1, 0}, {2}},
    {"Windows", {2, 50, 61, 16}, 16, {3, 3}, {1, 1, 1, 1}},
    {"WindowsInPlace", {2, 41, 40, 6}, 20, {3, 2}, {0, 0, 0, 0}, {2, 2}},
    {"WindowsDilated", {1, 40, 45, 8}, 24, {3, 3}, {2, 3, 2, 3}, {1, 2}, {2, 3}},
    {"WindowsOfDistantTaps", {2, 40, 60, 24}, 24, {3, 3}, {16, 16, 16, 16}, {1, 1}, {16, 16}},
    {"WindowsOfDistantRows", {1, 75, 70, 24}, 20, {3, 5}, {26, 9, 24, 7}, {2, 1}, {26, 4}},
    {"WindowsDeep", {1, 9, 30, 270}, 70, {3, 3}, {1, 1, 1, 1}},
    {"WindowsOfALine", {1, 3000, 20}, 40, {3}, {1, 1}},
    {"WindowsOfALineByTwo", {2, 1500, 24}, 70, {3}, {1, 1}, {2}},
    {"WindowsOfPadding", {1, 3, 40, 4}, 8, {3, 9}, {2, 8, 2, 8}, {1, 3}},
    {"RowsOfDistantTaps", {2, 60, 50, 12}, 12, {7, 1}, {51, 0, 51, 0}, {1, 1}, {17, 1}},
    {"RowsOfDistantTapsByTwo", {1, 61, 50, 24}, 20, {5, 1}, {20, 0, 44, 0}, {2, 1}, {16, 1}},
    {"RowsOfTapsOutside", {1, 10, 50, 8}, 12, {2, 1}, {24, 0, 24, 0}, {1, 1}, {48, 1}},
    {"RowsOfWideDistantTaps", {1, 40, 60, 12}, 12, {3, 3}, {20, 1, 20, 1}, {1, 1}, {20, 1}},
    {"RowsOfDeepDistantTaps", {1, 50, 48, 270}, 16, {3, 1}, {20, 0, 20, 0}, {1, 1}, {20, 1}},
};

class ColumnConvolution : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(ColumnConvolution, LikeReference) {
  for (const char* activation : {"", "Silu"}) {
    const KernelRun run = convolution_run(GetParam(), *activation != '\0', activation);
    EXPECT_LE(error_against_reference(run, columns), kConvolutionError) << activation;
  }
}

TEST_P(ColumnConvolution, InBf16LikeReferenceOnRoundedInputs) {
  PX_NEEDS_BF16();
  for (const char* activation : {"", "Silu"}) {
    const KernelRun run = convolution_run(GetParam(), *activation != '\0', activation);
    const auto in_bf16 = [](KernelRequest request) {
      request.precision = Precision::kBf16;
      return columns(request);
    };
    // Products of bf16 are exact in f32; only the order of the sums differs.
    const KernelRun rounded = with_rounded_operands(run);
    EXPECT_LE(error_against_reference(rounded, in_bf16), kConvolutionError) << activation;
    // The kernel rounds inputs itself: unrounded inputs give the same bits.
    const auto got = run_kernel_tiles(run, in_bf16), want = run_kernel_tiles(rounded, in_bf16);
    ASSERT_TRUE(got && want);
    expect_close(got->outputs[0], want->outputs[0], {});
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ColumnConvolution, testing::ValuesIn(kColumnCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ColumnConvolutions, RandomShapesAreLikeReference) {
  std::mt19937 random(11);
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
    row.x = {pick(1, 2), pick(9, 16), pick(9, 16), pick(1, 40)};
    row.filters = pick(1, 90);
    const KernelRun run = convolution_run(row, i % 2 == 0, i % 3 == 0 ? "Relu" : "");
    SCOPED_TRACE(row.x.to_string() + " filters " + std::to_string(row.filters));
    EXPECT_LE(error_against_reference(run, columns), kConvolutionError);
  }
}

TEST(ColumnConvolutions, LargeOnesAreCut) {
  for (const std::int64_t taps : {1, 3}) {
    const auto got = run_kernel_tiles(
        convolution_run({"", {1, 40, 40, 64}, 128, {taps, taps}, {0, 0, 0, 0}}, false, ""),
        columns);
    ASSERT_TRUE(got);
    EXPECT_GE(got->tiles, 4);
  }
}

TEST(ColumnConvolutions, DeclineWhatTheyCannotCompute) {
  const auto declines = [](const KernelRun& run) {
    const auto got = run_kernel_tiles(run, columns);
    return !got && got.error().code == ErrorCode::kUnsupported;
  };
  ConvolutionCase row{"", {1, 20, 20, 4}, 4, {3, 3}, {0, 0, 0, 0}};
  EXPECT_FALSE(declines(convolution_run(row, true, "")));
  row.kernel = {17, 1};
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
  row.kernel = {3, 3};
  row.x = {1, 3, 3, 30000};
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
}

KernelRun plane_run(const Dims& x, std::int64_t filters, const std::string& activation) {
  KernelRun run = convolution_run({"", x, filters, {1, 1}, {0, 0, 0, 0}}, false, activation);
  run.inputs[1] = random_floats({filters, x[1], 1, 1}, 2, -1, 1);
  run.attributes.set("layout", std::string("NCHW"));
  return run;
}

TEST(PlaneConvolution, LikeReference) {
  for (const Dims& x :
       {Dims{1, 16, 4, 840}, Dims{2, 3, 5, 7}, Dims{1, 1, 1, 1}, Dims{2, 70, 9, 33}})
    for (const std::int64_t filters : {1, 4, 33})
      EXPECT_LE(error_against_reference(plane_run(x, filters, "Relu"), planes), kConvolutionError)
          << x.to_string() << " " << filters;
}

TEST(PlaneConvolution, DeclinesBiasStridesAndNhwc) {
  const Dims x = {1, 4, 8, 8};
  EXPECT_TRUE(run_kernel_tiles(plane_run(x, 4, ""), planes));
  KernelRun run = plane_run(x, 4, "");
  run.inputs.emplace_back(random_floats({4}, 3));
  EXPECT_FALSE(run_kernel_tiles(run, planes));
  run = plane_run(x, 4, "");
  run.attributes.set("strides", std::vector<std::int64_t>{2, 2});
  EXPECT_FALSE(run_kernel_tiles(run, planes));
  run = convolution_run({"", {1, 8, 8, 4}, 4, {1, 1}, {0, 0, 0, 0}}, false, "");
  EXPECT_FALSE(run_kernel_tiles(run, planes));
}

}  // namespace
}  // namespace parallax
