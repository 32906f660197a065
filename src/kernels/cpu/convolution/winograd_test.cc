#include "kernels/cpu/convolution/winograd.h"

#include <random>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

KernelMaker winograd(WinogradForm form) {
  return [form](const KernelRequest& request) -> Result<std::unique_ptr<Kernel>> {
    const auto shape = convolution_shape(request);
    if (!shape) return std::unique_ptr<Kernel>();
    return make_winograd(request, *shape, form);
  };
}

const std::vector<ConvolutionCase> kWinogradCases = {
    {"OnePixel", {1, 1, 1, 1}, 1, {3, 3}, {1, 1, 1, 1}},
    {"OneOutput", {1, 3, 3, 5}, 7, {3, 3}, {0, 0, 0, 0}},
    {"ExactSquares", {1, 8, 8, 16}, 16, {3, 3}, {1, 1, 1, 1}},
    {"OddSizes", {1, 7, 13, 17}, 33, {3, 3}, {1, 1, 1, 1}},
    {"OneRow", {1, 1, 30, 8}, 8, {3, 3}, {1, 1, 1, 1}},
    {"OneColumn", {1, 30, 1, 8}, 8, {3, 3}, {1, 1, 1, 1}},
    {"Asymmetric", {1, 6, 9, 8}, 8, {3, 3}, {0, 1, 2, 0}},
    {"LargePads", {1, 5, 5, 8}, 8, {3, 3}, {2, 2, 2, 2}},
    {"Batch", {3, 5, 6, 10}, 12, {3, 3}, {1, 1, 1, 1}},
    {"BatchOfOnePixel", {50, 1, 1, 3}, 2, {3, 3}, {1, 1, 1, 1}},
    {"ManyPanels", {1, 6, 6, 20}, 150, {3, 3}, {1, 1, 1, 1}},
    {"ManyChannels", {1, 9, 9, 200}, 70, {3, 3}, {1, 1, 1, 1}},
    {"ManyBlocks", {1, 45, 50, 24}, 24, {3, 3}, {1, 1, 1, 1}},
    {"Dilated", {2, 19, 22, 9}, 20, {3, 3}, {2, 2, 2, 2}, {}, {2, 2}},
    {"DilatedAlongOneAxis", {1, 9, 14, 8}, 8, {3, 3}, {1, 4, 1, 4}, {}, {1, 4}},
    {"DilatedBeyondTheImage", {1, 5, 6, 8}, 8, {3, 3}, {7, 8, 7, 8}, {}, {7, 8}},
    {"DilatedInManyBlocks", {1, 64, 70, 24}, 24, {3, 3}, {16, 16, 16, 16}, {}, {16, 16}},
};

class Winograd : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(Winograd, LikeReference) {
  for (const WinogradForm form : {WinogradForm::k2x2, WinogradForm::k4x4}) {
    for (const char* activation : {"", "Silu", "HardSwish"}) {
      const KernelRun run = convolution_run(GetParam(), *activation != '\0', activation);
      EXPECT_LE(error_against_reference(run, winograd(form)), kConvolutionError)
          << static_cast<int>(form) << activation;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Winograd, testing::ValuesIn(kWinogradCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(WinogradLine, LikeReference) {
  for (const std::int64_t width : {1, 3, 4, 9, 50, 301}) {
    for (const std::int64_t pad : {0, 1, 2}) {
      if (width + 2 * pad < 3) continue;
      SCOPED_TRACE(width);
      ConvolutionCase line{"", {2, width, 19}, 37, {3}, {pad, pad}};
      EXPECT_LE(error_against_reference(convolution_run(line, true, "Gelu"),
                                        winograd(WinogradForm::k1x4)),
                kConvolutionError);
      line.strides = {2};
      EXPECT_LE(error_against_reference(convolution_run(line, true, "Gelu"),
                                        winograd(WinogradForm::k1x4Stride2)),
                kConvolutionError);
    }
  }
}

TEST(WinogradColumn, LikeReference) {
  for (const std::int64_t height : {1, 3, 4, 9, 50, 101}) {
    for (const std::int64_t pad : {0, 1, 2}) {
      if (height + 2 * pad < 3) continue;
      SCOPED_TRACE(height);
      ConvolutionCase column{"", {2, height, 5, 19}, 37, {3, 1}, {pad, 0, pad, 0}};
      for (const std::int64_t dilation : {1, 2}) {
        if (height + 2 * pad <= 2 * dilation) continue;
        column.dilations = {dilation, 1};
        EXPECT_LE(error_against_reference(convolution_run(column, true, "Gelu"),
                                          winograd(WinogradForm::k4x1)),
                  kConvolutionError);
      }
    }
  }
}

TEST(WinogradForms, RandomShapesAreLikeReference) {
  std::mt19937 random(7);
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 60; ++i) {
    ConvolutionCase row;
    row.pads = {pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    row.kernel = {3, 3};
    row.dilations = {pick(1, 3), pick(1, 3)};
    row.x = {pick(1, 2), pick(7, 14), pick(7, 14), pick(1, 40)};
    row.filters = pick(1, 90);
    const KernelRun run = convolution_run(row, i % 2 == 0, i % 3 == 0 ? "Relu" : "");
    SCOPED_TRACE(row.x.to_string() + " filters " + std::to_string(row.filters));
    for (const WinogradForm form : {WinogradForm::k2x2, WinogradForm::k4x4})
      EXPECT_LE(error_against_reference(run, winograd(form)), kConvolutionError);
  }
}

TEST(WinogradForms, NanReachesTheOutputsThatReadItAndNoFurtherThanTheirSquare) {
  ConvolutionCase row{"", {1, 12, 12, 4}, 4, {3, 3}, {1, 1, 1, 1}};
  KernelRun run = convolution_run(row, false, "");
  std::vector<float> x = test_values<float>(*run.inputs[0]);
  x[0] = std::nanf("");
  run.inputs[0] = test_tensor<float>(row.x, x);
  const auto got = run_kernel_tiles(run, winograd(WinogradForm::k4x4));
  ASSERT_TRUE(got);
  const auto y = test_values<float>(got->outputs[0]);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_FALSE(std::isnan(y[(4 * 12 + 4) * 4]));
}

TEST(WinogradForms, LargeConvolutionsAreCut) {
  const ConvolutionCase wide{"", {1, 40, 40, 64}, 64, {3, 3}, {1, 1, 1, 1}};
  const ConvolutionCase deep{"", {1, 8, 8, 256}, 256, {3, 3}, {1, 1, 1, 1}};
  for (const ConvolutionCase& row : {wide, deep}) {
    const auto got =
        run_kernel_tiles(convolution_run(row, false, ""), winograd(WinogradForm::k4x4));
    ASSERT_TRUE(got);
    EXPECT_GE(got->tiles, 2);
  }
}

TEST(WinogradForms, FewerMultiplicationsAreChosenWhereTransformsPay) {
  const auto form = [](std::int64_t size, std::int64_t channels, std::int64_t filters) {
    ConvolutionShape shape;
    shape.batch = 1;
    shape.nhwc = true;
    shape.in = shape.out = {size, size};
    shape.kernel = {3, 3};
    shape.stride = shape.dilation = shape.pad_begin = {1, 1};
    shape.in_channels = channels;
    shape.out_channels = filters;
    return winograd_form(shape);
  };
  EXPECT_EQ(form(80, 64, 64), WinogradForm::k4x4);
  EXPECT_EQ(form(28, 128, 128), WinogradForm::k4x4);
  EXPECT_EQ(form(7, 512, 512), WinogradForm::k2x2);
  EXPECT_EQ(form(224, 3, 16), std::nullopt);
  EXPECT_EQ(form(1, 64, 64), std::nullopt);
}

TEST(WinogradForms, LinesAreChosenByTheirStride) {
  const auto form = [](std::int64_t height, std::int64_t stride) {
    ConvolutionShape shape;
    shape.batch = 1;
    shape.nhwc = true;
    shape.in = {height, 3000};
    shape.out = {height, 3000 / stride};
    shape.kernel = {1, 3};
    shape.stride = {1, stride};
    shape.dilation = {1, 1};
    shape.pad_begin = {0, 1};
    shape.in_channels = shape.out_channels = 384;
    return winograd_form(shape);
  };
  for (const std::int64_t height : {1, 4}) {
    EXPECT_EQ(form(height, 1), WinogradForm::k1x4);
    EXPECT_EQ(form(height, 2), WinogradForm::k1x4Stride2);
    EXPECT_EQ(form(height, 3), std::nullopt);
  }
}

TEST(WinogradForms, ColumnsAreChosenIfFiltersAreColumns) {
  ConvolutionShape shape;
  shape.batch = 1;
  shape.nhwc = true;
  shape.in = shape.out = {36, 16};
  shape.kernel = {3, 1};
  shape.stride = shape.dilation = {1, 1};
  shape.pad_begin = {1, 0};
  shape.in_channels = shape.out_channels = 48;
  EXPECT_EQ(winograd_form(shape), WinogradForm::k4x1);
  shape.stride = {2, 1};
  EXPECT_EQ(winograd_form(shape), std::nullopt);
}

TEST(WinogradForms, DeclinesWhatItCannotCompute) {
  const ConvolutionCase good{"", {1, 8, 8, 4}, 4, {3, 3}, {1, 1, 1, 1}};
  const auto declines = [](const KernelRun& run) {
    const auto got = run_kernel_tiles(run, winograd(WinogradForm::k4x4));
    return !got && got.error().code == ErrorCode::kUnsupported;
  };
  EXPECT_FALSE(declines(convolution_run(good, true, "")));
  ConvolutionCase row = good;
  row.kernel = {3, 1};
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
  row = good;
  row.x = {1, 3, 3, 5000};
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
  row = good;
  row.strides = {2, 1};
  EXPECT_TRUE(declines(convolution_run(row, true, "")));
  KernelRun nchw = convolution_run({"", {1, 4, 8, 8}, 4, {3, 3}, {1, 1, 1, 1}}, true, "");
  nchw.inputs[1] = random_floats({4, 4, 3, 3}, 2);
  nchw.attributes.set("layout", std::string("NCHW"));
  EXPECT_TRUE(declines(nchw));
}

}  // namespace
}  // namespace parallax
