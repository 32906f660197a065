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

KernelRun plane_run(const Dims& x, std::int64_t filters, const std::string& activation) {
  KernelRun run = convolution_run({"", x, filters, {1, 1}, {0, 0, 0, 0}}, false, activation);
  run.inputs[1] = random_floats({filters, x[1], 1, 1}, 2, -1, 1);
  run.attributes.set("layout", std::string("NCHW"));
  return run;
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
  for (const char* activation : {"", "LeakyRelu", "Clip", "Silu"}) {
    const KernelRun run = convolution_run(GetParam(), *activation != '\0', activation);
    EXPECT_LE(error_against_reference(run, columns), allowed_error(activation)) << activation;
  }
}

TEST_P(ColumnConvolution, InBf16LikeReferenceOnRoundedInputs) {
  PX_NEEDS_BF16();
  for (const char* activation : {"", "LeakyRelu", "Clip", "Silu"}) {
    const KernelRun run = convolution_run(GetParam(), *activation != '\0', activation);
    const auto in_bf16 = [](KernelRequest request) {
      request.precision = Precision::kBf16;
      return columns(request);
    };
    // Products of bf16 are exact in f32; only the order of the sums differs.
    const KernelRun rounded = with_rounded_operands(run);
    EXPECT_LE(error_against_reference(rounded, in_bf16), allowed_error(activation)) << activation;
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

const std::vector<ConvolutionCase> kResidualCases = {
    {"Pointwise", {1, 9, 7, 8}, 16, {1, 1}, {0, 0, 0, 0}},
    {"OnePixel", {1, 1, 1, 3}, 1, {1, 1}, {0, 0, 0, 0}},
    {"Batch", {3, 40, 11, 33}, 70, {1, 1}, {0, 0, 0, 0}},
    {"SeveralTiles", {1, 40, 40, 64}, 131, {1, 1}, {0, 0, 0, 0}},
    {"DepthInBlocks", {1, 5, 7, 3000}, 40, {1, 1}, {0, 0, 0, 0}},
    {"Line", {2, 51, 19}, 37, {1}, {0, 0}},
};

/// Numbers with NaN, infinities and -0 among them.
Tensor special_floats(const Dims& dims) {
  std::vector<float> elements = test_values<float>(random_floats(dims, 5, -1, 1));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float specials[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, -0.0F};
  for (std::size_t i = 0; i < elements.size(); i += 7) elements[i] = specials[i / 7 % 4];
  return test_tensor<float>(dims, elements);
}

/// The node with a residual that has the shape of its result.
KernelRun with_residual(const ConvolutionCase& row, bool bias, const std::string& activation) {
  KernelRun run = convolution_run(row, bias, activation);
  run.inputs.resize(3);
  Dims y = row.x;
  y[y.rank() - 1] = row.filters;
  run.inputs.emplace_back(special_floats(y));
  return run;
}

/// The result of `op` on tensors of f32, on the kernels of the CPU.
Tensor computed(OpKind op, std::vector<std::optional<Tensor>> inputs) {
  auto outputs = run_kernel({op, std::move(inputs)}, KernelLibrary::kCpu);
  EXPECT_TRUE(outputs) << outputs.error().to_string();
  return std::move(outputs->at(0));
}

class ColumnResidual : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(ColumnResidual, HasTheBitsOfASeparateSum) {
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    if (precision == Precision::kBf16 && !cpu_multiplies_bf16()) continue;
    const auto make = [precision](KernelRequest request) {
      request.precision = precision;
      return columns(request);
    };
    for (const char* activation : {"", "Relu", "Silu"}) {
      const bool bias = *activation != '\0';
      auto sums = run_kernel_tiles(convolution_run(GetParam(), bias, ""), make);
      const auto got = run_kernel_tiles(with_residual(GetParam(), bias, activation), make);
      ASSERT_TRUE(sums && got);
      Tensor& sum = sums->outputs[0];
      Tensor residual = special_floats(sum.dims());
      Tensor want = computed(OpKind::kAdd, test_inputs(std::move(sum), std::move(residual)));
      if (bias) want = computed(*op_from_string(activation), test_inputs(std::move(want)));
      expect_close(got->outputs[0], want, {});
      EXPECT_EQ(got->tiles, sums->tiles);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ColumnResidual, testing::ValuesIn(kResidualCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(ColumnResidual, IsOverwrittenUnlessSumsHaveParts) {
  const KernelRun run = with_residual(GetParam(), true, "Relu");
  bool over_image = true, over_residual = false;
  const auto make = [&](const KernelRequest& request) {
    auto made = columns(request);
    over_image = (*made)->overwrites(0);
    over_residual = (*made)->overwrites(3);
    return made;
  };
  ASSERT_TRUE(run_kernel_tiles(run, make));
  EXPECT_FALSE(over_image);
  EXPECT_EQ(over_residual, std::string_view(GetParam().name) != "DepthInBlocks");
  // This computes it in place, too.
  const auto got = run_kernel_tiles(run, KernelLibrary::kCpu);
  EXPECT_TRUE(got) << got.error().to_string();
}

TEST(ConvolutionResidual, IsDeclinedByAllOtherKernels) {
  const auto taken = [](const KernelRun& run) {
    return run_kernel_tiles(run, KernelLibrary::kCpu).has_value();
  };
  EXPECT_TRUE(taken(with_residual(kResidualCases[0], true, "Relu")));
  const ConvolutionCase rows[] = {
      {"Depthwise", {1, 9, 7, 8}, 8, {3, 3}, {1, 1, 1, 1}, {}, {}, 8},
      {"SmallGroups", {1, 9, 7, 8}, 8, {3, 3}, {1, 1, 1, 1}, {}, {}, 4},
      {"Groups", {1, 9, 7, 80}, 80, {1, 1}, {0, 0, 0, 0}, {}, {}, 2},
  };
  for (const ConvolutionCase& row : rows) {
    EXPECT_TRUE(taken(convolution_run(row, true, ""))) << row.name;
    EXPECT_FALSE(taken(with_residual(row, true, ""))) << row.name;
  }
  for (const bool residual : {false, true}) {
    KernelRun run = plane_run({1, 16, 8, 8}, 16, "");
    run.inputs.resize(residual ? 3 : 2);
    if (residual) run.inputs.emplace_back(random_floats({1, 16, 8, 8}, 3));
    EXPECT_EQ(taken(run), !residual);
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
