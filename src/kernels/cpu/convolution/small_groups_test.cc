#include "kernels/cpu/convolution/small_groups.h"

#include <cmath>
#include <random>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

Result<std::unique_ptr<Kernel>> small(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape) return std::unique_ptr<Kernel>();
  return make_small_groups(request, *shape);
}

/// Groups of up to 4 filters, which every vector holds.
const std::vector<ConvolutionCase> kSmallGroupsCases = {
    {"FourChannels", {1, 28, 30, 64}, 64, {3, 3}, {1, 1, 1, 1}, {}, {}, 16},
    {"FewFilters", {2, 14, 15, 48}, 16, {3, 3}, {1, 1, 1, 1}, {}, {}, 16},
    {"TwoPerChannel", {1, 9, 17, 24}, 48, {3, 3}, {1, 1, 1, 1}, {}, {}, 24},
    {"ThreeAndTwo", {1, 9, 17, 33}, 22, {3, 5}, {1, 2, 1, 2}, {}, {}, 11},
    {"LastBlockShifted", {1, 8, 11, 18}, 18, {3, 3}, {1, 1, 1, 1}, {}, {}, 9},
    {"OneGroupAVector", {1, 14, 14, 80}, 12, {3, 3}, {1, 1, 1, 1}, {}, {}, 4},
    {"DeepGroups", {1, 6, 9, 200}, 8, {2, 3}, {0, 1, 1, 1}, {}, {}, 2},
    {"StridedDilated", {1, 20, 31, 32}, 32, {3, 4}, {2, 3, 2, 3}, {2, 3}, {2, 1}, 8},
    {"WiderThanTheImage", {1, 2, 2, 32}, 32, {5, 5}, {3, 3, 3, 3}, {}, {}, 8},
    {"Pointwise", {1, 7, 9, 32}, 32, {1, 1}, {0, 0, 0, 0}, {}, {}, 16},
    {"Line", {2, 51, 20}, 20, {5}, {2, 2}, {2}, {}, 5},
};

class SmallGroups : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(SmallGroups, LikeReference) {
  for (const char* activation : {"", "Relu", "LeakyRelu", "Clip", "Silu"}) {
    const KernelRun run = convolution_run(GetParam(), *activation != '\0', activation);
    EXPECT_LE(error_against_reference(run, small), allowed_error(activation)) << activation;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, SmallGroups, testing::ValuesIn(kSmallGroupsCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(SmallGroupConvolutions, RandomShapesAreLikeReference) {
  std::mt19937 random(17);
  for (int i = 0; i < 80; ++i) {
    const ConvolutionCase row = random_groups(random, {{8, 20}, {2, 5}, {1, 4}});
    const KernelRun run = convolution_run(row, i % 2 == 0, i % 3 == 0 ? "Relu" : "");
    SCOPED_TRACE(row.x.to_string() + " filters " + std::to_string(row.filters));
    EXPECT_LE(error_against_reference(run, small), kConvolutionError);
  }
}

TEST(SmallGroupConvolutions, NotANumberStaysInItsGroup) {
  for (const ConvolutionCase& row : kSmallGroupsCases) {
    KernelRun run = convolution_run(row, true, "Relu");
    std::vector<float> x = test_values<float>(*run.inputs[0]);
    x[x.size() / 3] = std::nanf("");
    x[x.size() / 2] = INFINITY;
    run.inputs[0] = test_tensor<float>(row.x, x);
    const auto got = run_kernel_tiles(run, small);
    const auto want = run_kernel_tiles(run, KernelLibrary::kReference);
    ASSERT_TRUE(got && want) << row.name;
    expect_close(got->outputs[0], want->outputs[0], {1e-4, 1e-4});
  }
}

TEST(SmallGroupConvolutions, DeclineWhatTheyCannotCompute) {
  const auto declines = [](const KernelRun& run) {
    const auto got = run_kernel_tiles(run, small);
    return !got && got.error().code == ErrorCode::kUnsupported;
  };
  const ConvolutionCase row{"", {1, 20, 20, 32}, 32, {3, 3}, {0, 0, 0, 0}, {}, {}, 8};
  EXPECT_FALSE(declines(convolution_run(row, true, "")));
  EXPECT_TRUE(declines(convolution_run({"", {1, 9, 9, 64}, 64, {3, 3}, {0, 0, 0, 0}}, true, "")));
  EXPECT_TRUE(
      declines(convolution_run({"", {1, 9, 9, 2}, 4, {3, 3}, {0, 0, 0, 0}, {}, {}, 2}, true, "")));
  KernelRun planes = convolution_run(row, true, "");
  planes.attributes.set("layout", std::string("NCHW"));
  planes.inputs[0] = random_floats({1, 32, 20, 20}, 1);
  EXPECT_TRUE(declines(planes));
}

}  // namespace
}  // namespace parallax
