#include "rates/rate_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/test_folder.h"

namespace parallax {
namespace {

using testing::HasSubstr;

KeptRates some_rates() {
  KeptRates kept{{}, std::chrono::sys_days(std::chrono::year(2026) / 11 / 26)};
  Calibration& calibration = kept.calibration;
  calibration.launch_seconds = 2e-5;
  calibration.bytes_per_second = 1e10;
  calibration.samples = {{WorkKind::kProduct, 1e-3, 2e-3, 5e-4}};
  calibration.regions = {{~std::uint64_t{0}, "a \"node\"\n", 1e-3, 2e-3}};
  calibration.splits = {{~std::uint64_t{0}, 15, 3e-3}};
  return kept;
}

class RateFileTest : public FolderTest {};

TEST_F(RateFileTest, KeepsRatesOfItsKey) {
  const auto path = rate_file(folder_, "cores:2 on \"x\"\n");
  ASSERT_TRUE(save_rates(path, "cores:2 on \"x\"\n", some_rates()));
  const auto kept = load_rates(path, "cores:2 on \"x\"\n");
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->since, some_rates().since);
  const Calibration* const read = &kept->calibration;
  EXPECT_EQ(read->launch_seconds, 2e-5);
  EXPECT_EQ(read->bytes_per_second, 1e10);
  ASSERT_EQ(read->samples.size(), 1U);
  EXPECT_EQ(read->samples[0].kind, WorkKind::kProduct);
  EXPECT_DOUBLE_EQ(read->samples[0].delegate, 5e-4);
  ASSERT_EQ(read->regions.size(), 1U);
  EXPECT_EQ(read->regions[0].key, ~std::uint64_t{0});
  EXPECT_EQ(read->regions[0].node, "a ?node??");
  ASSERT_EQ(read->splits.size(), 1U);
  EXPECT_EQ(read->splits[0].key, ~std::uint64_t{0});
  EXPECT_EQ(read->splits[0].share, 15);
  EXPECT_DOUBLE_EQ(read->splits[0].seconds, 3e-3);
  EXPECT_NE(path, rate_file(folder_, "cores:1 on \"x\"\n"));
  EXPECT_THAT(load_rates(path, "cores:1").error().message, HasSubstr("rates of another device"));
}

TEST_F(RateFileTest, RefusesDamage) {
  const std::string text = rates_text("key", some_rates());
  EXPECT_TRUE(parse_rates(text, "key", "f"));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] ^= 1;
    EXPECT_FALSE(parse_rates(damaged, "key", "f")) << i;
    EXPECT_FALSE(parse_rates(std::string_view(text).substr(0, i), "key", "f")) << i;
  }
  for (const std::string_view garbage : {"", "\n", "# Rates", "\x01\xff", "launch_seconds = 1"})
    EXPECT_FALSE(parse_rates(garbage, "key", "f"));
}

}  // namespace
}  // namespace parallax
