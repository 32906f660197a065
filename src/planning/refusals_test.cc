// The regions that plans leave out after refusals, and for how many runs.
#include "planning/refusals.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

const Binding kSmall{{4}}, kLarge{{1024}};

RefusedRegion region(Refusal kind, std::vector<std::string> nodes = {"a", "b"}) {
  return {0, std::move(nodes), kind, "because"};
}

TEST(RefusalsTest, SizesAreOfTheirBindingAndRegionsOfAll) {
  struct Row {
    Refusal kind;
    bool others;
  };
  for (const Row& row : {Row{Refusal::kSizes, false}, Row{Refusal::kMoment, false},
                         Row{Refusal::kRegion, true}, Row{Refusal::kDevice, true}}) {
    Refusals refusals;
    EXPECT_TRUE(refusals.of(kLarge).empty());
    EXPECT_TRUE(refusals.add(kLarge, refusals.version(), {region(row.kind)}));
    ASSERT_EQ(refusals.of(kLarge).size(), 1U);
    EXPECT_EQ(refusals.of(kLarge)[0].why, "because");
    EXPECT_EQ(refusals.of(kSmall).size(), row.others ? 1U : 0U);
    EXPECT_TRUE(refusals.forget());
    EXPECT_TRUE(refusals.of(kLarge).empty());
    EXPECT_FALSE(refusals.forget());
  }
}

TEST(RefusalsTest, TheCpuKeepsWhatARunHoldsForIt) {
  Refusals refusals;
  {
    const Refusals::CpuOnly one(refusals, kLarge, {region(Refusal::kMoment, {})});
    const Refusals::CpuOnly two(refusals, kLarge, {region(Refusal::kMoment, {"c"})});
    EXPECT_FALSE(refusals.forget());
    EXPECT_EQ(refusals.of(kLarge).size(), 2U);
    EXPECT_TRUE(refusals.of(kSmall).empty());
  }
  EXPECT_TRUE(refusals.of(kLarge).empty());
}

TEST(RefusalsTest, OnlyOlderPlansAreMadeAgain) {
  Refusals refusals;
  const std::uint64_t before = refusals.version();
  EXPECT_TRUE(refusals.add(kLarge, before, {region(Refusal::kRegion)}));
  EXPECT_TRUE(refusals.add(kSmall, before, {region(Refusal::kRegion)}));
  EXPECT_FALSE(refusals.add(kSmall, refusals.version(), {region(Refusal::kRegion)}))
      << "a plan without the region would be the same";
  EXPECT_TRUE(refusals.add(kSmall, refusals.version(), {region(Refusal::kRegion, {"c"})}));
  EXPECT_EQ(refusals.of(kSmall).size(), 2U);
  EXPECT_TRUE(refusals.add(kSmall, refusals.version(), {region(Refusal::kSizes, {"d"})}));
  EXPECT_FALSE(refusals.add(kSmall, refusals.version(), {region(Refusal::kSizes, {"d"})}));
}

TEST(RefusalsTest, AMomentEndsAfterSoManyRuns) {
  Refusals refusals;
  for (const int runs : {16, 32, 64}) {
    EXPECT_TRUE(refusals.add(kLarge, 0, {region(Refusal::kMoment)}));
    EXPECT_FALSE(refusals.add(kLarge, 0, {region(Refusal::kMoment)})) << "a run begun before";
    for (int run = 1; run <= runs; ++run) {
      EXPECT_EQ(refusals.of(kLarge).size(), 1U);
      EXPECT_FALSE(refusals.count_run(kSmall));
      EXPECT_EQ(refusals.count_run(kLarge), run == runs);
    }
    EXPECT_TRUE(refusals.of(kLarge).empty()) << "it is tried again";
  }
  for (int run = 0; run < 100; ++run) EXPECT_FALSE(refusals.count_run(kLarge));
  EXPECT_TRUE(refusals.add(kLarge, 0, {region(Refusal::kMoment)}));
  for (int run = 1; run <= 16; ++run) EXPECT_EQ(refusals.count_run(kLarge), run == 16);
}

TEST(RefusalsTest, SomeBindingsAreKept) {
  Refusals refusals;
  for (std::int64_t n = 0; n < 5000; ++n)
    EXPECT_TRUE(refusals.add(Binding{{n}}, 0, {region(Refusal::kSizes)}));
  std::size_t kept = 0;
  for (std::int64_t n = 0; n < 5000; ++n) kept += refusals.of(Binding{{n}}).size();
  EXPECT_EQ(kept, Refusals::kMaxBindings);
  EXPECT_EQ(refusals.of(Binding{{4999}}).size(), 1U);
}

}  // namespace
}  // namespace parallax
