#include "base/machine/budget.h"

#include <gtest/gtest.h>

#include <limits>

#include "parallax/options.h"

namespace parallax {
namespace {

TEST(AutoBudget, LeavesAMarginThatGrowsWithPressure) {
  struct Row {
    MemoryState state;
    std::int64_t held;
    RunBudget expected;
  };
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Row rows[] = {
      {{1000, MemoryPressure::kNone}, 0, {600, true}},
      {{1000, MemoryPressure::kNone}, 500, {900, true}},
      {{1000, MemoryPressure::kSome}, 500, {750, true}},
      {{1000, MemoryPressure::kStalled}, 500, {750, false}},
      {{0, MemoryPressure::kNone}, 0, {0, true}},
      {{std::nullopt, MemoryPressure::kNone}, 500, {std::nullopt, true}},
      {{std::nullopt, MemoryPressure::kStalled}, 500, {std::nullopt, false}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(auto_budget(row.state, row.held), row.expected)
        << row.state.free.value_or(-1) << " free, " << row.held << " held";
  EXPECT_GT(auto_budget({most, MemoryPressure::kNone}, most).bytes, most / 2);
  static_assert(kFreeMemoryMargin >= 0.3 && kPressedMemoryMargin <= 0.5, "the paper: 30-50 %");
}

}  // namespace
}  // namespace parallax
