#include "run/pool/run_places.h"

#include <gtest/gtest.h>

#include <thread>

namespace parallax {
namespace {

TEST(RunPlaces, WhoCameFirstIsServedFirst) {
  RunPlaces places(2, 0);
  const auto first = places.take_free(1, 0), second = places.take_free(1, 0);
  ASSERT_NE(first.index, second.index);
  EXPECT_EQ(places.end(), 2U);
  EXPECT_EQ(places.take_free(1, 0).index, RunPlaces::kNone);
  std::vector<int> order;
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&, i] {
      const auto place = places.wait_for(1, 0, {});
      order.push_back(i);  // only one of them has a slot at a time
      places.leave(place);
    });
    while (places.waiting() != static_cast<std::size_t>(i) + 1) std::this_thread::yield();
  }
  places.leave(first);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  places.leave(second);
  EXPECT_EQ(places.end(), 0U);
}

TEST(RunPlaces, NoCallerOvertakesOneThatWaits) {
  RunPlaces places(1, 0);
  auto place = places.take_free(1, 0);
  std::thread caller([&] { places.leave(places.wait_for(1, 0, {})); });
  while (places.waiting() == 0) std::this_thread::yield();
  EXPECT_EQ(places.take_free(1, 0).index, RunPlaces::kNone);
  places.leave(place);
  caller.join();
  EXPECT_EQ(places.take_free(1, 0).index, 0U);
}

TEST(RunPlaces, AWaitEndsInTime) {
  RunPlaces places(1, 0);
  const auto place = places.take_free(1, 0);
  const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(places.wait_for(1, 0, past).index, RunPlaces::kNone);
  EXPECT_EQ(places.waiting(), 0U);
  places.leave(place);
  EXPECT_EQ(places.wait_for(1, 0, past).index, 0U) << "a free place is taken however late it is";
}

TEST(RunPlaces, AWaitEndsWhenItsCallerAsks) {
  RunPlaces places(1, 0);
  const auto place = places.take_free(1, 0);
  std::stop_source caller;
  std::thread waits([&] {
    EXPECT_EQ(places.wait_for(1, 0, Deadline(std::nullopt, caller.get_token())).index,
              RunPlaces::kNone);
  });
  while (places.waiting() == 0) std::this_thread::yield();
  caller.request_stop();
  waits.join();
  EXPECT_EQ(places.waiting(), 0U);
  places.leave(place);
}

TEST(RunPlaces, WorkersThatFewestRunsHave) {
  RunPlaces places(8, 5);
  const auto all = places.take_free(9, 5);
  EXPECT_EQ(all.row.first, 1U);
  EXPECT_EQ(all.row.width, 6U);
  const auto a = places.take_free(3, 5), b = places.take_free(3, 5), c = places.take_free(2, 5);
  EXPECT_EQ(a.row.first, 1U);
  EXPECT_EQ(b.row.first, 3U);
  EXPECT_EQ(c.row.first, 5U);
  places.leave(b);
  EXPECT_EQ(places.take_free(2, 5).row.first, 3U);
  EXPECT_EQ(places.take_free(2, 5).row.first, 4U);
  EXPECT_EQ(places.take_free(1, 5).row.width, 1U);
  EXPECT_EQ(places.take_free(4, 0).row.width, 1U) << "no workers yet";
}

TEST(WorkerRow, TellsItsThreadsApart) {
  const WorkerRow row{3, 3};
  EXPECT_FALSE(row.has(0));
  EXPECT_FALSE(row.has(2));
  EXPECT_TRUE(row.has(3));
  EXPECT_TRUE(row.has(4));
  EXPECT_FALSE(row.has(5));
  EXPECT_EQ(row.seat(0), 0);
  EXPECT_EQ(row.seat(3), 1);
  EXPECT_EQ(row.seat(4), 2);
  EXPECT_FALSE(WorkerRow{}.has(1));
}

}  // namespace
}  // namespace parallax
