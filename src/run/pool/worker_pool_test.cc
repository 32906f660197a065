#include "run/pool/worker_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>

namespace parallax {
namespace {

/// Work that calls a function.
class Function final : public SharedWork {
 public:
  explicit Function(std::function<void(std::int64_t, Participant&)> run) : run_(std::move(run)) {}
  void run(std::int64_t index, Participant& self) override { run_(index, self); }

 private:
  std::function<void(std::int64_t, Participant&)> run_;
};

/// Expects that each index is run exactly once.
void share_and_count(Participant& self, WorkLevel level, std::int64_t count) {
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
  Function work([&](std::int64_t i, Participant&) { ++runs[static_cast<std::size_t>(i)]; });
  self.share(level, count, work);
  for (const auto& n : runs) ASSERT_EQ(n.load(), 1);
}

TEST(WorkerPool, RunsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    WorkerPool::Stay stay(pool, pool.threads());
    for (const std::int64_t count : {0, 1, 2, 3, 17, 1000})
      for (int repeat = 0; repeat < 50; ++repeat)
        share_and_count(stay.participant(), WorkLevel::kTiles, count);
  }
}

TEST(WorkerPool, WakesForShortRunsThatFollowEachOther) {
  WorkerPool pool(2, 2);
  while (pool.asleep() == 0) std::this_thread::yield();
  Function work([](std::int64_t, Participant&) {});
  constexpr double kShort = 2'000;  // waking a thread costs ten times as much
  bool woken = false;
  for (int run = 0; run < 1'000'000 && !woken; ++run) {
    WorkerPool::Stay stay(pool, 2);
    stay.participant().share(WorkLevel::kTiles, 2, work, kShort);
    woken = pool.asleep() == 0;
  }
  EXPECT_TRUE(woken);
}

TEST(WorkerPool, WorkersMayUseAllCpusOfTheThreadThatMadeThem) {
  cpu_set_t all, cpus;
  ASSERT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one CPU";
  WorkerPool pool(2);
  std::atomic<int> helped{0};
  for (int repeat = 0; repeat < 1000 && helped < 3; ++repeat) {
    while (pool.asleep() == 0) std::this_thread::yield();
    WorkerPool::Stay stay(pool, 2);
    std::atomic<bool> here{false};
    // Each of two threads has one index.
    Function work([&](std::int64_t, Participant& self) {
      if (self.index() == 0) {
        for (int i = 0; i < 1000 && !here; ++i) std::this_thread::yield();
        return;
      }
      here = true;
      EXPECT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof(cpus), &cpus), 0);
      EXPECT_NE(CPU_EQUAL(&cpus, &all), 0);
      ++helped;
    });
    stay.participant().share(WorkLevel::kTiles, 2, work);
  }
  EXPECT_EQ(helped, 3);
}

TEST(WorkerPool, BranchesOfferTiles) {
  for (const int threads : {1, 2, 3, 8}) {
    WorkerPool pool(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      WorkerPool::Stay stay(pool, pool.threads());
      std::atomic<int> tiles{0};
      Function branches([&](std::int64_t branch, Participant& self) {
        for (std::int64_t node = 0; node < 10; ++node) {
          Function node_tiles([&](std::int64_t, Participant&) { ++tiles; });
          self.share(WorkLevel::kTiles, branch + node, node_tiles);
        }
      });
      stay.participant().share(WorkLevel::kBranches, 5, branches);
      EXPECT_EQ(tiles.load(), 5 * 45 + 10 * 10);
    }
  }
}

TEST(WorkerPool, ParticipantsOfARunHaveDifferentIndices) {
  WorkerPool pool(4);
  WorkerPool::Stay stay(pool, pool.threads());
  std::array<std::atomic<int>, 4> inside{};
  std::atomic<bool> clash{false};
  Function work([&](std::int64_t, Participant& self) {
    if (self.index() < 0 || self.index() >= 4) {
      clash = true;
      return;
    }
    auto& mine = inside[static_cast<std::size_t>(self.index())];
    if (mine.fetch_add(1) != 0) clash = true;
    for (volatile int spin = 0; spin < 200;) spin = spin + 1;
    mine.fetch_sub(1);
  });
  for (int repeat = 0; repeat < 200; ++repeat)
    stay.participant().share(WorkLevel::kTiles, 40, work);
  EXPECT_FALSE(clash);
}

TEST(WorkerPool, SeveralCallersShareTheWorkers) {
  WorkerPool pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 12; ++caller) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        WorkerPool::Stay stay(pool, pool.threads());
        Function branches(
            [&](std::int64_t, Participant& self) { share_and_count(self, WorkLevel::kTiles, 20); });
        stay.participant().share(WorkLevel::kBranches, 3, branches);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(WorkerPool, WorkersHelp) {
  WorkerPool pool(2);
  WorkerPool::Stay stay(pool, pool.threads());
  // The first index waits for the second: only a second thread can end this.
  std::atomic<bool> helped{false};
  Function work([&](std::int64_t, Participant& self) {
    if (self.index() != 0) helped = true;
    while (!helped) std::this_thread::yield();
  });
  stay.participant().share(WorkLevel::kTiles, 2, work);
  EXPECT_TRUE(helped);
}

TEST(WorkerPool, WhoWaitsForABranchOfAnotherThreadSleepsAndHelpsWithItsTiles) {
  WorkerPool pool(2, 2);
  for (int repeat = 0; repeat < 5; ++repeat) {
    WorkerPool::Stay stay(pool, pool.threads());
    std::atomic<bool> taken{false}, slept{false}, helped{false};
    Function branches([&](std::int64_t, Participant& self) {
      if (self.index() == 0) {  // the owner's branch ends once the other one has begun
        while (!taken) std::this_thread::yield();
        return;
      }
      taken = true;
      // A generous watchdog: the owner has nothing to do for a moment only.
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (pool.asleep() == 0 && std::chrono::steady_clock::now() < patience)
        std::this_thread::yield();
      slept = pool.asleep() == 1;
      Function tiles([&](std::int64_t, Participant& who) {
        if (who.index() == 0) helped = true;
        while (!helped && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
      });
      self.share(WorkLevel::kTiles, 2, tiles);
    });
    stay.participant().share(WorkLevel::kBranches, 2, branches);
    EXPECT_TRUE(slept);
    EXPECT_TRUE(helped);
  }
}

TEST(WorkerPool, UsesNoCoreWhileNothingRuns) {
  WorkerPool pool(8);
  {
    WorkerPool::Stay stay(pool, pool.threads());
    share_and_count(stay.participant(), WorkLevel::kTiles, 100);
  }
  // Once all workers have parked, the process as a whole must hardly compute.
  while (pool.asleep() < pool.threads() - 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.1);
}

/// Offers tiles until `threads` threads have run some of them.
void be_helped(Participant& self, std::size_t threads) {
  std::array<std::atomic<bool>, 8> seen{};
  Function work([&](std::int64_t, Participant& who) {
    seen[static_cast<std::size_t>(who.index())] = true;
    for (int i = 0; i < 10; ++i) std::this_thread::yield();
  });
  const auto count = [&] {
    return static_cast<std::size_t>(
        std::count_if(seen.begin(), seen.end(), [](const auto& one) { return one.load(); }));
  };
  while (count() < threads) self.share(WorkLevel::kTiles, 16, work);
  EXPECT_EQ(count(), threads);
}

TEST(WorkerPool, StartsThreadsAsTheyAreNeeded) {
  WorkerPool pool(5, 8, 1);
  EXPECT_EQ(pool.threads(), 1);
  EXPECT_EQ(pool.most_threads(), 5);
  EXPECT_EQ(pool.start(3), 3);
  EXPECT_EQ(pool.start(2), 2);
  EXPECT_EQ(pool.threads(), 3);
  EXPECT_EQ(pool.start(100), 5);
  EXPECT_EQ(pool.threads(), 5);
  WorkerPool::Stay stay(pool, 5);
  be_helped(stay.participant(), 5);
}

TEST(WorkerPool, ARunHasNoMoreThreadsThanItsWidth) {
  WorkerPool pool(6, 6);
  std::vector<std::thread> callers;
  for (const int width : {1, 2, 3, 4}) {
    callers.emplace_back([&pool, width] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        WorkerPool::Stay stay(pool, width);
        std::vector<std::atomic<int>> inside(static_cast<std::size_t>(width));
        std::atomic<int> wrong{0};
        Function work([&](std::int64_t, Participant& self) {
          if (self.index() < 0 || self.index() >= width) {
            ++wrong;
            return;
          }
          auto& mine = inside[static_cast<std::size_t>(self.index())];
          if (mine.fetch_add(1) != 0) ++wrong;
          for (volatile int spin = 0; spin < 200;) spin = spin + 1;
          mine.fetch_sub(1);
        });
        for (int node = 0; node < 5; ++node) stay.participant().share(WorkLevel::kTiles, 30, work);
        EXPECT_EQ(wrong, 0);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(WorkerPool, NarrowRunsHaveWorkersOfTheirOwn) {
  WorkerPool pool(4, 4);
  WorkerPool::Stay mine(pool, 2);
  std::thread other([&] {
    WorkerPool::Stay stay(pool, 2);
    be_helped(stay.participant(), 2);
  });
  be_helped(mine.participant(), 2);
  other.join();
}

TEST(WorkerPool, WorkersStepBackForCallers) {
  WorkerPool pool(2, 2);
  WorkerPool::Stay mine(pool, 2);
  be_helped(mine.participant(), 2);
  {
    std::atomic<bool> leave{false}, there{false};
    std::thread other([&] {
      WorkerPool::Stay stay(pool, 2);
      there = true;
      while (!leave) std::this_thread::yield();
    });
    while (!there || pool.asleep() == 0) std::this_thread::yield();
    Function work([](std::int64_t, Participant& self) { EXPECT_EQ(self.index(), 0); });
    for (int node = 0; node < 100; ++node) mine.participant().share(WorkLevel::kTiles, 50, work);
    leave = true;
    other.join();
  }
  be_helped(mine.participant(), 2);
}

TEST(WorkerPool, FurtherRunsWaitForAPlace) {
  WorkerPool pool(2);
  std::optional<WorkerPool::Stay> first;
  first.emplace(pool, 2);
  std::vector<std::unique_ptr<WorkerPool::Stay>> others;
  for (int i = 1; i < 8; ++i) others.push_back(std::make_unique<WorkerPool::Stay>(pool, 2));
  const Deadline past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_FALSE(WorkerPool::Stay(pool, 2, past).entered());
  EXPECT_TRUE(WorkerPool::Stay(pool, 1, past).entered()) << "it needs no slot";
  WorkerPool::Stay alone(pool, 2);
  share_and_count(alone.participant(), WorkLevel::kTiles, 20);
  std::atomic<bool> entered{false};
  std::thread ninth([&] {
    WorkerPool::Stay stay(pool, 2, {});
    entered = stay.entered();
    share_and_count(stay.participant(), WorkLevel::kTiles, 20);
  });
  while (pool.waiting() == 0) std::this_thread::yield();
  EXPECT_FALSE(entered);
  first.reset();
  ninth.join();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace parallax
