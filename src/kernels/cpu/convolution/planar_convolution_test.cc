#include "kernels/cpu/convolution/planar_convolution.h"

#include <algorithm>
#include <random>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

Result<std::unique_ptr<Kernel>> planar(const KernelRequest& request) {
  const auto shape = volume_convolution_shape(request);
  if (!shape) return std::unique_ptr<Kernel>();
  return make_planar_convolution(request, *shape);
}

/// Returns a run of the case `row`, whose image is NCHW.
KernelRun planar_run(const ConvolutionCase& row, bool bias, const std::string& activation) {
  KernelRun run = convolution_run(row, bias, activation);
  Dims w = {row.filters, row.x[1] / row.group};
  for (const std::int64_t taps : row.kernel) w.push_back(taps);
  run.inputs[1] = random_floats(w, 2, -1, 1);
  run.attributes.set("layout", std::string("NCHW"));
  return run;
}

const std::vector<ConvolutionCase> kPlanarCases = {
    {"Pointwise", {1, 8, 9, 7}, 16, {1, 1}, {0, 0, 0, 0}},
    {"OnePixel", {1, 16, 1, 1}, 8, {1, 1}, {0, 0, 0, 0}},
    {"OddChannels", {1, 3, 11, 13}, 5, {3, 3}, {1, 1, 1, 1}},
    {"Asymmetric", {1, 4, 10, 11}, 8, {3, 5}, {0, 1, 2, 3}, {2, 3}},
    {"Dilated", {1, 4, 17, 15}, 8, {3, 3}, {2, 3, 2, 3}, {1, 1}, {2, 3}},
    {"StridedDilated", {1, 4, 20, 21}, 8, {3, 3}, {1, 0, 1, 1}, {2, 2}, {2, 1}},
    {"DilatedByStride", {1, 3, 20, 21}, 8, {3, 3}, {2, 3, 2, 3}, {2, 3}, {2, 3}},
    {"StrideOverTaps", {1, 4, 10, 10}, 8, {3, 3}, {0, 0, 0, 0}, {4, 5}},
    {"StrideThree", {2, 7, 30, 70}, 13, {3, 3}, {1, 1, 1, 1}, {3, 3}},
    {"StrideFour", {1, 3, 40, 140}, 7, {11, 11}, {2, 2, 2, 2}, {4, 4}},
    {"Patches", {1, 3, 32, 32}, 24, {16, 16}, {0, 0, 0, 0}, {16, 16}},
    {"Groups", {2, 8, 9, 9}, 12, {3, 3}, {1, 1, 1, 1}, {}, {}, 2},
    {"ManyGroups", {1, 64, 28, 28}, 64, {3, 3}, {1, 1, 1, 1}, {}, {}, 16},
    {"Depthwise", {1, 10, 9, 9}, 10, {3, 3}, {1, 1, 1, 1}, {2, 2}, {}, 10},
    {"TwoPerChannel", {1, 6, 9, 9}, 12, {3, 3}, {1, 1, 1, 1}, {}, {}, 6},
    {"LargeFilter", {1, 3, 20, 20}, 3, {17, 31}, {8, 15, 8, 15}, {}, {}, 3},
    {"WholeImage", {1, 20, 7, 7}, 30, {7, 7}, {0, 0, 0, 0}},
    {"SeveralBlocks", {1, 200, 14, 14}, 20, {3, 3}, {1, 1, 1, 1}},
    {"PanelsAreCut", {1, 160, 7, 7}, 600, {3, 3}, {1, 1, 1, 1}},
    {"ManyTiles", {2, 32, 40, 61}, 64, {3, 3}, {1, 1, 1, 1}},
    {"ColumnsAreCut", {1, 64, 4, 900}, 20, {3, 5}, {1, 2, 1, 2}},
    {"Line", {2, 8, 51}, 16, {3}, {1, 0}, {2}},
    {"LongLine", {1, 80, 1200}, 33, {3}, {1, 1}},
    {"LineOfOneChannel", {1, 1, 5000}, 65, {10}, {0, 0}, {5}},
    {"Volume", {2, 3, 5, 9, 11}, 8, {3, 3, 3}, {1, 1, 1, 1, 1, 1}},
    {"VolumeStridedDilated",
     {1, 4, 9, 10, 11},
     6,
     {3, 2, 3},
     {2, 1, 0, 1, 0, 2},
     {2, 3, 1},
     {2, 1, 2}},
    {"VolumeGroups", {1, 6, 4, 6, 6}, 9, {2, 3, 3}, {0, 1, 1, 1, 1, 1}, {}, {}, 3},
    {"VolumePointwise", {1, 6, 4, 6, 6}, 9, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
};

class PlanarConvolution : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(PlanarConvolution, LikeReference) {
  for (const char* activation : {"", "Relu", "LeakyRelu", "Clip", "Silu"}) {
    const KernelRun run = planar_run(GetParam(), *activation != '\0', activation);
    EXPECT_LE(error_against_reference(run, planar), allowed_error(activation)) << activation;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, PlanarConvolution, testing::ValuesIn(kPlanarCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(PlanarConvolutions, RandomShapesAreLikeReference) {
  std::mt19937 random(12);
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 120; ++i) {
    const int axes = i % 3 + 1;
    ConvolutionCase row;
    row.group = pick(1, 3);
    row.x = {pick(1, 2), row.group * pick(1, 12)};
    row.filters = row.group * pick(1, 15);
    row.pads.resize(static_cast<std::size_t>(2 * axes));
    for (int a = 0; a < axes; ++a) {
      row.kernel.push_back(pick(1, 4));
      row.dilations.push_back(pick(1, 3));
      row.strides.push_back(pick(1, 5));
      const std::int64_t reach = (row.kernel.back() - 1) * row.dilations.back();
      const auto at = static_cast<std::size_t>(a);
      row.pads[at] = std::min<std::int64_t>(pick(0, 4), reach);
      row.pads[at + static_cast<std::size_t>(axes)] = std::min<std::int64_t>(pick(0, 4), reach);
      row.x.push_back(pick(10, a + 1 == axes ? 70 : 14));
    }
    const KernelRun run = planar_run(row, i % 2 == 0, i % 5 == 0 ? "Relu" : "");
    SCOPED_TRACE(row.x.to_string() + " filters " + std::to_string(row.filters));
    EXPECT_LE(error_against_reference(run, planar), kConvolutionError);
  }
}

TEST(PlanarConvolutions, NotANumberGoesWhereTheReferencePutsIt) {
  for (const ConvolutionCase& row : kPlanarCases) {
    if (row.filters > 100) continue;
    KernelRun run = planar_run(row, true, "Relu");
    std::vector<float> x = test_values<float>(*run.inputs[0]);
    x[x.size() / 3] = std::nanf("");
    x[x.size() / 2] = INFINITY;
    run.inputs[0] = test_tensor<float>(row.x, x);
    const auto got = run_kernel_tiles(run, planar);
    const auto want = run_kernel_tiles(run, KernelLibrary::kReference);
    ASSERT_TRUE(got && want) << row.name;
    expect_close(got->outputs[0], want->outputs[0], {1e-4, 1e-4});
  }
}

TEST(PlanarConvolutions, LargeOnesAreCut) {
  for (const ConvolutionCase& row : kPlanarCases) {
    const std::string name = row.name;
    if (name != "PanelsAreCut" && name != "ManyTiles" && name != "ManyGroups") continue;
    const auto got = run_kernel_tiles(planar_run(row, false, ""), planar);
    ASSERT_TRUE(got);
    EXPECT_GE(got->tiles, 2) << name;
  }
}

TEST(PlanarConvolutions, ManyFiltersTakeLittleScratch) {
  const KernelRun run = planar_run({"", {1, 1, 8, 64}, 20000, {1, 1}, {0, 0, 0, 0}}, false, "");
  std::int64_t scratch = -1;
  const auto got = run_kernel_tiles(run, [&](const KernelRequest& request) {
    auto kernel = planar(request);
    if (kernel && *kernel != nullptr) scratch = (*kernel)->scratch_bytes();
    return kernel;
  });
  ASSERT_TRUE(got);
  EXPECT_GE(scratch, 0);
  EXPECT_LE(scratch, 1 << 20);
}

TEST(PlanarConvolutions, DeclineWhatTheyCannotCompute) {
  const ConvolutionCase row{"", {1, 4, 20, 20}, 4, {3, 3}, {0, 0, 0, 0}};
  const auto declines = [](const KernelRun& run) {
    const auto got = run_kernel_tiles(run, planar);
    return !got && got.error().code == ErrorCode::kUnsupported;
  };
  EXPECT_FALSE(declines(planar_run(row, true, "")));
  KernelRun computed = planar_run(row, true, "");
  computed.constants = 0b100;
  EXPECT_TRUE(declines(computed));
  EXPECT_TRUE(declines(planar_run({"", {0, 4, 20, 20}, 4, {3, 3}, {0, 0, 0, 0}}, true, "")));
}

}  // namespace
}  // namespace parallax
