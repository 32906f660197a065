#include "kernels/cpu/convolution/grouped_convolution.h"

#include <random>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

Result<std::unique_ptr<Kernel>> grouped(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape) return std::unique_ptr<Kernel>();
  return make_grouped_convolution(request, *shape);
}

const std::vector<ConvolutionCase> kGroupedCases = {
    {"FewChannels", {1, 28, 30, 32}, 32, {3, 3}, {1, 1, 1, 1}, {}, {}, 8},
    {"VectorsOfChannels", {2, 14, 14, 64}, 96, {3, 3}, {1, 1, 1, 1}, {2, 2}, {}, 4},
    {"SeveralPanels", {1, 20, 20, 60}, 210, {3, 3}, {1, 1, 1, 1}, {}, {}, 3},
    {"Pointwise", {1, 28, 28, 60}, 60, {1, 1}, {0, 0, 0, 0}, {}, {}, 3},
    {"ShortRows", {1, 5, 3, 24}, 12, {3, 3}, {1, 1, 1, 1}, {}, {}, 2},
    {"TwoPerChannel", {1, 9, 17, 6}, 12, {3, 3}, {1, 1, 1, 1}, {}, {}, 6},
    {"FewDepthwise", {1, 9, 17, 3}, 3, {3, 3}, {1, 1, 1, 1}, {}, {}, 3},
    {"DilatedStrided", {1, 30, 31, 8}, 12, {3, 2}, {2, 1, 2, 1}, {3, 2}, {2, 3}, 2},
    {"Line", {2, 51, 20}, 30, {5}, {2, 2}, {2}, {}, 5},
    {"DeepGroup", {1, 9, 12, 1800}, 20, {1, 2}, {0, 0, 0, 0}, {}, {}, 2},
    {"OneGroupOfManyRows", {1, 30, 12, 5}, 7, {19, 3}, {9, 1, 9, 1}},
    {"OneGroupOfPadding", {1, 3, 9, 4}, 8, {3, 9}, {2, 8, 2, 8}, {1, 3}},
};

class GroupedConvolution : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(GroupedConvolution, LikeReference) {
  for (const char* activation : {"", "Relu", "LeakyRelu", "Clip", "Silu"}) {
    const KernelRun run = convolution_run(GetParam(), *activation != '\0', activation);
    EXPECT_LE(error_against_reference(run, grouped), allowed_error(activation)) << activation;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, GroupedConvolution, testing::ValuesIn(kGroupedCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(GroupedConvolutions, RandomShapesAreLikeReference) {
  std::mt19937 random(13);
  for (int i = 0; i < 80; ++i) {
    const ConvolutionCase row = random_groups(random, {{1, 4}, {1, 20}, {1, 40}});
    const KernelRun run = convolution_run(row, i % 2 == 0, i % 3 == 0 ? "Relu" : "");
    SCOPED_TRACE(row.x.to_string() + " filters " + std::to_string(row.filters));
    EXPECT_LE(error_against_reference(run, grouped), kConvolutionError);
  }
}

TEST(GroupedConvolutions, DeclineWhatTheyCannotCompute) {
  const auto declines = [](const KernelRun& run) {
    const auto got = run_kernel_tiles(run, grouped);
    return !got && got.error().code == ErrorCode::kUnsupported;
  };
  const ConvolutionCase row{"", {1, 20, 20, 4}, 4, {3, 3}, {0, 0, 0, 0}, {}, {}, 2};
  EXPECT_FALSE(declines(convolution_run(row, true, "")));
  KernelRun planes = convolution_run(row, true, "");
  planes.attributes.set("layout", std::string("NCHW"));
  planes.inputs[0] = random_floats({1, 4, 20, 20}, 1);
  EXPECT_TRUE(declines(planes));
}

}  // namespace
}  // namespace parallax
