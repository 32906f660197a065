#include "kernels/weights/weight_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

#include "base/address_limit_test_util.h"

namespace parallax {
namespace {

using namespace std::chrono_literals;

AlignedBytes filled(WeightMemory& memory, std::int64_t bytes, int value) {
  AlignedBytes block = *memory.allocate(bytes);
  memory.touch(block);
  std::memset(block.data(), value, static_cast<std::size_t>(bytes));
  return block;
}

bool holds(const AlignedBytes& block, int value) {
  for (std::int64_t i = 0; i < block.size(); ++i)
    if (block.data()[i] != std::byte(value)) return false;
  return true;
}

/// Makes the watch believe that large pages are slow from now on.
void slow_down(WeightMemory& memory) { memory.watch().record(1s); }

TEST(LargePageWatch, OneSlowTouchSettlesIt) {
  LargePageWatch watch;
  watch.record(LargePageWatch::kSlow);
  EXPECT_TRUE(watch.quick());
  watch.record(LargePageWatch::kSlow + 1ns);
  EXPECT_FALSE(watch.quick());
  watch.record(1ns);
  EXPECT_FALSE(watch.quick());
}

TEST(WeightMemory, BlocksLieApartAndAligned) {
  WeightMemory memory;
  std::vector<AlignedBytes> blocks;
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{64},
                                   kLargePage / 2, kLargePage, 3 * kLargePage + 7}) {
    blocks.push_back(filled(memory, bytes, static_cast<int>(blocks.size()) + 1));
    EXPECT_EQ(blocks.back().size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().data()) % 64, 0U);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(holds(blocks[i], int(i) + 1)) << i;
}

TEST(WeightMemory, RefusesTheImpossible) {
  WeightMemory memory;
  for (const std::int64_t bytes :
       {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::max() - kLargePage, std::int64_t{1} << 60}) {
    const auto refused = memory.allocate(bytes);
    ASSERT_FALSE(refused.has_value()) << bytes;
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  }
  EXPECT_TRUE(memory.allocate(1)) << "and goes on";
}

TEST(WeightMemory, BlocksOutliveIt) {
  AlignedBytes block;
  {
    WeightMemory memory;
    block = filled(memory, kLargePage, 3);
  }
  EXPECT_TRUE(holds(block, 3));
}

TEST(WeightMemory, SmallPagesAreMadeLargeLaterAFewAtATime) {
  WeightMemory memory;
  slow_down(memory);
  const AlignedBytes block = filled(memory, 5 * kLargePage, 7);
  ASSERT_EQ(memory.pages().small, 5);
  memory.promote(0ns);
  EXPECT_EQ(memory.pages().large, 1) << "one at least";
  EXPECT_EQ(memory.pages().small, 4);
  memory.promote(1h);
  EXPECT_EQ(memory.pages().large, 5);
  EXPECT_EQ(memory.pages().small, 0);
  EXPECT_TRUE(holds(block, 7));
}

TEST(WeightMemory, APageThatFillsUpLaterIsMadeLargeToo) {
  WeightMemory memory;
  const AlignedBytes first = filled(memory, kLargePage / 2, 1);
  memory.promote(1h);
  EXPECT_EQ(memory.pages().small + memory.pages().large, 0) << "no more memory than it needs";
  const AlignedBytes second = filled(memory, kLargePage / 2 - 2 * 64, 2);
  EXPECT_EQ(first.data() + kLargePage / 2 + 64, second.data()) << "they share a page";
  EXPECT_EQ(memory.pages().small, 1);
  memory.promote(1h);
  EXPECT_EQ(memory.pages().large, 1);
  EXPECT_TRUE(holds(first, 1));
  EXPECT_TRUE(holds(second, 2));
}

TEST(WeightMemory, WhatIsNotFilledYetIsLeftAlone) {
  WeightMemory memory;
  slow_down(memory);
  const AlignedBytes waiting = *memory.allocate(2 * kLargePage);
  const AlignedBytes block = filled(memory, 2 * kLargePage, 1);
  memory.promote(1h);
  EXPECT_EQ(memory.pages().large, 2);
  memory.touch(waiting);
  std::memset(waiting.data(), 2, 2 * kLargePage);
  memory.promote(1h);
  EXPECT_EQ(memory.pages().small, 0);
  EXPECT_TRUE(holds(block, 1));
  EXPECT_TRUE(holds(waiting, 2));
}

/// Returns whether the page at `byte` is resident.
bool resident(const std::byte* byte) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(byte) / page * page);
  unsigned char state = 0;
  return ::mincore(begin, 1, &state) == 0 && (state & 1U) != 0;
}

bool always(std::int64_t) { return true; }

TEST(WeightMemory, PrefaultedBlocksHaveTheirPagesAndTheRestGoesBack) {
  WeightMemory memory;
  memory.prefault(4 * kLargePage + 1, always);
  const AlignedBytes first = *memory.allocate(2 * kLargePage - 64);
  const std::byte* const begin = first.data();
  for (int page = 0; page < 4; ++page) EXPECT_TRUE(resident(begin + page * kLargePage)) << page;
  EXPECT_FALSE(resident(begin + 4 * kLargePage)) << "only what was expected";
  memory.end_prefault();
  for (int page = 0; page < 4; ++page)
    EXPECT_EQ(resident(begin + page * kLargePage), page < 2) << page;
  EXPECT_TRUE(holds(first, 0));

  const AlignedBytes second = filled(memory, 2 * kLargePage - 64, 5);
  EXPECT_EQ(second.data(), begin + 2 * kLargePage) << "given-back pages are used again";
  EXPECT_TRUE(holds(second, 5));
  EXPECT_EQ(memory.pages().small + memory.pages().large, 4);
}

TEST(WeightMemory, PrefaultsNothingAfterTheEndAndNothingImpossible) {
  for (const bool ended : {false, true}) {
    WeightMemory memory;
    if (ended) memory.end_prefault();
    for (const std::int64_t bytes :
         {std::int64_t{-1}, std::int64_t{0}, kLargePage - 1,
          std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 60})
      memory.prefault(bytes, always);
    if (ended) memory.prefault(kLargePage, always);
    const AlignedBytes block = *memory.allocate(kLargePage);
    EXPECT_FALSE(resident(block.data()));
    EXPECT_TRUE(holds(filled(memory, kLargePage, 1), 1));
  }
}

TEST(WeightMemory, PrefaultingStopsAndGivesBackWhereRoomEnds) {
  WeightMemory none;
  none.prefault(4 * kLargePage, [](std::int64_t) { return false; });
  EXPECT_FALSE(resident(none.allocate(kLargePage)->data()));

  WeightMemory memory;
  std::vector<std::int64_t> asked;
  memory.prefault(20 * kLargePage, [&asked](std::int64_t left) {
    asked.push_back(left);
    return asked.size() < 2;
  });
  EXPECT_EQ(asked, (std::vector<std::int64_t>{20 * kLargePage, 4 * kLargePage}));
  const AlignedBytes block = *memory.allocate(3 * kLargePage);
  for (int page = 0; page < 16; ++page)
    EXPECT_FALSE(resident(block.data() + page * kLargePage)) << page;
  memory.touch(block);
  EXPECT_TRUE(holds(block, 0));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(WeightMemory, TakesWhatABlockNeedsWhereAddressesEnd) {
  if (!keeps_address_limits()) GTEST_SKIP() << kNoAddressLimits;
  WeightMemory memory;
  const AlignedBytes first = filled(memory, 16 * kLargePage, 1);
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + 8 * kLargePage);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  const auto second = memory.allocate(2 * kLargePage);
  const auto third = memory.allocate(64 * kLargePage);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_TRUE(second) << "not as much again as there is";
  EXPECT_TRUE(holds(*second, 0));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kOutOfMemory);
}
#endif

TEST(WeightMemory, PrefaultsBesideThreadsThatAllocateAndFill) {
  for (const bool slow : {false, true}) {
    WeightMemory memory;
    if (slow) slow_down(memory);
    std::thread ahead([&] { memory.prefault(12 * kLargePage, always); });
    std::vector<AlignedBytes> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(*memory.allocate(kLargePage * 3 / 4));
    std::thread other([&] { memory.end_prefault(); });
    memory.end_prefault();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      memory.touch(blocks[i]);
      std::memset(blocks[i].data(), int(i), static_cast<std::size_t>(blocks[i].size()));
    }
    other.join();
    ahead.join();
    memory.promote(1h);
    for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(holds(blocks[i], int(i))) << i;
    EXPECT_EQ(memory.pages().small, 0);
  }
}

TEST(WeightMemory, ReadersAndWritersGoOnMeanwhile) {
  WeightMemory memory;
  slow_down(memory);
  constexpr int kPages = 8;
  const AlignedBytes block = filled(memory, kPages * kLargePage, 9);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!stop) wrong += holds(block, 9) ? 0 : 1;
  });
  std::vector<AlignedBytes> more;
  std::thread writer([&] {
    for (int i = 0; i < kPages; ++i) more.push_back(filled(memory, kLargePage, i));
  });
  std::thread other([&] {
    while (!stop) memory.promote(0ns);
  });
  while (memory.pages().small > 0) memory.promote(0ns);
  writer.join();
  stop = true;
  other.join();
  reader.join();
  memory.promote(1h);
  EXPECT_EQ(memory.pages().small, 0);
  EXPECT_EQ(wrong, 0);
  for (int i = 0; i < kPages; ++i) EXPECT_TRUE(holds(more[static_cast<std::size_t>(i)], i));
}

}  // namespace
}  // namespace parallax
