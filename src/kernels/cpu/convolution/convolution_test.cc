#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

const std::vector<ConvolutionCase> kOneColumn = {
    {"Depthwise", {2, 40, 1, 16}, 16, {9, 1}, {4, 0, 4, 0}, {}, {}, 16},
    {"DepthwiseStrided", {1, 700, 1, 20}, 20, {5, 1}, {1, 0, 2, 0}, {2, 1}, {2, 1}, 20},
    {"Dense", {1, 120, 1, 24}, 40, {3, 1}, {1, 0, 1, 0}},
    {"DenseStrided", {3, 31, 1, 8}, 9, {4, 1}, {0, 0, 3, 0}, {3, 1}},
    {"Points", {2, 30, 1, 32}, 48, {1, 1}, {0, 0, 0, 0}},
    {"Groups", {1, 50, 1, 32}, 64, {3, 1}, {1, 0, 1, 0}, {}, {}, 4},
    // Not laid down: padding next to the column is read.
    {"Padded", {1, 20, 1, 16}, 16, {3, 3}, {1, 1, 1, 1}, {}, {}, 16},
    {"PaddedBehind", {1, 20, 1, 16}, 8, {3, 2}, {1, 0, 1, 1}},
};

Result<std::unique_ptr<Kernel>> any_kernel(const KernelRequest& request) {
  return test_detail::make_of(request, KernelLibrary::kCpu);
}

class ConvolutionOfOneColumn : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(ConvolutionOfOneColumn, LikeReference) {
  const KernelRun run = convolution_run(GetParam(), true, "Relu");
  EXPECT_LE(error_against_reference(run, any_kernel), kConvolutionError);
}

INSTANTIATE_TEST_SUITE_P(Table, ConvolutionOfOneColumn, testing::ValuesIn(kOneColumn),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace parallax
