#include "bind/branch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parallax {
namespace {

using testing::ElementsAre;

Result<BranchOrder> order_of(const std::vector<std::vector<int>>& waits,
                             const std::vector<double>& work) {
  IdVector<BranchId, std::vector<BranchId>> ids;
  for (const auto& some : waits) {
    std::vector<BranchId> list;
    for (const int branch : some) list.push_back(BranchId{branch});
    ids.push_back(std::move(list));
  }
  IdVector<BranchId, double> amounts;
  for (const double amount : work) amounts.push_back(amount);
  return order_branches(ids, amounts);
}

std::vector<int> numbers(std::span<const BranchId> branches) {
  std::vector<int> result;
  for (const BranchId branch : branches) result.push_back(branch.value);
  return result;
}

TEST(BranchOrder, TheLongestWayToTheEndGoesFirst) {
  //  0 ─ 1 (1) ─ 3 (10) ─ 4      2 has more work than 1, but less from its start to the end.
  //   └─ 2 (5) ───────────┘
  const auto order = order_of({{}, {0}, {0}, {1}, {2, 3}}, {1, 1, 5, 10, 1});
  ASSERT_TRUE(order);
  EXPECT_THAT(numbers(order->by_rank), ElementsAre(0, 1, 3, 2, 4));
  EXPECT_EQ(order->rank[BranchId{3}], 2);
  EXPECT_THAT(numbers(order->ready), ElementsAre(0));
  EXPECT_THAT(numbers(order->waiting(BranchId{0})), ElementsAre(1, 2));
  EXPECT_THAT(numbers(order->waiting(BranchId{3})), ElementsAre(4));
  EXPECT_TRUE(order->waiting(BranchId{4}).empty());
  EXPECT_EQ(order->waits[BranchId{4}], 2);
  EXPECT_TRUE(order->concurrent);
}

TEST(BranchOrder, WhatADeviceRunsBeginsFirst) {
  //  0 ─ 1 (9) ─ 3
  //   └─ 2 (1) ──┘      2 is a region
  IdVector<BranchId, std::vector<BranchId>> waits;
  for (const auto& list : std::vector<std::vector<BranchId>>{
           {}, {BranchId{0}}, {BranchId{0}}, {BranchId{1}, BranchId{2}}})
    waits.push_back(list);
  IdVector<BranchId, double> work;
  for (const double amount : {1.0, 9.0, 1.0, 1.0}) work.push_back(amount);
  IdVector<BranchId, RegionId> region(4);
  region[BranchId{2}] = RegionId{0};
  const auto order = order_branches(waits, work, region);
  ASSERT_TRUE(order);
  EXPECT_LT(order->rank[BranchId{2}], order->rank[BranchId{1}]);
}

TEST(BranchOrder, KnowsWhereNothingCanRunAtOnce) {
  const std::vector<double> work(4, 1);
  EXPECT_FALSE(order_of({{}, {0}, {1}, {2}}, work)->concurrent);
  // Ids need not be in topological order, and an edge may be implied by others.
  EXPECT_FALSE(order_of({{1, 3, 2}, {3, 2}, {3}, {}}, work)->concurrent);
  EXPECT_TRUE(order_of({{}, {0}, {0}, {1, 2}}, work)->concurrent);
  EXPECT_TRUE(order_of({{}, {}, {0, 1}, {2}}, work)->concurrent);
  EXPECT_FALSE(order_of({}, {})->concurrent);
  EXPECT_FALSE(order_of({{}}, {0})->concurrent);
}

TEST(BranchOrder, RefusesCircles) {
  EXPECT_EQ(order_of({{}, {2}, {1}}, {1, 1, 1}).error().code, ErrorCode::kInternal);
  EXPECT_FALSE(order_of({{0}}, {1}));
}

}  // namespace
}  // namespace parallax
