#include "kernels/cpu/tiles.h"

#include <gtest/gtest.h>

#include <limits>

namespace parallax {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

struct Case {
  std::int64_t units, work, most, tiles;
};

class CountTiles : public testing::TestWithParam<Case> {};

TEST_P(CountTiles, AsListed) {
  const Case& c = GetParam();
  EXPECT_EQ(count_tiles(c.units, c.work, c.most), c.tiles);
}

INSTANTIATE_TEST_SUITE_P(Table, CountTiles,
                         testing::Values(Case{0, 5, 80, 0}, Case{1, 5, 80, 1}, Case{1, 800, 80, 1},
                                         // Less than two small tiles are one, then powers of two.
                                         Case{10, 1, 80, 1}, Case{11, 1, 80, 2}, Case{21, 1, 80, 4},
                                         Case{41, 1, 80, 8}, Case{560, 1, 80, 8},
                                         // From eight tiles of the usual size on, tiles have that
                                         // size.
                                         Case{640, 1, 80, 8}, Case{641, 1, 80, 9},
                                         Case{64, 10, 80, 8}, Case{72, 10, 80, 9},
                                         // Units are not cut.
                                         Case{3, 80, 80, 3}, Case{5, 40, 80, 5},
                                         Case{9, 1000, 80, 9},
                                         // No overflow.
                                         Case{7, kHuge, 80, 7}, Case{kHuge, kHuge, 80, kHuge},
                                         Case{kHuge, 0, kHuge, 8}, Case{100, 1, 0, 100}));

}  // namespace
}  // namespace parallax
