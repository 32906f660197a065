#include "cost/cpu_costs.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

const std::vector<NodeSample> kSamples = {{"MatMul", "fast", "small", 1000, 100, 50},
                                          {"MatMul", "fast", "large", 1e6, 1e4, 10000},
                                          {"Add", "fast", "one", 0, 64, 2}};
constexpr CoreKind kTimedCore = {1, {100, 10}};

TEST(CpuCosts, SamplesThenNeighboursThenRates) {
  const CpuCosts costs(kSamples);
  const auto seconds = [&](OpKind op, const char* shapes, double macs, double bytes) {
    return costs.cost({op, "fast", shapes, macs, bytes}, kTimedCore).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(OpKind::kMatMul, "small", 1000, 100), 50) << "that very node was timed";
  EXPECT_NEAR(seconds(OpKind::kMatMul, "?", 1000, 100), 50, 1) << "the nearest sample rules";
  EXPECT_NEAR(seconds(OpKind::kMatMul, "?", 2e6, 2e4), 20000, 2000)
      << "at the rate of the large one";
  const double between = seconds(OpKind::kMatMul, "?", 31623, 1000) / 31623;
  EXPECT_GT(between, 0.01);
  EXPECT_LT(between, 0.05);
  EXPECT_DOUBLE_EQ(seconds(OpKind::kAdd, "?", 0, 640), 20)
      << "by bytes where nothing is multiplied";
  EXPECT_DOUBLE_EQ(seconds(OpKind::kConv, "?", 1000, 10),
                   kernel_seconds({OpKind::kConv, "fast", 1000, 10}, {100, 10}))
      << "at the rates of its kernel";
  EXPECT_DOUBLE_EQ(costs.cost({OpKind::kConv, "fast", "?", 10, 10}, {}).seconds, 0);
}

TEST(CpuCosts, OtherCoresTakeWhatTheirSpeedOrTheirRatesSay) {
  const CpuCosts costs(kSamples);
  const auto seconds = [&](OpKind op, const CoreKind& core) {
    return costs.cost({op, "fast", "small", 1000, 100}, core).seconds;
  };
  const CoreKind slow = {0.25, {50, 1}};
  EXPECT_DOUBLE_EQ(seconds(OpKind::kMatMul, slow), 4 * 50) << "what was timed, by the speed";
  EXPECT_NEAR(costs.cost({OpKind::kMatMul, "fast", "?", 1000, 100}, slow).seconds, 4 * 50, 4);
  EXPECT_DOUBLE_EQ(seconds(OpKind::kConv, slow),
                   kernel_seconds({OpKind::kConv, "fast", 1000, 100}, slow.rates));
}

TEST(CpuCosts, SaysWhatACostRestsOn) {
  const CpuCosts costs(kSamples);
  const auto basis = [&](OpKind op, const char* shapes) {
    return costs.cost({op, "fast", shapes, 1000, 100}, kTimedCore).basis;
  };
  EXPECT_EQ(basis(OpKind::kMatMul, "small"), CostBasis::kTimed);
  EXPECT_EQ(basis(OpKind::kMatMul, "?"), CostBasis::kSimilar);
  EXPECT_EQ(basis(OpKind::kConv, "?"), CostBasis::kRates);
  EXPECT_EQ(basis(OpKind::kAdd, "?"), CostBasis::kRates) << "its sample has no multiplications";
}

}  // namespace
}  // namespace parallax
