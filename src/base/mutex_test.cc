#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>

namespace parallax {
namespace {

bool is_free(Mutex& mutex) {
  bool taken = false;
  std::thread([&] {
    taken = mutex.try_lock();
    if (taken) mutex.unlock();
  }).join();
  return taken;
}

TEST(MutexLock, HoldsTheMutexWhileItLives) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(Condition, WaitsWithoutTheMutexAndHoldsItAfterwards) {
  Mutex mutex;
  Condition changed;
  bool ready = false;
  std::thread other;
  {
    const MutexLock lock(mutex);
    other = std::thread([&] {
      const MutexLock inner(mutex);  // there once the wait below has released it
      ready = true;
      changed.notify_all();
    });
    while (!ready) changed.wait(mutex);
    EXPECT_FALSE(is_free(mutex));
  }
  other.join();
  EXPECT_TRUE(is_free(mutex));
}

TEST(Condition, SaysThatTheTimeHasCome) {
  Mutex mutex;
  Condition changed;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(changed.wait_until(mutex, std::chrono::steady_clock::time_point{}));
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

}  // namespace
}  // namespace parallax
