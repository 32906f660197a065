#include "ir/charge.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace parallax {
namespace {

Constant of_bytes(std::int64_t bytes) {
  return make_constant(DType::kU8, Dims{bytes},
                       std::vector<std::byte>(static_cast<std::size_t>(bytes)));
}

Constant of_another_file(std::int64_t bytes) {
  Constant constant = of_bytes(bytes);
  constant.owner = weights_outside(std::move(constant.owner));
  return constant;
}

TEST(Charge, EndsWithTheLastOwner) {
  const auto quota = std::make_shared<LoadQuota>();
  Constant constant = of_bytes(1000);
  EXPECT_EQ(charged_for(constant).bytes, 0);
  ASSERT_TRUE(charge(quota, constant));
  EXPECT_EQ(quota->bytes_left(), LoadQuota::kBytes - 2000)
      << "kernels may keep the bytes once more";
  EXPECT_EQ(charged_for(constant).bytes, 2000);
  Constant view = constant;
  EXPECT_EQ(charged_for(constant).bytes, 0) << "letting go of one of two gives nothing back";
  constant = {};
  EXPECT_EQ(quota->bytes_left(), LoadQuota::kBytes - 2000);
  view = {};
  EXPECT_EQ(quota->bytes_left(), LoadQuota::kBytes);
}

TEST(Charge, TakesNothingWhereTooLittleIsLeft) {
  const auto quota = std::make_shared<LoadQuota>();
  ASSERT_TRUE(quota->take_bytes(LoadQuota::kBytes - 10));
  Constant constant = of_bytes(6);
  EXPECT_FALSE(can_charge(*quota, 6));
  EXPECT_TRUE(can_charge(*quota, 6, 0, {.bytes = 2}));
  EXPECT_FALSE(charge(quota, constant));
  EXPECT_EQ(quota->bytes_left(), 10);
}

TEST(Charge, CopiesOfWeightsHaveAPartOfTheirOwn) {
  const auto quota = std::make_shared<LoadQuota>();
  quota->allow_weights(100);
  ASSERT_TRUE(quota->take_bytes(LoadQuota::kBytes));
  EXPECT_EQ(weight_bytes(of_bytes(100)), 0);
  const Constant stored = of_another_file(100);
  ASSERT_EQ(weight_bytes(stored), 100);
  Constant copy = of_bytes(200), other = of_bytes(1);
  EXPECT_FALSE(can_charge(*quota, 1)) << "nothing else takes it";
  EXPECT_FALSE(charge(quota, other));
  EXPECT_FALSE(can_charge(*quota, 5, 1)) << "more than copies of one byte";
  ASSERT_TRUE(charge(quota, copy, weight_bytes(stored)));
  EXPECT_EQ(weight_bytes(copy), 200) << "copies of copies are copies";
  EXPECT_EQ(quota->weight_bytes_left(), 0);
  EXPECT_FALSE(can_charge(*quota, 200, 200));
  EXPECT_TRUE(can_charge(*quota, 200, 200, charged_for(copy)));
  copy = {};
  EXPECT_EQ(quota->weight_bytes_left(), 400);
}

TEST(Charge, OutlivesTheAccount) {
  auto quota = std::make_shared<LoadQuota>();
  Constant constant = of_bytes(10);
  ASSERT_TRUE(charge(quota, constant));
  quota.reset();
  EXPECT_EQ(constant.bytes.size(), 10U);
  constant = {};
}

}  // namespace
}  // namespace parallax
