#include "base/lock_order.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/deadline.h"
#include "base/mutex.h"

namespace parallax {
namespace {

constexpr LockOrder kTurn = LockOrder::kPlanning, kNextTurn = LockOrder::kPreparing,
                    kOuter = LockOrder::kAccount, kInner = LockOrder::kPlans,
                    kNested = LockOrder::kDeferred, kInnermost = LockOrder::kInnermost;

TEST(HeldLocks, SayWhatMayBeTaken) {
  struct Row {
    LockOrder held, next;
    bool may;
  };
  for (const auto& [held, next, may] : {
           Row{kTurn, kNextTurn, true},
           Row{kNextTurn, kTurn, false},
           Row{kTurn, kTurn, false},
           Row{kTurn, kInnermost, true},
           Row{kOuter, kTurn, false},
           Row{kOuter, kInner, true},
           Row{kInner, kOuter, false},
           Row{kInner, kInner, false},
           Row{kInner, kInnermost, true},
           Row{kInnermost, kInnermost, false},
           Row{kNested, kNested, true},
       }) {
    HeldLocks locks;
    EXPECT_TRUE(locks.may_take(next));
    locks.add(&locks, held);
    EXPECT_EQ(locks.may_take(next), may) << static_cast<int>(held) << static_cast<int>(next);
    locks.remove(&locks);
    EXPECT_TRUE(locks.may_take(next));
  }
}

TEST(HeldLocks, SayWhetherForeignCodeMayRun) {
  const int turn = 0, outer = 0, inner = 0;
  HeldLocks locks;
  locks.add(&turn, kTurn);
  EXPECT_TRUE(locks.are_turns());
  locks.add(&outer, kOuter);
  EXPECT_FALSE(locks.are_turns());
  EXPECT_TRUE(locks.may_wait_with(&outer));
  locks.add(&inner, kInnermost);
  EXPECT_FALSE(locks.may_wait_with(&inner)) << "the other one would be held during the wait";
  locks.remove(&outer);
  EXPECT_TRUE(locks.may_wait_with(&inner));
  EXPECT_FALSE(locks.are_turns());
  locks.remove(&inner);
  EXPECT_TRUE(locks.are_turns());
}

TEST(HeldLocks, AreThoseOfTheThread) {
  if (!kLocksAreChecked) GTEST_SKIP() << "a build without assertions";
  Mutex mutex(kOuter);
  TimedMutex turn(kTurn);
  const auto held = [] { return !HeldLocks::mine().may_take(LockOrder::kState); };
  EXPECT_FALSE(held());
  {
    ASSERT_TRUE(turn.lock_within({}));
    const MutexLock in_turn(turn, std::adopt_lock);
    EXPECT_TRUE(held());
    EXPECT_TRUE(HeldLocks::mine().are_turns());
    const MutexLock lock(mutex);
    EXPECT_FALSE(HeldLocks::mine().are_turns());
    std::thread([&] {
      EXPECT_FALSE(held());
      EXPECT_FALSE(mutex.try_lock());
      EXPECT_FALSE(held());
    }).join();
  }
  EXPECT_FALSE(held());
  ASSERT_TRUE(mutex.try_lock());
  EXPECT_TRUE(held());
  mutex.unlock();
  EXPECT_FALSE(held());
}

}  // namespace
}  // namespace parallax
