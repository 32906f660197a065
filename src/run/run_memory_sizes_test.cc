// The memory held by runs of different sizes, in any order, with any number of callers: at most a
// tenth more than the largest runs need together. Callers overlap by construction: their leases
// live in one thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "run/dynamic_arena.h"
#include "run/run_memory.h"

namespace parallax {
namespace {

constexpr std::int64_t kUnit = 10'000;
constexpr int kLengths = 100, kPasses = 5;

/// A run of a caller: a block, or a small block and a tensor whose size only the run determines.
struct SizedRun {
  SizedRun(RunMemory& memory, std::int64_t bytes, bool data_dependent)
      : lease(*memory.acquire({data_dependent ? 64 : bytes, {}, data_dependent})) {
    if (!data_dependent) return;
    arena.emplace(pool.emplace(lease), false);
    EXPECT_TRUE(arena->allocate(bytes));
  }

  RunMemory::Lease lease;
  std::optional<BlockPool> pool;
  std::optional<DynamicArena> arena;
};

struct SizesCase {
  const char* order;
  std::size_t callers;
  bool data_dependent;
};

class Sizes : public testing::TestWithParam<SizesCase> {
 protected:
  /// The lengths in all passes.
  static std::vector<std::int64_t> lengths() {
    std::vector<std::int64_t> all, pass(kLengths);
    std::iota(pass.begin(), pass.end(), 1);
    const std::string order = GetParam().order;
    if (order == "falling") std::ranges::reverse(pass);
    std::mt19937 random(7);
    for (int i = 0; i < kPasses; ++i) {
      if (order == "random") std::ranges::shuffle(pass, random);
      all.insert(all.end(), pass.begin(), pass.end());
    }
    return all;
  }
  /// Returns the bytes that a run of that length holds if it is alone.
  static std::int64_t alone(std::int64_t length) {
    RunMemory memory;
    const SizedRun run(memory, length * kUnit, GetParam().data_dependent);
    return memory.held_bytes();
  }
};

TEST_P(Sizes, HoldWhatTheLargestRunsNeed) {
  const auto& [order, callers, data_dependent] = GetParam();
  RunMemory memory;
  std::vector<std::unique_ptr<SizedRun>> running(callers);
  std::vector<std::int64_t> needs(callers, 0);
  std::int64_t longest = 0, most_needed = 0;
  std::size_t turn = 0;
  for (const std::int64_t length : lengths()) {
    const std::size_t caller = turn++ % callers;
    running[caller].reset();
    running[caller] = std::make_unique<SizedRun>(memory, length * kUnit, data_dependent);
    needs[caller] = alone(length);
    longest = std::max(longest, needs[caller]);
    most_needed = std::max(most_needed, std::reduce(needs.begin(), needs.end()));
    const auto most = static_cast<std::int64_t>(callers) * longest;
    ASSERT_LE(memory.held_bytes(), most * 11 / 10) << turn;
  }
  for (auto& run : running) run.reset();
  EXPECT_LE(memory.held_bytes(), most_needed * 11 / 10);
  EXPECT_EQ(memory.busy_bytes(), 0);
  memory.trim();
  EXPECT_EQ(memory.held_bytes(), 0);
}

std::vector<SizesCase> sizes_cases() {
  std::vector<SizesCase> all;
  for (const char* const order : {"rising", "falling", "random"})
    for (const std::size_t callers : {1, 2, 4})
      for (const bool data_dependent : {false, true})
        all.push_back({order, callers, data_dependent});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Orders, Sizes, testing::ValuesIn(sizes_cases()), [](const auto& each) {
  return std::string(each.param.order) + std::to_string(each.param.callers) +
         (each.param.data_dependent ? "DataDependent" : "");
});

TEST(RunMemorySizes, ALongRunKeepsNoBlocksOfACallerThatGrows) {
  RunMemory memory;
  const auto long_run = memory.acquire({10'000, {}, false});
  for (std::int64_t bytes = 100; bytes <= 5000; bytes += 100) {
    { const auto grows = memory.acquire({bytes, {}, false}); }
    EXPECT_EQ(memory.held_bytes(), 10'000 + bytes);
  }
}

TEST(RunMemorySizes, SessionsOfOneAccountKeepABlockPerRun) {
  RunMemory memory;
  const auto one = std::make_shared<MemorySource>(), other = std::make_shared<MemorySource>();
  for (std::int64_t bytes = 100; bytes <= 5000; bytes += 100) {
    RunMemory::Request request{bytes, {}, false};
    request.source = one;
    const auto first = memory.acquire(request);
    request.source = other;
    const auto second = memory.acquire(request);
    EXPECT_EQ(memory.held_bytes(), 2 * bytes);
  }
}

TEST(RunMemorySizes, ASmallRunLeavesTheBlockOfALargeOne) {
  RunMemory memory;
  constexpr std::int64_t kLarge = 1'000'000, kSmall = 1000;
  const auto at_once = [&] {
    const auto small = memory.acquire({kSmall, {}, false});
    const auto large = memory.acquire({kLarge, {}, false});
    return std::pair(small->data(), large->data());
  };
  { const auto alone = memory.acquire({kLarge, {}, false}); }
  at_once();  // the small run has the large block until it ends
  EXPECT_LE(memory.held_bytes(), (kLarge + kSmall) * 11 / 10);
  at_once();
  const auto settled = at_once();
  EXPECT_EQ(memory.held_bytes(), kLarge + kSmall);
  EXPECT_EQ(at_once(), settled) << "both are there for the next runs";
}

TEST(RunMemorySizes, BytesReservedWhileRunningPushOutIdleBlocks) {
  RunMemory memory;
  { const auto a = memory.acquire({1000, {}, false}), b = memory.acquire({1000, {}, false}); }
  EXPECT_EQ(memory.held_bytes(), 2000);
  auto lease = memory.acquire({1000, {}, true});
  ASSERT_TRUE(lease->reserve(1000));
  EXPECT_EQ(memory.held_bytes(), 2000);
  lease->release(1000);
}

/// An allocator without memory.
struct EmptyAllocator final : Allocator {
  void* allocate(std::size_t, std::size_t) override { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) override {}
};

TEST(RunMemorySizes, ARunThatFindsNoMemoryLeavesNoTrace) {
  RunMemory memory;
  const auto empty =
      std::make_shared<MemorySource>(PagePolicy{}, std::make_shared<EmptyAllocator>());
  { const auto block = memory.acquire({1000, {}, false}); }
  for (const std::int64_t bytes : {std::int64_t{1} << 20, std::int64_t{1} << 62}) {
    RunMemory::Request request{bytes, {}, false};
    request.source = empty;
    const auto lease = memory.acquire(request);
    ASSERT_FALSE(lease);
    EXPECT_EQ(lease.error().code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(memory.busy_bytes(), 0);
    EXPECT_EQ(memory.peak_bytes(), 1000);
  }
  for (const std::int64_t bytes : {100, 200, 300}) {
    const auto lease = memory.acquire({bytes, {}, false});
    EXPECT_EQ(memory.held_bytes(), bytes);
  }
}

/// An allocator that calls RunMemory in each call, which never returns if the mutex is held.
struct AskingAllocator final : Allocator {
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    ask();
    live += static_cast<std::int64_t>(bytes);
    if (live > limit) exceeded = true;
    return std::aligned_alloc(alignment, bytes);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t) override {
    ask();
    live -= static_cast<std::int64_t>(bytes);
    std::free(block);
  }
  void ask() const {
    if (memory != nullptr) (void)memory->held_bytes();
  }

  const RunMemory* memory = nullptr;
  std::int64_t limit = 0;
  std::atomic<std::int64_t> live{0};
  std::atomic<bool> exceeded{false};
};

TEST(RunMemorySizes, NoAllocatorIsCalledUnderAMutexNorBeyondALimit) {
  constexpr std::int64_t kLimit = 64 * 1000;
  for (const bool grows : {false, true}) {
    const auto allocator = std::make_shared<AskingAllocator>();
    const auto source = std::make_shared<MemorySource>(PagePolicy{}, allocator);
    RunMemory memory;
    allocator->memory = &memory;
    allocator->limit = kLimit;
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&, caller] {
        std::mt19937 random(caller);
        for (int run = 0; run < 200; ++run) {
          RunMemory::Request request{64 * static_cast<std::int64_t>(1 + random() % 400), kLimit};
          request.grows = grows;
          request.source = source;
          auto lease = memory.acquire(request);
          ASSERT_TRUE(lease) << lease.error().to_string();
          BlockPool pool(*lease);
          DynamicArena arena(pool, false);
          const std::int64_t tensor = 64 * static_cast<std::int64_t>(random() % 400);
          if (grows) {
            EXPECT_TRUE(arena.allocate(tensor));
          }
          if (run % 50 == 0) memory.trim();
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_FALSE(allocator->exceeded) << "the limit holds for what is allocated";
    memory.trim();
    EXPECT_EQ(memory.held_bytes(), 0);
    EXPECT_EQ(allocator->live, 0);
    allocator->memory = nullptr;
  }
}

TEST(RunMemory, RunsWaitForOneThatIsAboutToBeginAnew) {
  RunMemory memory;
  RunMemory::Request request{300, 1000, false};
  request.spare = 300;
  auto lease = memory.acquire(request);
  ASSERT_TRUE(lease);
  RunMemory::Spare spare = lease->take_spare();
  lease->set_aside();
  for (const bool grows : {false, true}) {
    RunMemory::Request other{700, 1000, grows};
    other.deadline = std::chrono::steady_clock::now();
    const auto waited = memory.acquire(other);
    ASSERT_FALSE(waited) << "300 are set aside, and 300 are the first run's";
    EXPECT_EQ(waited.error().code, ErrorCode::kLimitExceeded);
  }
  EXPECT_TRUE(memory.acquire({400, 1000, false})) << "there is room for both";
  spare = {};
  EXPECT_TRUE(memory.acquire({700, 1000, true}));
  EXPECT_EQ(memory.peak_bytes(), 1000);
}

}  // namespace
}  // namespace parallax
