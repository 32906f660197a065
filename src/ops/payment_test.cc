#include "ops/payment.h"

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

TEST(Payment, EndsWithTheLastOwner) {
  const auto budget = std::make_shared<LoadBudget>();
  Constant constant = of_bytes(1000);
  EXPECT_EQ(paid_for(constant).bytes, 0);
  ASSERT_TRUE(pay(budget, constant));
  EXPECT_EQ(budget->bytes_left(), LoadBudget::kBytes - 2000)
      << "kernels may keep the bytes once more";
  EXPECT_EQ(paid_for(constant).bytes, 2000);
  Constant view = constant;
  EXPECT_EQ(paid_for(constant).bytes, 0) << "letting go of one of two gives nothing back";
  constant = {};
  EXPECT_EQ(budget->bytes_left(), LoadBudget::kBytes - 2000);
  view = {};
  EXPECT_EQ(budget->bytes_left(), LoadBudget::kBytes);
}

TEST(Payment, TakesNothingWhereTooLittleIsLeft) {
  const auto budget = std::make_shared<LoadBudget>();
  ASSERT_TRUE(budget->take_bytes(LoadBudget::kBytes - 10));
  Constant constant = of_bytes(6);
  EXPECT_FALSE(can_pay(*budget, 6));
  EXPECT_TRUE(can_pay(*budget, 6, 0, {.bytes = 2}));
  EXPECT_FALSE(pay(budget, constant));
  EXPECT_EQ(budget->bytes_left(), 10);
}

TEST(Payment, CopiesOfWeightsHaveAPartOfTheirOwn) {
  const auto budget = std::make_shared<LoadBudget>();
  budget->allow_weights(100);
  ASSERT_TRUE(budget->take_bytes(LoadBudget::kBytes));
  EXPECT_EQ(weight_bytes(of_bytes(100)), 0);
  const Constant stored = of_another_file(100);
  ASSERT_EQ(weight_bytes(stored), 100);
  Constant copy = of_bytes(200), other = of_bytes(1);
  EXPECT_FALSE(can_pay(*budget, 1)) << "nothing else takes it";
  EXPECT_FALSE(pay(budget, other));
  EXPECT_FALSE(can_pay(*budget, 5, 1)) << "more than copies of one byte";
  ASSERT_TRUE(pay(budget, copy, weight_bytes(stored)));
  EXPECT_EQ(weight_bytes(copy), 200) << "copies of copies are copies";
  EXPECT_EQ(budget->weight_bytes_left(), 0);
  EXPECT_FALSE(can_pay(*budget, 200, 200));
  EXPECT_TRUE(can_pay(*budget, 200, 200, paid_for(copy)));
  copy = {};
  EXPECT_EQ(budget->weight_bytes_left(), 400);
}

TEST(Payment, OutlivesTheAccount) {
  auto budget = std::make_shared<LoadBudget>();
  Constant constant = of_bytes(10);
  ASSERT_TRUE(pay(budget, constant));
  budget.reset();
  EXPECT_EQ(constant.bytes.size(), 10U);
  constant = {};
}

}  // namespace
}  // namespace parallax
