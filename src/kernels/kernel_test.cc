#include "kernels/kernel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace parallax {
namespace {

TEST(TileCount, RoundsUp) {
  EXPECT_EQ(tile_count(0, 8), 0);
  EXPECT_EQ(tile_count(1, 8), 1);
  EXPECT_EQ(tile_count(8, 8), 1);
  EXPECT_EQ(tile_count(9, 8), 2);
  EXPECT_EQ(tile_count(3, 0), 3);
  EXPECT_EQ(tile_count(std::numeric_limits<std::int64_t>::max(), 1),
            std::numeric_limits<std::int64_t>::max());
}

RC_GTEST_PROP(TileRange, TilesCoverUnitsInOrder, ()) {
  const auto units = *rc::gen::inRange<std::int64_t>(0, 100000);
  const auto tiles = *rc::gen::inRange<std::int64_t>(1, 100);
  const auto granule = *rc::gen::element<std::int64_t>(1, 16, 64);
  std::int64_t next = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const TileRange range = tile_range(units, tiles, tile, granule);
    RC_ASSERT(range.begin == next);
    RC_ASSERT(range.end >= range.begin);
    RC_ASSERT(tile == 0 || range.begin % granule == 0 || range.begin == units);
    const std::int64_t even = units / tiles + (units % tiles != 0 ? 1 : 0);
    RC_ASSERT(range.end - range.begin <= (even + granule - 1) / granule * granule);
    next = range.end;
  }
  RC_ASSERT(next == units);
}

TEST(TileRange, HoldsFor63Bits) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(tile_range(most, 3, 2).end, most);
  EXPECT_GT(tile_range(most, 3, 2).begin, most / 3);
}

TEST(LambdaKernel, SaysHowInputsAreRead) {
  const auto kernel = make_lambda_kernel(
      {.tiles = 7, .scratch_bytes = 32, .byte_inputs = 0b01, .unused_inputs = 0b10},
      [](std::int64_t tile, const KernelArgs&) -> Status {
        if (tile == 3) return tl::unexpected(Error{Stage::kRun, ErrorCode::kOutOfRange, {}, {}});
        return {};
      });
  EXPECT_EQ(kernel->tiles(), 7);
  EXPECT_EQ(kernel->scratch_bytes(), 32);
  EXPECT_EQ(kernel->input_use(0), InputUse::kBytes);
  EXPECT_EQ(kernel->input_use(1), InputUse::kNone);
  EXPECT_EQ(kernel->input_use(40), InputUse::kAligned);
  EXPECT_FALSE(kernel->dynamic_outputs());
  EXPECT_TRUE(kernel->run_tile(0, {}).has_value());
  EXPECT_EQ(kernel->run_tile(3, {}).error().code, ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace parallax
