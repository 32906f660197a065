#include <random>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {

Result<std::unique_ptr<Kernel>> planar_transposed_convolution(const KernelRequest& request);
Result<std::unique_ptr<Kernel>> pixel_transposed_convolution(const KernelRequest& request);

namespace {

using Ints = std::vector<std::int64_t>;

struct TransposedCase {
  const char* name = "";
  Dims x;
  std::int64_t filters = 0;  ///< filters of a group
  Ints kernel, strides, pads = {}, dilations = {}, output_padding = {};
  std::int64_t group = 1;
};

/// Returns the same run for an image in NHWC.
KernelRun of_pixels(KernelRun run) {
  const Dims x = run.inputs[0]->dims();
  Dims turned = {x[0]};
  for (int axis = 2; axis < x.rank(); ++axis) turned.push_back(x[axis]);
  turned.push_back(x[1]);
  run.inputs[0] = random_floats(turned, 1, -1, 1);
  run.attributes.set("layout", std::string("NHWC"));
  return run;
}

KernelRun transposed_run(const TransposedCase& row, bool bias, const std::string& activation) {
  KernelRun run;
  run.op = OpKind::kConvTranspose;
  Dims w = {row.x[1], row.filters};
  for (const std::int64_t taps : row.kernel) w.push_back(taps);
  run.inputs = test_inputs(random_floats(row.x, 1, -1, 1), random_floats(w, 2, -1, 1));
  if (bias) run.inputs.emplace_back(random_floats({row.filters * row.group}, 3, -1, 1));
  run.constants = 0b110;
  run.attributes = test_attributes({{"strides", row.strides}, {"group", row.group}});
  if (!row.pads.empty()) run.attributes.set("pads", row.pads);
  if (!row.dilations.empty()) run.attributes.set("dilations", row.dilations);
  if (!row.output_padding.empty()) run.attributes.set("output_padding", row.output_padding);
  run.epilogue = then(activation);
  return run;
}

const std::vector<TransposedCase> kTransposedCases = {
    {"Doubles", {2, 20, 14, 13}, 30, {2, 2}, {2, 2}},
    {"Overlaps", {1, 33, 40, 31}, 17, {4, 4}, {2, 2}, {1, 1, 1, 1}},
    {"OddWithExtra", {1, 8, 9, 9}, 12, {3, 3}, {2, 2}, {1, 1, 1, 1}, {}, {1, 1}},
    {"StrideOne", {1, 16, 12, 50}, 9, {3, 5}, {1, 1}, {1, 2, 1, 2}},
    {"Threes", {1, 6, 10, 11}, 5, {2, 4}, {3, 3}, {0, 1, 1, 0}, {2, 1}},
    {"Gaps", {1, 5, 6, 7}, 3, {1, 2}, {3, 4}},
    {"Depthwise", {2, 12, 9, 20}, 1, {4, 4}, {2, 2}, {1, 1, 1, 1}, {}, {}, 12},
    {"Line", {1, 40, 900}, 20, {16}, {8}, {4, 4}},
    {"LongLine", {1, 2, 30000}, 64, {3}, {2}, {1, 1}},
    {"Volume", {1, 7, 5, 6, 9}, 8, {2, 3, 2}, {2, 1, 2}, {0, 1, 0, 0, 1, 0}},
    {"ManyFilters", {1, 64, 16, 16}, 200, {2, 2}, {2, 2}},
    {"TwoFloats", {1, 16, 20, 33}, 1, {2, 2}, {2, 2}},
    {"FourFloats", {1, 8, 31, 17}, 2, {2, 2}, {2, 2}, {0, 1, 1, 0}},
    {"SixFloats", {2, 8, 15, 18}, 2, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {"EightFloats", {1, 32, 20, 21}, 4, {2, 2}, {2, 2}},
    {"TwelveFloats", {1, 4, 64, 64}, 4, {3, 3}, {2, 2}, {0, 0, 1, 1}},
    {"AllCut", {1, 3, 2, 2}, 2, {2, 2}, {5, 5}, {3, 3, 3, 3}},
};

class TransposedConvolution : public testing::TestWithParam<TransposedCase> {};

TEST_P(TransposedConvolution, LikeReference) {
  for (const char* activation : {"", "Relu", "LeakyRelu", "Clip", "Silu"}) {
    const KernelRun run = transposed_run(GetParam(), *activation != '\0', activation);
    EXPECT_LE(error_against_reference(run, planar_transposed_convolution),
              allowed_error(activation))
        << activation;
    if (GetParam().group != 1 || GetParam().x.rank() > 4) continue;
    const KernelRun pixels = of_pixels(transposed_run(GetParam(), *activation != '\0', activation));
    EXPECT_LE(error_against_reference(pixels, pixel_transposed_convolution),
              allowed_error(activation))
        << activation;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, TransposedConvolution, testing::ValuesIn(kTransposedCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(TransposedConvolutions, RandomShapesAreLikeReference) {
  std::mt19937 random(13);
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 60; ++i) {
    TransposedCase row;
    row.group = pick(1, 3);
    row.x = {pick(1, 2), row.group * pick(1, 9), pick(1, 12), pick(1, 30)};
    row.filters = pick(1, 20);
    row.kernel = {pick(1, 4), pick(1, 5)};
    row.strides = {pick(1, 3), pick(1, 4)};
    row.dilations = {pick(1, 2), pick(1, 2)};
    row.output_padding = {pick(0, 1), pick(0, 2)};
    row.pads = {0, pick(0, row.kernel[1] - 1), pick(0, row.kernel[0] - 1), 0};
    SCOPED_TRACE(row.x.to_string() + " case " + std::to_string(i));
    const KernelRun run = transposed_run(row, i % 2 == 0, i % 3 == 0 ? "Relu" : "");
    EXPECT_LE(error_against_reference(run, planar_transposed_convolution), kConvolutionError);
    if (row.group != 1) continue;
    const KernelRun pixels = of_pixels(transposed_run(row, i % 2 == 0, i % 3 == 0 ? "Relu" : ""));
    EXPECT_LE(error_against_reference(pixels, pixel_transposed_convolution), kConvolutionError);
  }
}

TEST(TransposedConvolutions, DeclineComputedWeights) {
  KernelRun run = transposed_run(kTransposedCases[0], true, "");
  run.constants = 0;
  EXPECT_TRUE(cpu_declines(run));
}

}  // namespace
}  // namespace parallax
