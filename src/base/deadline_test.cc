#include "base/deadline.h"

#include <gtest/gtest.h>

#include <thread>

namespace parallax {
namespace {

constexpr Deadline::Time kPast{};

ErrorCode code_of(const Status& status) { return status ? ErrorCode{} : status.error().code; }

TEST(Deadline, SaysWhyARunEnds) {
  std::stop_source caller;
  EXPECT_TRUE(check_deadline({}));
  EXPECT_TRUE(check_deadline(Deadline(std::nullopt, caller.get_token())));
  EXPECT_TRUE(check_deadline(std::chrono::steady_clock::now() + std::chrono::hours(1)));
  EXPECT_EQ(code_of(check_deadline(kPast)), ErrorCode::kLimitExceeded);
  caller.request_stop();
  EXPECT_EQ(code_of(check_deadline(Deadline(kPast, caller.get_token()))), ErrorCode::kCancelled);
}

TEST(Deadline, SparesATenthOfTheTimeLeft) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(spare_time({}, 50ms), 50ms);
  EXPECT_EQ(spare_time(now + 24h, 50ms), 50ms);
  EXPECT_LE(spare_time(now + 100ms, 50ms), 10ms);
  EXPECT_EQ(spare_time(kPast, 50ms), 0ms);
}

TEST(Deadline, EndsAWait) {
  Mutex mutex;
  Condition changed;
  const MutexLock lock(mutex);
  EXPECT_FALSE(wait_within(kPast, mutex, changed));
}

TEST(Deadline, WhoAsksWakesWhoWaits) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    Mutex mutex;
    Condition changed;
    std::stop_source caller;
    bool waits = false;
    std::thread other([&] {
      const Deadline deadline(std::nullopt, caller.get_token());
      const WakeOnStop wake(deadline, mutex, changed);
      const MutexLock lock(mutex);
      waits = true;
      while (wait_within(deadline, mutex, changed)) continue;
    });
    while (repeat % 2 == 0) {
      const MutexLock lock(mutex);
      if (waits) break;
    }
    caller.request_stop();
    other.join();
  }
}

TEST(TimedMutex, IsWaitedForUntilTheDeadline) {
  TimedMutex mutex{LockOrder::kState};
  ASSERT_TRUE(mutex.lock_within(kPast));
  std::thread([&] { EXPECT_FALSE(mutex.lock_within(kPast)); }).join();
  std::stop_source caller;
  std::thread cancelled_one(
      [&] { EXPECT_FALSE(mutex.lock_within(Deadline(std::nullopt, caller.get_token()))); });
  caller.request_stop();
  cancelled_one.join();
  std::thread other([&] {
    ASSERT_TRUE(mutex.lock_within({}));  // there once it is released below
    mutex.unlock();
  });
  mutex.unlock();
  other.join();
  ASSERT_TRUE(mutex.lock_within(kPast));
  mutex.unlock();
}

}  // namespace
}  // namespace parallax
