#include "run/run_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "run/dynamic_arena.h"
#include "run/poison.h"

namespace parallax {
namespace {

/// Blocks until `runs` runs wait.
void until_waiting(const RunMemory& memory, std::size_t runs) {
  while (memory.waiting() != runs) std::this_thread::yield();
}

TEST(RunMemory, KeepsBlocksForTheNextRun) {
  RunMemory memory;
  const std::byte* first = nullptr;
  {
    auto lease = memory.acquire({1000, {}, false});
    ASSERT_TRUE(lease);
    first = lease->data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
    EXPECT_EQ(memory.held_bytes(), 1000);
  }
  EXPECT_EQ(memory.held_bytes(), 1000);
  EXPECT_EQ(memory.acquire({900, {}, false})->data(), first);
  // A larger block replaces the idle one.
  EXPECT_EQ(memory.acquire({5000, {}, false})->bytes(), 5000);
  EXPECT_EQ(memory.held_bytes(), 5000);
  EXPECT_EQ(memory.peak_bytes(), 5000);
}

TEST(RunMemory, ABlockKeepsItsBytesWhileItGetsLargePages) {
  constexpr std::int64_t kBytes = 3 * kLargePage + 1000;
  const auto value = [](std::int64_t i) { return static_cast<std::byte>(i / 500); };
  for (const bool slow : {false, true}) {
    RunMemory memory;
    if (slow) memory.watch().record(std::chrono::seconds(1));
    for (int run = 0; run < 3; ++run) {
      auto lease = memory.acquire({kBytes, {}, false});
      ASSERT_TRUE(lease);
      for (std::int64_t i = 0; i < kBytes; i += 500) {
        if (run == 0) lease->data()[i] = value(i);
        ASSERT_EQ(lease->data()[i], value(i)) << run << " " << i;
      }
    }
  }
}

/// Returns the system's flags of the mapping that contains `address`, such as "rd wr mr mw me ac
/// hg".
std::string flags_of(const std::byte* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0;
    unsigned long last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2)
      found = first <= at && at < last;
    else if (found && line.starts_with("VmFlags:"))
      return line;
  }
  return {};
}

/// Whether the system has large pages and keeps advice on pages; qemu-user ignores it.
bool keeps_page_advice() {
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool kept = ::madvise(page, 4096, MADV_NOHUGEPAGE) == 0 &&
                    flags_of(static_cast<const std::byte*>(page)).find(" nh") != std::string::npos;
  return ::munmap(page, 4096) == 0 && kept;
}

TEST(RunMemory, HasThePagesThatItsSourceWants) {
  if (!keeps_page_advice()) GTEST_SKIP() << "this system keeps no advice on pages: qemu-user";
  RunMemory memory;
  for (const bool large : {false, true}) {
    RunMemory::Request request{4 * kLargePage, {}, false};
    request.source = std::make_shared<MemorySource>(PagePolicy{large, false});
    const auto lease = memory.acquire(request);
    ASSERT_TRUE(lease);
    const std::string flags = flags_of(lease->data());
    EXPECT_NE(flags.find(large ? " hg" : " nh"), std::string::npos) << flags;
  }
}

TEST(RunMemory, ABlockServesItsSourceOnly) {
  RunMemory memory;
  const auto one = std::make_shared<MemorySource>(), other = std::make_shared<MemorySource>();
  const auto acquire = [&](const std::shared_ptr<MemorySource>& source) {
    RunMemory::Request request{1000, {}, false};
    request.source = source;
    return *memory.acquire(request);
  };
  const RunMemory::Lease running = acquire(one);
  const std::byte* first = nullptr;
  {
    const RunMemory::Lease lease = acquire(one), third = acquire(other);  // three blocks may stay
    first = lease.data();
    EXPECT_EQ(&lease.source(), one.get());
  }
  EXPECT_NE(acquire(other).data(), first);
  EXPECT_EQ(acquire(one).data(), first);
  EXPECT_EQ(memory.held_bytes(), 3000);
}

TEST(RunMemory, RefusesWhatCanNeverFit) {
  RunMemory memory;
  EXPECT_EQ(memory.acquire({1001, 1000, false}).error().code, ErrorCode::kBudgetExceeded);
  EXPECT_TRUE(memory.acquire({1000, 1000, false}));
}

TEST(RunMemory, AnIdleBlockAboveAShrunkenLimitIsGivenUp) {
  RunMemory memory;
  { const auto large = memory.acquire({10'000, {}, false}); }
  const auto small = memory.acquire({100, 1000, false});
  ASSERT_TRUE(small);
  EXPECT_LE(memory.held_bytes(), 1000);
}

TEST(RunMemory, TheSecondRunWaitsForTheFirst) {
  RunMemory memory;
  std::atomic<bool> released{false};
  std::thread second;
  {
    auto first = memory.acquire({600, 1000, false});
    ASSERT_TRUE(first);
    second = std::thread([&] {
      auto lease = memory.acquire({600, 1000, false});
      EXPECT_TRUE(lease);
      EXPECT_TRUE(released);
    });
    until_waiting(memory, 1);
    released = true;
  }
  second.join();
  EXPECT_LE(memory.peak_bytes(), 1000);
}

TEST(RunMemory, NoRunOvertakesOneThatWaits) {
  RunMemory memory;
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  {
    auto first = memory.acquire({600, 1000, false});
    ASSERT_TRUE(first);
    // The large one comes first; the small ones would fit next to `first`, but wait for it.
    threads.emplace_back([&] {
      auto lease = memory.acquire({1000, 1000, false});
      EXPECT_TRUE(lease);
      EXPECT_EQ(next++, 0);
    });
    until_waiting(memory, 1);
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        auto lease = memory.acquire({100, 1000, false});
        EXPECT_TRUE(lease);
        EXPECT_GT(next++, 0);
      });
    }
    until_waiting(memory, 4);
    EXPECT_EQ(next, 0);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(next, 4);
  EXPECT_LE(memory.peak_bytes(), 1000);
}

TEST(RunMemory, ARunBeginsAnewInItsSpare) {
  RunMemory memory;
  RunMemory::Request request{600, 1000, false};
  request.spare = 401;
  const auto refused = memory.acquire(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExceeded);
  request.spare = 400;
  auto lease = memory.acquire(request);
  ASSERT_TRUE(lease);
  EXPECT_EQ(memory.held_bytes(), 1000);
  RunMemory::Spare spare = lease->take_spare();
  EXPECT_EQ(lease->take_spare().bytes(), 0);
  lease->set_aside();
  EXPECT_EQ(memory.fixed_bytes(), 600);
  {
    // Other runs do not wait for bytes that are set aside.
    const auto other = memory.acquire({600, 1000, false});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::kBudgetExceeded);
    RunMemory::Request again{400, 1000, true};
    again.from = &spare;
    const auto second = memory.acquire(again);
    ASSERT_TRUE(second);
    EXPECT_EQ(spare.bytes(), 0);
    EXPECT_EQ(memory.held_bytes(), 1000);
  }
  EXPECT_TRUE(memory.acquire({400, 1000, false})) << "both run";
  { const RunMemory::Lease answered = *std::move(lease); }
  EXPECT_EQ(memory.fixed_bytes(), 0);
  EXPECT_EQ(memory.busy_bytes(), 0);
  EXPECT_TRUE(memory.acquire({1000, 1000, false}));
  EXPECT_EQ(memory.peak_bytes(), 1000);
}

TEST(RunMemory, ASpareThatWasNotNeededGoesBack) {
  RunMemory memory;
  RunMemory::Request request{600, 1000, false};
  request.spare = 400;
  EXPECT_TRUE(memory.acquire(request));
  EXPECT_EQ(memory.busy_bytes(), 0);
  {
    RunMemory::Spare spare;
    auto lease = memory.acquire(request);
    spare = lease->take_spare();
    EXPECT_EQ(memory.busy_bytes(), 1000);
  }
  EXPECT_EQ(memory.busy_bytes(), 0);
}

TEST(RunMemory, WhatDevicesKeepIsHeldBesideRuns) {
  RunMemory memory;
  EXPECT_TRUE(memory.acquire({500, 1000, false}));
  EXPECT_TRUE(memory.fix(600, 1000)) << "the idle block goes";
  EXPECT_EQ(memory.held_bytes(), 600);
  EXPECT_FALSE(memory.fix(401, 1000));
  EXPECT_FALSE(memory.acquire({401, 1000, false}));
  EXPECT_TRUE(memory.acquire({400, 1000, false}));
  memory.unfix(600);
  EXPECT_TRUE(memory.acquire({1000, 1000, false}));
  EXPECT_EQ(memory.fixed_bytes(), 0);
}

TEST(RunMemory, AWaitEndsWhenTheTimeIsUp) {
  RunMemory memory;
  std::thread last;
  {
    auto first = memory.acquire({600, 1000, false});
    ASSERT_TRUE(first);
    const Deadline soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    const auto late = memory.acquire({600, 1000, false, soon});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kLimitExceeded);
    EXPECT_EQ(memory.waiting(), 0U);
    // The run that came after it continues.
    last = std::thread([&] { EXPECT_TRUE(memory.acquire({600, 1000, false})); });
    until_waiting(memory, 1);
    EXPECT_FALSE(memory.acquire({600, 1000, false, soon}));
    EXPECT_EQ(memory.waiting(), 1U);
  }
  last.join();
  EXPECT_EQ(memory.busy_bytes(), 0);
}

TEST(RunMemory, AWaitEndsWhenItsCallerAsks) {
  RunMemory memory;
  std::stop_source caller;
  std::thread waits, last;
  {
    auto first = memory.acquire({600, 1000, false});
    ASSERT_TRUE(first);
    waits = std::thread([&] {
      const Deadline asked(std::nullopt, caller.get_token());
      const auto lease = memory.acquire({600, 1000, false, asked});
      ASSERT_FALSE(lease);
      EXPECT_EQ(lease.error().code, ErrorCode::kCancelled);
    });
    until_waiting(memory, 1);
    last = std::thread([&] { EXPECT_TRUE(memory.acquire({600, 1000, false})); });
    until_waiting(memory, 2);
    caller.request_stop();
    until_waiting(memory, 1);
  }
  waits.join();
  last.join();
  EXPECT_EQ(memory.busy_bytes(), 0);
}

TEST(RunMemory, TheLimitIsReadAgainAfterAWait) {
  for (const std::int64_t later : {700, 500}) {
    RunMemory memory;
    std::atomic<int> readings{0};
    const std::function<std::optional<std::int64_t>()> read = [&] {
      ++readings;
      (void)memory.held_bytes();  // not under the lock
      return std::optional(later);
    };
    std::thread second;
    {
      auto first = memory.acquire({600, 1000, false, {}, &read});
      ASSERT_TRUE(first);
      EXPECT_EQ(readings, 0);
      second = std::thread([&] {
        auto lease = memory.acquire({600, 1000, false, {}, &read});
        ASSERT_EQ(lease.has_value(), later >= 600);
        if (lease) {
          EXPECT_EQ(lease->reserve(101).error().code, ErrorCode::kBudgetExceeded);
        } else {
          EXPECT_EQ(lease.error().code, ErrorCode::kBudgetExceeded);
        }
      });
      until_waiting(memory, 1);
    }
    second.join();
    EXPECT_GE(readings, 1);
    EXPECT_LE(memory.peak_bytes(), 700);
  }
}

TEST(RunMemory, AFallenLimitHoldsForTheRunInProgress) {
  RunMemory memory;
  { const auto idle = memory.acquire({500, {}, false}); }
  {
    auto other = memory.acquire({400, 1000, false});
    auto lease = memory.acquire({300, 1000, false});
    ASSERT_TRUE(lease);
    EXPECT_EQ(memory.held_bytes(), 800);  // the other run reuses the idle block
    EXPECT_TRUE(lease->set_limit(800));
    EXPECT_EQ(lease->reserve(1).error().code, ErrorCode::kBudgetExceeded);
    EXPECT_FALSE(lease->set_limit(799));
    EXPECT_FALSE(lease->set_limit(-5));
    EXPECT_TRUE(lease->set_limit(2000));
    EXPECT_TRUE(lease->reserve(1200));
    lease->release(1200);
    EXPECT_FALSE(lease->set_limit(600));
  }
  // Blocks above the last limit were returned to the system.
  EXPECT_LE(memory.held_bytes(), 600);
  memory.trim();
  EXPECT_EQ(memory.held_bytes(), 0);
  EXPECT_EQ(memory.busy_bytes(), 0);
}

TEST(RunMemory, RunsThatGrowUnderALimitAreAlone) {
  RunMemory memory;
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto lease = memory.acquire({100, 1000, true});
        ASSERT_TRUE(lease);
        EXPECT_EQ(inside.fetch_add(1), 0);
        ASSERT_TRUE(lease->reserve(900));
        EXPECT_EQ(lease->reserve(1).error().code, ErrorCode::kBudgetExceeded);
        lease->release(900);
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(memory.peak_bytes(), 1000);
}

}  // namespace
}  // namespace parallax
