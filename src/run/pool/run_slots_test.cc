#include "run/pool/run_slots.h"

#include <gtest/gtest.h>

#include <thread>

namespace parallax {
namespace {

TEST(RunSlots, WhoCameFirstIsServedFirst) {
  RunSlots slots(2, 0);
  const auto first = slots.take_free(1, 0), second = slots.take_free(1, 0);
  ASSERT_NE(first.index, second.index);
  EXPECT_EQ(slots.end(), 2U);
  EXPECT_EQ(slots.take_free(1, 0).index, RunSlots::kNone);
  std::vector<int> order;
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&, i] {
      const auto slot = slots.wait_for(1, 0, {});
      order.push_back(i);  // only one of them has a slot at a time
      slots.leave(slot);
    });
    while (slots.waiting() != static_cast<std::size_t>(i) + 1) std::this_thread::yield();
  }
  slots.leave(first);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  slots.leave(second);
  EXPECT_EQ(slots.end(), 0U);
}

TEST(RunSlots, NoCallerOvertakesOneThatWaits) {
  RunSlots slots(1, 0);
  auto slot = slots.take_free(1, 0);
  std::thread caller([&] { slots.leave(slots.wait_for(1, 0, {})); });
  while (slots.waiting() == 0) std::this_thread::yield();
  EXPECT_EQ(slots.take_free(1, 0).index, RunSlots::kNone);
  slots.leave(slot);
  caller.join();
  EXPECT_EQ(slots.take_free(1, 0).index, 0U);
}

TEST(RunSlots, AWaitEndsInTime) {
  RunSlots slots(1, 0);
  const auto slot = slots.take_free(1, 0);
  const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(slots.wait_for(1, 0, past).index, RunSlots::kNone);
  EXPECT_EQ(slots.waiting(), 0U);
  slots.leave(slot);
  EXPECT_EQ(slots.wait_for(1, 0, past).index, 0U) << "a free slot is taken however late it is";
}

TEST(RunSlots, AWaitEndsWhenItsCallerAsks) {
  RunSlots slots(1, 0);
  const auto slot = slots.take_free(1, 0);
  std::stop_source caller;
  std::thread waits([&] {
    EXPECT_EQ(slots.wait_for(1, 0, Deadline(std::nullopt, caller.get_token())).index,
              RunSlots::kNone);
  });
  while (slots.waiting() == 0) std::this_thread::yield();
  caller.request_stop();
  waits.join();
  EXPECT_EQ(slots.waiting(), 0U);
  slots.leave(slot);
}

TEST(RunSlots, WorkersThatFewestRunsHave) {
  RunSlots slots(8, 5);
  const auto all = slots.take_free(9, 5);
  EXPECT_EQ(all.workers.first, 1U);
  EXPECT_EQ(all.workers.width, 6U);
  const auto a = slots.take_free(3, 5), b = slots.take_free(3, 5), c = slots.take_free(2, 5);
  EXPECT_EQ(a.workers.first, 1U);
  EXPECT_EQ(b.workers.first, 3U);
  EXPECT_EQ(c.workers.first, 5U);
  slots.leave(b);
  EXPECT_EQ(slots.take_free(2, 5).workers.first, 3U);
  EXPECT_EQ(slots.take_free(2, 5).workers.first, 4U);
  EXPECT_EQ(slots.take_free(1, 5).workers.width, 1U);
  EXPECT_EQ(slots.take_free(4, 0).workers.width, 1U) << "no workers yet";
}

TEST(WorkerRange, TellsItsThreadsApart) {
  const WorkerRange range{3, 3};
  EXPECT_FALSE(range.has(0));
  EXPECT_FALSE(range.has(2));
  EXPECT_TRUE(range.has(3));
  EXPECT_TRUE(range.has(4));
  EXPECT_FALSE(range.has(5));
  EXPECT_EQ(range.index(0), 0);
  EXPECT_EQ(range.index(3), 1);
  EXPECT_EQ(range.index(4), 2);
  EXPECT_FALSE(WorkerRange{}.has(1));
}

}  // namespace
}  // namespace parallax
