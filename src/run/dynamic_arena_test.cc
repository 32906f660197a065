// Memory of tensors whose sizes only a run determines.
#include "run/dynamic_arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "run/run_memory.h"

namespace parallax {
namespace {

TEST(DynamicArena, BytesGoBackWithTheirTensor) {
  RunMemory memory;
  auto lease = memory.acquire({64, {}, false});
  ASSERT_TRUE(lease);
  {
    BlockPool pool(*lease);
    DynamicArena arena(pool, true);
    std::byte* const a = *arena.allocate(100);
    std::byte* const b = *arena.allocate(0);
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 64, 0U);
    std::memset(a, 1, 100);
    EXPECT_EQ(memory.held_bytes(), 64 + 128 + 64);
    arena.free(a);
    EXPECT_EQ(memory.held_bytes(), 64 + 64);
    arena.free(nullptr);
    std::byte other{};
    arena.free(&other);
    EXPECT_EQ(memory.held_bytes(), 64 + 64);
    // Many large ones, some freed: nothing overlaps.
    std::vector<std::pair<std::byte*, int>> live;
    for (int i = 0; i < 200; ++i) {
      std::byte* const p = *arena.allocate(1000 + 700 * i);
      std::memset(p, i, static_cast<std::size_t>(1000 + 700 * i));
      live.emplace_back(p, i);
      if (i % 3 == 0) {
        arena.free(live.front().first);
        live.erase(live.begin());
      }
      for (const auto& [q, n] : live) ASSERT_EQ(std::to_integer<int>(q[999 + 700 * n]), n);
    }
  }
  EXPECT_EQ(memory.held_bytes(), 64);
}

TEST(DynamicArena, LargeBlocksServeAgainWhereTheyFit) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  for (const bool limited : {false, true}) {
    RunMemory memory;
    auto lease =
        memory.acquire({64, limited ? std::optional<std::int64_t>(3 * kMiB) : std::nullopt, true});
    ASSERT_TRUE(lease);
    BlockPool pool(*lease);
    std::byte* a = nullptr;
    {
      DynamicArena arena(pool, false);
      a = *arena.allocate(kMiB);
      EXPECT_EQ(memory.held_bytes(), 64 + (limited ? kMiB : kMiB * 9 / 8));
      ASSERT_TRUE(arena.allocate(100));
    }
    // Another arena can reuse it; a small block next to it changes nothing.
    DynamicArena arena(pool, false);
    ASSERT_TRUE(arena.allocate(100));
    EXPECT_EQ(*arena.allocate(kMiB, limited), a);
    arena.free(a);
    // A tensor that it is too small for causes it to be freed first.
    std::byte* const b = *arena.allocate(2 * kMiB, true);
    EXPECT_EQ(memory.held_bytes(), 64 + 128 + 2 * kMiB);
    arena.free(b);
    // So does a tensor that it is too large for.
    ASSERT_TRUE(arena.allocate(kMiB, true));
    EXPECT_EQ(memory.held_bytes(), 64 + 128 + kMiB);
  }
}

TEST(DynamicArena, GrowingTensorsHoldAQuarterMoreThanTheyAre) {
  RunMemory memory;
  auto lease = memory.acquire({64, {}, true});
  ASSERT_TRUE(lease);
  BlockPool pool(*lease);
  DynamicArena arena(pool, false);
  std::byte* old = nullptr;
  int served_again = 0;
  for (std::int64_t bytes = 64; bytes < 4'000'000; bytes += 20'000) {
    const std::int64_t held = memory.held_bytes();
    std::byte* const next = *arena.allocate(bytes);
    served_again += memory.held_bytes() == held ? 1 : 0;
    EXPECT_LE(memory.held_bytes(), 64 + 2 * bytes * 5 / 4 + 128);
    arena.free(old);
    old = next;
  }
  EXPECT_GT(served_again, 100);
}

TEST(DynamicArena, SmallBudgetsGetSmallChunks) {
  RunMemory memory;
  auto lease = memory.acquire({64, 1024, true});
  ASSERT_TRUE(lease);
  BlockPool pool(*lease);
  DynamicArena arena(pool, false);
  EXPECT_TRUE(arena.allocate(600));
  const auto too_much = arena.allocate(600);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, ErrorCode::kBudgetExceeded);
  EXPECT_TRUE(arena.allocate(64));
  EXPECT_LE(memory.peak_bytes(), 1024);
}

}  // namespace
}  // namespace parallax
