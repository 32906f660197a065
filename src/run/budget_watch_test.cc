#include "run/budget_watch.h"

#include <gtest/gtest.h>

#include <atomic>

namespace parallax {
namespace {

TEST(BudgetWatch, KeepsAReadingUntilItIsOld) {
  RunMemory memory;
  auto lease = memory.acquire({100, 1000, false});
  ASSERT_TRUE(lease);
  std::atomic<int> readings{0};
  const auto read = [&] {
    ++readings;
    return RunBudget{1000, false};
  };
  BudgetWatch young(*lease, read, true, std::chrono::hours(1));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(young.allows_parallel());
  EXPECT_EQ(readings, 0);
  BudgetWatch old(*lease, read, true, std::chrono::nanoseconds(0));
  EXPECT_FALSE(old.allows_parallel());
  EXPECT_FALSE(old.allows_parallel());
  EXPECT_EQ(readings, 2);
}

TEST(BudgetWatch, FollowsTheBudgetDownAndUp) {
  RunMemory memory;
  auto lease = memory.acquire({100, 1000, false});
  ASSERT_TRUE(lease);
  RunBudget now{1000, true};
  BudgetWatch watch(
      *lease, [&] { return now; }, true, std::chrono::nanoseconds(0));
  EXPECT_TRUE(watch.allows_parallel());
  now.bytes = 99;  // less than the run holds
  EXPECT_FALSE(watch.allows_parallel());
  EXPECT_FALSE(lease->reserve(1));
  now.bytes = 150;
  EXPECT_TRUE(watch.allows_parallel());
  EXPECT_TRUE(lease->reserve(50));
  EXPECT_FALSE(lease->reserve(1));
  lease->release(50);
  { const auto idle = memory.acquire({40, 1000, false}); }
  EXPECT_EQ(memory.held_bytes(), 140);
  now.parallel = false;  // all tasks wait for memory
  EXPECT_FALSE(watch.allows_parallel());
  EXPECT_EQ(memory.held_bytes(), 100) << "the idle block is freed";
  now = {std::nullopt, true};  // the probe could not read: the last limit stays
  EXPECT_TRUE(watch.allows_parallel());
  EXPECT_FALSE(lease->reserve(51));
}

}  // namespace
}  // namespace parallax
