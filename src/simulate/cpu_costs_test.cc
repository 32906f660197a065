#include "simulate/cpu_costs.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

CpuRates rates() {
  CpuRates r;
  r.macs_per_second = 100;
  r.bytes_per_second = 10;
  r.samples = {{"MatMul", "simd", "small", 1000, 100, 50},
               {"MatMul", "simd", "large", 1e6, 1e4, 10000},
               {"Add", "simd", "one", 0, 64, 2}};
  return r;
}

TEST(CpuCosts, SamplesThenNeighboursThenRates) {
  const CpuRates r = rates();
  const CpuCosts costs(r);
  const auto seconds = [&](const char* op, const char* shapes, double macs, double bytes) {
    return costs.cost({op, "simd", shapes, macs, bytes}).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds("MatMul", "small", 1000, 100), 50) << "that very node was timed";
  EXPECT_NEAR(seconds("MatMul", "?", 1000, 100), 50, 1) << "the nearest sample rules";
  EXPECT_NEAR(seconds("MatMul", "?", 2e6, 2e4), 20000, 2000) << "at the rate of the large one";
  const double between = seconds("MatMul", "?", 31623, 1000) / 31623;
  EXPECT_GT(between, 0.01);
  EXPECT_LT(between, 0.05);
  EXPECT_DOUBLE_EQ(seconds("Add", "?", 0, 640), 20) << "by bytes where nothing is multiplied";
  EXPECT_DOUBLE_EQ(seconds("Conv", "?", 1000, 10), 10) << "limited by the multiplications";
  EXPECT_DOUBLE_EQ(seconds("Conv", "?", 10, 1000), 100) << "limited by the memory";
  EXPECT_DOUBLE_EQ(CpuCosts(CpuRates{}).cost({"Conv", "simd", "?", 10, 10}).seconds, 0);
}

TEST(CpuCosts, SaysWhatACostRestsOn) {
  const CpuRates r = rates();
  const CpuCosts costs(r);
  const auto basis = [&](const char* op, const char* shapes) {
    return costs.cost({op, "simd", shapes, 1000, 100}).basis;
  };
  EXPECT_EQ(basis("MatMul", "small"), CostBasis::kTimed);
  EXPECT_EQ(basis("MatMul", "?"), CostBasis::kSimilar);
  EXPECT_EQ(basis("Conv", "?"), CostBasis::kRates);
  EXPECT_EQ(basis("Add", "?"), CostBasis::kRates) << "its sample has no multiplications";
}

}  // namespace
}  // namespace parallax
