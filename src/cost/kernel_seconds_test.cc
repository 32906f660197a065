#include "cost/kernel_seconds.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

constexpr OpKind kProduct = OpKind::kMatMul;

double seconds(std::string_view kernel, double macs, double bytes,
               const Core& core = kMeasuredCore) {
  return kernel_seconds({kProduct, kernel, macs, bytes}, core);
}

TEST(KernelSeconds, GrowWithTheWork) {
  EXPECT_EQ(seconds("panels_f32", 0, 0), 0);
  EXPECT_DOUBLE_EQ(seconds("panels_f32", 2e9, 0), 2 * seconds("panels_f32", 1e9, 0));
  EXPECT_DOUBLE_EQ(seconds("panels_f32", 1e9, 1e6),
                   seconds("panels_f32", 1e9, 0) + seconds("panels_f32", 0, 1e6));
}

TEST(KernelSeconds, ScaleWithTheCore) {
  const Core half = {kMeasuredCore.macs_per_second / 2, kMeasuredCore.bytes_per_second};
  EXPECT_DOUBLE_EQ(seconds("panels_f32", 1e9, 0, half), 2 * seconds("panels_f32", 1e9, 0));
  EXPECT_DOUBLE_EQ(seconds("panels_f32", 0, 1e9, half), seconds("panels_f32", 0, 1e9));
  EXPECT_EQ(seconds("panels_f32", 1e9, 1e9, {}), 0) << "rates that are not known limit nothing";
}

TEST(KernelSeconds, ACoreIsAsFastAsItIsBuilt) {
  struct Case {
    const char* what;
    CorePeaks peaks;
    double macs, bytes;  // per second at best
  } const cases[] = {
      {"the measured core", kMeasuredPeaks, 3.69e9 * 16, 3.69e9 * 64},
      {"four pipes of 128 bits, three loads", {2.8e9, 4 * 4, 3 * 16}, 44.8e9, 134.4e9},
      {"two pipes, two loads", {2.6e9, 2 * 4, 2 * 16}, 20.8e9, 83.2e9},
      {"one pipe, half a load", {1.8e9, 4, 8}, 7.2e9, 14.4e9},
      {"nothing known", {}, 0, 0},
  };
  const double macs_share = kMeasuredCore.macs_per_second / (3.69e9 * 16);
  const double bytes_share = kMeasuredCore.bytes_per_second / (3.69e9 * 64);
  EXPECT_GT(macs_share, 0.9) << "kernels come near the peak";
  EXPECT_LT(macs_share, 1);
  for (const Case& c : cases) {
    const Core core = core_of(c.peaks);
    EXPECT_NEAR(core.macs_per_second, macs_share * c.macs, 1) << c.what;
    EXPECT_NEAR(core.bytes_per_second, bytes_share * c.bytes, 1) << c.what;
  }
  EXPECT_DOUBLE_EQ(seconds("panels_f32", 1e9, 1e6, core_of(kMeasuredPeaks)),
                   seconds("panels_f32", 1e9, 1e6));
  const Core tenth = core_with(kMeasuredCore.macs_per_second / 10);
  EXPECT_DOUBLE_EQ(seconds("panels_f32", 1e9, 1e6, tenth), 10 * seconds("panels_f32", 1e9, 1e6))
      << "a core of which one rate is known is slower at all";
}

TEST(KernelSeconds, KnowKernelsByName) {
  EXPECT_LT(seconds("panels_bf16", 1e9, 0), seconds("panels_f32", 1e9, 0));
  EXPECT_LT(seconds("panels_f32", 1e9, 0), seconds("reference", 1e9, 0));
  EXPECT_DOUBLE_EQ(seconds("not measured", 57e9, 24e9), 2) << "the core's rates";
  EXPECT_EQ(kernel_seconds({OpKind::kAbs, "vector", 0, 1e9}, kMeasuredCore),
            kernel_seconds({OpKind::kExp, "vector", 0, 1e9}, kMeasuredCore))
      << "the code of another operator's";
}

}  // namespace
}  // namespace parallax
