#include "execute/worker_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <functional>
#include <set>
#include <thread>

namespace parallax {
namespace {

/// Work made of a function.
class Function final : public SharedWork {
 public:
  explicit Function(std::function<void(std::int64_t, Participant&)> run) : run_(std::move(run)) {}
  void run(std::int64_t index, Participant& self) override { run_(index, self); }

 private:
  std::function<void(std::int64_t, Participant&)> run_;
};

/// Each index must be run exactly once.
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
    WorkerPool::Stay stay(pool);
    for (const std::int64_t count : {0, 1, 2, 3, 17, 1000})
      for (int repeat = 0; repeat < 50; ++repeat)
        share_and_count(stay.participant(), WorkLevel::kTiles, count);
  }
}

TEST(WorkerPool, BranchesOfferTiles) {
  for (const int threads : {1, 2, 3, 8}) {
    WorkerPool pool(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      WorkerPool::Stay stay(pool);
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
  WorkerPool::Stay stay(pool);
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
        WorkerPool::Stay stay(pool);
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
  WorkerPool::Stay stay(pool);
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
    WorkerPool::Stay stay(pool);
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
    WorkerPool::Stay stay(pool);
    share_and_count(stay.participant(), WorkLevel::kTiles, 100);
  }
  // Time for the workers to park; then the process as a whole must hardly compute at all.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.1);
}

}  // namespace
}  // namespace parallax
