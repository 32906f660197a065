#include "bind/scheduler_autotuner.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

using Order = SchedulerAutotuner::Order;

/// Returns the order that is chosen after `runs` timed runs with these times; `tried`: number of
/// runs of each.
Order settle(SchedulerAutotuner& faster, std::int64_t sequential, std::int64_t dataflow,
             int runs = 2 * SchedulerAutotuner::kTimedRuns, std::array<int, 2>* tried = nullptr) {
  for (int run = 0; run < 1 + runs; ++run) {
    const Order order = faster.next();
    if (tried != nullptr) ++(*tried)[static_cast<std::size_t>(order)];
    // Half of the runs of each are disturbed, the very first one most.
    const std::int64_t noise = run == 0 ? 1'000'000 : run % 8 < 4 ? 500 : 0;
    faster.record(order, (order == Order::kDataflow ? dataflow : sequential) + noise);
  }
  return faster.next();
}

TEST(SchedulerAutotuner, TriesBothAndKeepsTheFaster) {
  std::array<int, 2> tried{};
  SchedulerAutotuner a, b;
  EXPECT_EQ(a.next(), Order::kDataflow);
  EXPECT_EQ(settle(a, 100, 80, 2 * SchedulerAutotuner::kTimedRuns, &tried), Order::kDataflow);
  EXPECT_EQ(tried[0], SchedulerAutotuner::kTimedRuns);
  EXPECT_EQ(tried[1], SchedulerAutotuner::kTimedRuns + 1);
  EXPECT_EQ(settle(b, 80, 100), Order::kSequential);
  // The decision is final.
  for (int run = 0; run < 20; ++run) a.record(Order::kSequential, 1);
  EXPECT_EQ(a.next(), Order::kDataflow);
}

TEST(SchedulerAutotuner, OrdersThatSeemAlikeAreTriedForLonger) {
  // Dataflow runs on one thread until the others arrive.
  SchedulerAutotuner late;
  settle(late, 375'000, 374'000, 40);
  EXPECT_EQ(settle(late, 375'000, 195'000), Order::kDataflow);
  // Orders that stay alike do not alternate for ever.
  SchedulerAutotuner alike, little;
  std::array<int, 2> tried{};
  EXPECT_EQ(settle(alike, 375'000, 375'000, 1000, &tried), Order::kSequential);
  EXPECT_NEAR(tried[1], SchedulerAutotuner::kTrialOfAlike / 375'000 / 2, 3);
  EXPECT_EQ(settle(little, 375'000, 365'000, 1000), Order::kDataflow);
  SchedulerAutotuner slow;
  EXPECT_EQ(settle(slow, 30'000'000, 29'900'000), Order::kDataflow);
}

TEST(SchedulerAutotuner, RunsThatFailAreNoTrials) {
  SchedulerAutotuner faster;
  for (int run = 0; run < 100; ++run) EXPECT_EQ(faster.next(), Order::kDataflow);
  EXPECT_EQ(settle(faster, 10, 20), Order::kSequential);
}

}  // namespace
}  // namespace parallax
