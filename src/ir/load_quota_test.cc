#include "ir/load_quota.h"

#include <gtest/gtest.h>

#include <limits>

namespace parallax {
namespace {

constexpr std::int64_t kBytes = LoadQuota::kBytes, kKept = LoadQuota::kKeptBytes;

TEST(LoadQuota, TakesAllOrNothing) {
  LoadQuota quota;
  EXPECT_FALSE(quota.take_bytes(kBytes + 1));
  EXPECT_TRUE(quota.take_bytes(kBytes));
  EXPECT_FALSE(quota.take_bytes(1));
  EXPECT_TRUE(quota.need_node_bytes(kKept)) << "nothing else takes these";
  EXPECT_FALSE(quota.need_node_bytes(1));
  quota.return_bytes(5);
  EXPECT_TRUE(quota.take_bytes(5));
}

TEST(LoadQuota, WhatIsNeededStaysWithItsPart) {
  LoadQuota quota;
  EXPECT_TRUE(quota.need_shape(kKept));
  EXPECT_TRUE(quota.take_bytes(kBytes));
  for (int i = 0; i < 3; ++i) {
    quota.return_type(kKept, 0);
    EXPECT_FALSE(quota.take_bytes(1)) << "what shapes give back is for shapes";
    EXPECT_TRUE(quota.need_shape(kKept));
  }
  EXPECT_FALSE(quota.need_shape(1));
}

TEST(LoadQuota, WhatIsNeededGoesOnFromTheRest) {
  LoadQuota quota;
  EXPECT_TRUE(quota.need_node_bytes(kKept - 10));
  EXPECT_TRUE(quota.need_shape(30));
  EXPECT_EQ(quota.bytes_left(), kBytes - 20);
  quota.return_type(30, 0);
  EXPECT_EQ(quota.bytes_left(), kBytes);
  EXPECT_EQ(quota.needed_bytes_left(), kBytes + 10);
}

TEST(LoadQuota, KnowsWhetherElementsWereLeftOut) {
  LoadQuota quota;
  EXPECT_TRUE(quota.take_elements(kBytes));
  EXPECT_FALSE(quota.take_bytes(1));
  EXPECT_FALSE(quota.left_out());
  EXPECT_FALSE(quota.take_elements(1));
  EXPECT_TRUE(quota.left_out());
  quota.settle_types(7, 100);
  EXPECT_EQ(quota.bytes_left(), kBytes - 100);
  EXPECT_EQ(quota.needed_bytes_left(), kBytes - 100 + kKept - 7);
}

TEST(LoadQuota, NothingCanBeTakenOfLessThanNothing) {
  LoadQuota quota;
  quota.settle_types(2 * kBytes, 2 * kBytes);
  EXPECT_LT(quota.bytes_left(), 0);
  EXPECT_TRUE(quota.take_bytes(0) && quota.take_elements(0) && quota.need_shape(0));
  EXPECT_FALSE(quota.left_out());
  EXPECT_FALSE(quota.take_bytes(1));
}

TEST(LoadQuota, InferenceHasWorkOfItsOwn) {
  LoadQuota quota;
  EXPECT_TRUE(quota.take_work(LoadQuota::kWork));
  EXPECT_FALSE(quota.take_work(1));
  EXPECT_TRUE(quota.need_work(LoadQuota::kKeptWork));
  EXPECT_FALSE(quota.need_work(1));
}

TEST(LoadQuota, GrowsWithTheModel) {
  LoadQuota quota;
  quota.allow_file(100);
  EXPECT_EQ(quota.bytes_left(), kBytes + 600);
  quota.allow_weights(10);
  EXPECT_EQ(quota.bytes_left(), kBytes + 600) << "weights have a part of their own";
  EXPECT_FALSE(quota.take_weight_bytes(41));
  EXPECT_TRUE(quota.take_weight_bytes(40));
  EXPECT_TRUE(quota.take_work(LoadQuota::kWork + 1760));
  quota.allow_nodes(1);
  EXPECT_TRUE(quota.need_work(LoadQuota::kKeptWork + 128 * LoadQuota::kWorkPerNode));
  quota.allow_file(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(quota.bytes_left(), std::numeric_limits<std::int64_t>::max()) << "it saturates";
}

TEST(LoadQuota, NodesOfTheFileLeaveTheRestAsItWas) {
  LoadQuota quota;
  quota.allow_kept(1000);
  EXPECT_TRUE(quota.need_node_bytes(1000 + kKept));
  EXPECT_EQ(quota.bytes_left(), kBytes);
  EXPECT_TRUE(quota.need_node_bytes(1));
  EXPECT_EQ(quota.bytes_left(), kBytes - 1);
}

TEST(LoadQuota, WeightsMakeNoMoreWorkThanTheLargestFile) {
  LoadQuota quota;
  quota.allow_weights(std::int64_t{1} << 40);
  quota.allow_weights(std::int64_t{1} << 40);
  EXPECT_EQ(quota.weight_bytes_left(), std::int64_t{8} << 40);
  EXPECT_EQ(quota.work_left(), LoadQuota::kWork + (std::int64_t{16} << 31));
}

}  // namespace
}  // namespace parallax
