#include "bind/scheduler_autotuner.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

using Order = SchedulerAutotuner::Order;

/// Returns the order that is chosen after runs with these times; `tried`: number of runs of each.
Order settle(SchedulerAutotuner& faster, std::int64_t sequential, std::int64_t dataflow,
             std::array<int, 2>* tried = nullptr) {
  for (int run = 0; run < 1 + 2 * SchedulerAutotuner::kTimedRuns; ++run) {
    const Order order = faster.next();
    if (tried != nullptr) ++(*tried)[static_cast<std::size_t>(order)];
    // Every second run of each is disturbed, the very first one most.
    const std::int64_t noise = run == 0 ? 1'000'000 : run % 4 < 2 ? 500 : 0;
    faster.record(order, (order == Order::kDataflow ? dataflow : sequential) + noise);
  }
  return faster.next();
}

TEST(SchedulerAutotuner, TriesBothAndKeepsTheFaster) {
  std::array<int, 2> tried{};
  SchedulerAutotuner a, b, equal;
  EXPECT_EQ(a.next(), Order::kDataflow);
  EXPECT_EQ(settle(a, 100, 80, &tried), Order::kDataflow);
  EXPECT_EQ(tried[0], SchedulerAutotuner::kTimedRuns);
  EXPECT_EQ(tried[1], SchedulerAutotuner::kTimedRuns + 1);
  EXPECT_EQ(settle(b, 80, 100), Order::kSequential);
  EXPECT_EQ(settle(equal, 90, 90), Order::kSequential);
  // The decision is final.
  for (int run = 0; run < 20; ++run) a.record(Order::kSequential, 1);
  EXPECT_EQ(a.next(), Order::kDataflow);
}

TEST(SchedulerAutotuner, RunsThatFailAreNoTrials) {
  SchedulerAutotuner faster;
  for (int run = 0; run < 100; ++run) EXPECT_EQ(faster.next(), Order::kDataflow);
  EXPECT_EQ(settle(faster, 10, 20), Order::kSequential);
}

}  // namespace
}  // namespace parallax
