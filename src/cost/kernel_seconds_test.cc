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
