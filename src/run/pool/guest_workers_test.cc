// Workers without threads of their own, on threads of a user-provided pool.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "run/pool/users_pool_test_util.h"
#include "run/pool/worker_pool.h"

namespace parallax {
namespace {

class Tiles final : public SharedWork {
 public:
  explicit Tiles(std::int64_t count) : runs_(static_cast<std::size_t>(count)) {}
  void run(std::int64_t index, Participant&) override {
    ++runs_[static_cast<std::size_t>(index)];
    for (volatile int spin = 0; spin < 500;) spin = spin + 1;
  }
  void expect_once() const {
    for (const auto& runs : runs_) ASSERT_EQ(runs.load(), 1);
  }

 private:
  std::vector<std::atomic<int>> runs_;
};

void share_once(WorkerPool& pool, WorkLevel level, std::int64_t count) {
  WorkerPool::Stay stay(pool, pool.threads());
  Tiles tiles(count);
  stay.participant().share(level, count, tiles);
  tiles.expect_once();
}

TEST(GuestWorkers, TakePartAndGo) {
  for (const int threads : {2, 3, 8}) {
    const auto users = std::make_shared<UsersPool>(2);
    WorkerPool pool(threads, 8, WorkerPool::kAll, users);
    EXPECT_EQ(pool.threads(), threads);
    EXPECT_EQ(pool.asleep(), threads - 1);
    for (int round = 0; round < 100 || users->begun == 0; ++round)
      for (const WorkLevel level : {WorkLevel::kTiles, WorkLevel::kBranches})
        share_once(pool, level, round % 20);
    while (users->unfinished > 0) std::this_thread::yield();
    EXPECT_EQ(pool.asleep(), threads - 1);
    share_once(pool, WorkLevel::kTiles, 50);
  }
}

TEST(GuestWorkers, ServeSeveralCallers) {
  const auto users = std::make_shared<UsersPool>(3);
  WorkerPool pool(4, 8, WorkerPool::kAll, users);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) share_once(pool, WorkLevel::kTiles, 20);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(GuestWorkers, MayNeverCome) {
  const auto users = std::make_shared<UsersPool>(0);
  std::optional<WorkerPool> pool;
  pool.emplace(3, 8, WorkerPool::kAll, users);
  users->refuses = true;
  share_once(*pool, WorkLevel::kTiles, 50);
  EXPECT_EQ(pool->asleep(), 2) << "refused";
  users->refuses = false;
  share_once(*pool, WorkLevel::kTiles, 50);
  ASSERT_GT(users->submitted, 0);
  EXPECT_LT(pool->asleep(), 2) << "called";
  users->drop();
  EXPECT_EQ(pool->asleep(), 2) << "dropped";
  share_once(*pool, WorkLevel::kTiles, 50);
  pool.reset();
  users->run();  // too late
}

}  // namespace
}  // namespace parallax
