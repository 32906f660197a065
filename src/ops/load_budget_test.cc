#include "ops/load_budget.h"

#include <gtest/gtest.h>

#include <limits>

namespace parallax {
namespace {

constexpr std::int64_t kBytes = LoadBudget::kBytes, kKept = LoadBudget::kKeptBytes;

TEST(LoadBudget, TakesAllOrNothing) {
  LoadBudget budget;
  EXPECT_FALSE(budget.take_bytes(kBytes + 1));
  EXPECT_TRUE(budget.take_bytes(kBytes));
  EXPECT_FALSE(budget.take_bytes(1));
  EXPECT_TRUE(budget.need_node_bytes(kKept)) << "nothing else takes these";
  EXPECT_FALSE(budget.need_node_bytes(1));
  budget.return_bytes(5);
  EXPECT_TRUE(budget.take_bytes(5));
}

TEST(LoadBudget, WhatIsNeededStaysWithItsPart) {
  LoadBudget budget;
  EXPECT_TRUE(budget.need_shape(kKept));
  EXPECT_TRUE(budget.take_bytes(kBytes));
  for (int i = 0; i < 3; ++i) {
    budget.return_type(kKept, 0);
    EXPECT_FALSE(budget.take_bytes(1)) << "what shapes give back is for shapes";
    EXPECT_TRUE(budget.need_shape(kKept));
  }
  EXPECT_FALSE(budget.need_shape(1));
}

TEST(LoadBudget, WhatIsNeededGoesOnFromTheRest) {
  LoadBudget budget;
  EXPECT_TRUE(budget.need_node_bytes(kKept - 10));
  EXPECT_TRUE(budget.need_shape(30));
  EXPECT_EQ(budget.bytes_left(), kBytes - 20);
  budget.return_type(30, 0);
  EXPECT_EQ(budget.bytes_left(), kBytes);
  EXPECT_EQ(budget.needed_bytes_left(), kBytes + 10);
}

TEST(LoadBudget, KnowsWhetherElementsWereLeftOut) {
  LoadBudget budget;
  EXPECT_TRUE(budget.take_elements(kBytes));
  EXPECT_FALSE(budget.take_bytes(1));
  EXPECT_FALSE(budget.left_out());
  EXPECT_FALSE(budget.take_elements(1));
  EXPECT_TRUE(budget.left_out());
  budget.settle_types(7, 100);
  EXPECT_EQ(budget.bytes_left(), kBytes - 100);
  EXPECT_EQ(budget.needed_bytes_left(), kBytes - 100 + kKept - 7);
}

TEST(LoadBudget, NothingCanBeTakenOfLessThanNothing) {
  LoadBudget budget;
  budget.settle_types(2 * kBytes, 2 * kBytes);
  EXPECT_LT(budget.bytes_left(), 0);
  EXPECT_TRUE(budget.take_bytes(0) && budget.take_elements(0) && budget.need_shape(0));
  EXPECT_FALSE(budget.left_out());
  EXPECT_FALSE(budget.take_bytes(1));
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
  EXPECT_EQ(budget.bytes_left(), kBytes + 600);
  budget.allow_weights(10);
  EXPECT_EQ(budget.bytes_left(), kBytes + 600) << "weights have a part of their own";
  EXPECT_FALSE(budget.take_weight_bytes(41));
  EXPECT_TRUE(budget.take_weight_bytes(40));
  EXPECT_TRUE(budget.take_work(LoadBudget::kWork + 1760));
  budget.allow_nodes(1);
  EXPECT_TRUE(budget.need_work(LoadBudget::kKeptWork + 128 * LoadBudget::kWorkPerNode));
  budget.allow_file(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(budget.bytes_left(), std::numeric_limits<std::int64_t>::max()) << "it saturates";
}

TEST(LoadBudget, NodesOfTheFileLeaveTheRestAsItWas) {
  LoadBudget budget;
  budget.allow_kept(1000);
  EXPECT_TRUE(budget.need_node_bytes(1000 + kKept));
  EXPECT_EQ(budget.bytes_left(), kBytes);
  EXPECT_TRUE(budget.need_node_bytes(1));
  EXPECT_EQ(budget.bytes_left(), kBytes - 1);
}

TEST(LoadBudget, WeightsMakeNoMoreWorkThanTheLargestFile) {
  LoadBudget budget;
  budget.allow_weights(std::int64_t{1} << 40);
  budget.allow_weights(std::int64_t{1} << 40);
  EXPECT_EQ(budget.weight_bytes_left(), std::int64_t{8} << 40);
  EXPECT_EQ(budget.work_left(), LoadBudget::kWork + (std::int64_t{16} << 31));
}

}  // namespace
}  // namespace parallax
