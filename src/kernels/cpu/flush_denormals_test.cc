#include "kernels/cpu/flush_denormals.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cpu/convolution/convolution_test_util.h"
#include "kernels/cpu/gemm/gemm_test_util.h"

namespace parallax {
namespace {

#if defined(__x86_64__)
constexpr float kDenormal = 1e-39F;

bool keeps_denormals() {
  const volatile float x = kDenormal, half = 0.5F;
  return x * half != 0;
}

TEST(FlushDenormals, EndsWithItsScope) {
  EXPECT_TRUE(keeps_denormals());
  {
    const FlushDenormals flush;
    EXPECT_FALSE(keeps_denormals());
    { const FlushDenormals inner; }
    EXPECT_FALSE(keeps_denormals());
  }
  EXPECT_TRUE(keeps_denormals());
}

struct DenormalCase {
  const char* name;
  KernelRun (*run)();  ///< input 1 is replaced by denormals
};
void PrintTo(const DenormalCase& row, std::ostream* out) { *out << row.name; }

KernelRun channels_last(const ConvolutionCase& row) { return convolution_run(row, false, ""); }

/// Returns a Conv in NCHW of `filters` filters of [channels, taps, taps].
KernelRun channels_first(std::int64_t channels, std::int64_t filters, std::int64_t taps,
                         std::int64_t group) {
  const std::int64_t pad = taps / 2;
  KernelRun run = channels_last(
      {"", {1, 20, 20, channels}, filters, {taps, taps}, {pad, pad, pad, pad}, {}, {}, group});
  run.inputs[0] = random_floats({1, channels, 20, 20}, 1, -1, 1);
  run.attributes.set("layout", std::string("NCHW"));
  return run;
}

KernelRun transposed(const std::string& layout) {
  KernelRun run;
  run.op = OpKind::kConvTranspose;
  run.inputs = test_inputs(random_floats({1, 16, 16, 16}, 1), random_floats({16, 8, 2, 2}, 2));
  run.constants = 0b10;
  run.attributes = test_attributes({{"layout", layout}});
  return run;
}

const DenormalCase kDenormalCases[] = {
    {"Window",
     [] {
       return channels_last({"", {1, 40, 40, 3}, 16, {3, 3}, {1, 1, 1, 1}, {2, 2}});
     }},
    {"Columns",
     [] {
       return channels_last({"", {1, 9, 7, 8}, 16, {1, 1}, {0, 0, 0, 0}});
     }},
    {"Winograd",
     [] {
       return channels_last({"", {1, 40, 40, 32}, 32, {3, 3}, {1, 1, 1, 1}});
     }},
    {"Depthwise",
     [] {
       return channels_last({"", {1, 20, 20, 16}, 16, {3, 3}, {1, 1, 1, 1}, {}, {}, 16});
     }},
    {"SmallGroups",
     [] {
       return channels_last({"", {1, 20, 20, 32}, 32, {3, 3}, {1, 1, 1, 1}, {}, {}, 8});
     }},
    {"Groups",
     [] {
       return channels_last({"", {1, 20, 20, 128}, 128, {3, 3}, {1, 1, 1, 1}, {}, {}, 2});
     }},
    {"Planar", [] { return channels_first(3, 16, 3, 1); }},
    {"Plane", [] { return channels_first(16, 16, 1, 1); }},
    {"DepthwiseTurned", [] { return channels_first(16, 16, 7, 16); }},
    {"TransposedPixels", [] { return transposed("NHWC"); }},
    {"TransposedPlanes", [] { return transposed("NCHW"); }},
    {"Product",
     [] {
       return constant_matmul_run({20, 30}, {30, 40});
     }},
    {"BatchedProduct",
     [] {
       return matmul_run({2, 20, 30}, {2, 30, 40});
     }},
};

class DenormalWeights : public testing::TestWithParam<DenormalCase> {};

TEST_P(DenormalWeights, AreZeros) {
  KernelRun run = GetParam().run();
  const Dims dims = run.inputs[1]->dims();
  run.inputs[1] = test_tensor<float>(
      dims, std::vector<float>(static_cast<std::size_t>(dims.elements()), kDenormal));
  const auto got = run_kernel(run, KernelLibrary::kCpu);
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  for (const float x : test_values<float>((*got)[0])) ASSERT_EQ(x, 0.0F);
  EXPECT_TRUE(keeps_denormals());
}

INSTANTIATE_TEST_SUITE_P(Table, DenormalWeights, testing::ValuesIn(kDenormalCases),
                         [](const auto& row) { return std::string(row.param.name); });
#endif

}  // namespace
}  // namespace parallax
