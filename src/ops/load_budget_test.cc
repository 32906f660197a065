#include "ops/load_budget.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

TEST(LoadBudget, TakesAllOrNothing) {
  LoadBudget budget;
  EXPECT_FALSE(budget.take_bytes(LoadBudget::kBytes + 1));
  EXPECT_TRUE(budget.take_bytes(LoadBudget::kBytes));
  EXPECT_FALSE(budget.take_bytes(1));
  EXPECT_TRUE(budget.need_bytes(LoadBudget::kKeptBytes)) << "nothing else takes these";
  EXPECT_FALSE(budget.need_bytes(1));
  budget.return_bytes(5);
  EXPECT_TRUE(budget.take_bytes(5));
}

TEST(LoadBudget, ConstantsCountTwice) {
  LoadBudget budget;
  EXPECT_EQ(budget.constant_bytes_left(), LoadBudget::kBytes / 2);
  EXPECT_FALSE(budget.take_constant(LoadBudget::kBytes / 2 + 1));
  EXPECT_TRUE(budget.take_constant(LoadBudget::kBytes / 2));
  EXPECT_EQ(budget.bytes_left(), 0);
}

TEST(LoadBudget, InferenceHasWorkOfItsOwn) {
  LoadBudget budget;
  EXPECT_TRUE(budget.take_work(LoadBudget::kWork));
  EXPECT_FALSE(budget.take_work(1));
  EXPECT_TRUE(budget.need_work(LoadBudget::kKeptWork));
  EXPECT_FALSE(budget.need_work(1));
}

TEST(LoadBudget, GrowsWithTheModel) {
  LoadBudget budget;
  budget.allow_file(100);
  budget.allow_weights(10);
  EXPECT_EQ(budget.bytes_left(), LoadBudget::kBytes + 640);
  EXPECT_TRUE(budget.take_work(LoadBudget::kWork + 1760));
  budget.allow_nodes(1);
  EXPECT_TRUE(budget.need_work(LoadBudget::kKeptWork + 128 * LoadBudget::kWorkPerNode));
  budget.allow_weights(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(budget.bytes_left(), std::numeric_limits<std::int64_t>::max()) << "it saturates";
}

}  // namespace
}  // namespace parallax
