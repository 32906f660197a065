#include "kernels/cpu/convolution/dot_convolution.h"

#include <random>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

Result<std::unique_ptr<Kernel>> dots(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  return shape ? make_dot_convolution(request, *shape) : std::unique_ptr<Kernel>();
}

const std::vector<ConvolutionCase> kDotCases = {
    {"One", {1, 30, 41, 32}, 1, {7, 3}, {3, 1, 3, 1}},
    {"Two", {2, 17, 23, 24}, 2, {3, 3}, {1, 1, 1, 1}},
    {"Three", {1, 40, 37, 8}, 3, {9, 9}, {4, 4, 4, 4}},
    {"Four", {1, 19, 25, 33}, 4, {3, 3}, {1, 0, 1, 2}},
    {"Points", {3, 16, 16, 88}, 2, {1, 1}, {0, 0, 0, 0}},
    {"Strided", {1, 31, 33, 16}, 3, {3, 5}, {0, 2, 1, 1}, {2, 3}},
    {"DilatedRows", {1, 21, 20, 19}, 1, {3, 2}, {2, 1, 2, 0}, {1, 1}, {2, 1}},
    {"RowsApart", {1, 12, 14, 20}, 2, {1, 1}, {0, 0, 0, 0}, {3, 2}, {2, 2}},
    {"WiderThanTheImage", {1, 2, 2, 32}, 1, {5, 5}, {3, 3, 3, 3}},
    {"NothingInside", {1, 4, 3, 16}, 2, {3, 5}, {1, 4, 1, 4}, {1, 2}},
    {"Line", {2, 301, 17}, 1, {3}, {1, 0}, {2}},
    {"WholeImage", {1, 5, 6, 20}, 4, {5, 6}, {0, 0, 0, 0}},
};

class DotConvolution : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(DotConvolution, LikeReference) {
  for (const char* activation : {"", "Relu", "Clip", "Silu"}) {
    const KernelRun run = convolution_run(GetParam(), *activation != '\0', activation);
    EXPECT_LE(error_against_reference(run, dots), allowed_error(activation)) << activation;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, DotConvolution, testing::ValuesIn(kDotCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(DotConvolutions, RandomShapesAreLikeReference) {
  std::mt19937 random(11);
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 60; ++i) {
    ConvolutionCase row;
    row.filters = pick(1, 4);
    row.kernel = {pick(1, 4), pick(1, 5)};
    row.strides = {pick(1, 3), pick(1, 3)};
    row.dilations = {pick(1, 2), 1};
    row.pads = {pick(0, 2), pick(0, 4), pick(0, 2), pick(0, 4)};
    for (std::size_t p = 0; p < 4; ++p)
      row.pads[p] = std::min(row.pads[p], (row.kernel[p % 2] - 1) * row.dilations[p % 2]);
    row.x = {pick(1, 2), pick(7, 16), pick(6, 40), pick(16, 40)};
    const KernelRun run = convolution_run(row, i % 2 == 0, i % 3 == 0 ? "Relu" : "");
    SCOPED_TRACE(row.x.to_string());
    EXPECT_LE(error_against_reference(run, dots), kConvolutionError);
  }
}

TEST(DotConvolutions, DeclineWhatTheyCannotCompute) {
  const auto declines = [](const ConvolutionCase& row) {
    const auto got = run_kernel_tiles(convolution_run(row, true, ""), dots);
    return !got && got.error().code == ErrorCode::kUnsupported;
  };
  EXPECT_TRUE(declines({"ManyFilters", {1, 9, 9, 32}, 5, {3, 3}, {1, 1, 1, 1}}));
  EXPECT_TRUE(declines({"FewChannels", {1, 9, 9, 1}, 1, {3, 3}, {1, 1, 1, 1}}));
  EXPECT_TRUE(declines({"TapsApart", {1, 9, 9, 32}, 1, {1, 3}, {0, 2, 0, 2}, {}, {1, 2}}));
  EXPECT_TRUE(declines({"Groups", {1, 9, 9, 32}, 2, {3, 3}, {1, 1, 1, 1}, {}, {}, 2}));
}

}  // namespace
}  // namespace parallax
