#include "kernels/cpu/tiles.h"

#include <gtest/gtest.h>

#include <array>
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

TEST(EvenTiles, AddOneToFewOddTiles) {
  for (const auto& [tiles, units, want] :
       {std::array{1, 9, 1}, std::array{2, 9, 2}, std::array{3, 9, 4}, std::array{3, 3, 3},
        std::array{7, 8, 8}, std::array{9, 99, 9}})
    EXPECT_EQ(even_tiles(tiles, units), want) << tiles << " of " << units;
}

TEST(CopyingGroups, HaveColumnsThatPayForTheCopy) {
  for (const auto& [wanted, runs, columns, want] :
       {std::array{8, 1, 1404, 8}, std::array{8, 1, 96, 3}, std::array{8, 3, 96, 2},
        std::array{2, 4, 96, 1}, std::array{99, 9, 960, 1}, std::array{8, 1, 31, 1},
        std::array{8, 0, 64, 2}})
    EXPECT_EQ(copying_groups(wanted, runs, columns), want) << columns;
}

}  // namespace
}  // namespace parallax
