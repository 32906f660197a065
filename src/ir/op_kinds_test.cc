// Tests sets of operators against the list of all.
#include "ir/op_kinds.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

constexpr OpKind kind_at(std::size_t i) { return static_cast<OpKind>(i); }

TEST(OpKinds, ContainsItsOperatorsAndNoOther) {
  EXPECT_TRUE(OpKinds().empty());
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const OpKinds one{kind_at(i)}, two{kind_at(i), kind_at(kOpCount - 1 - i)};
    EXPECT_FALSE(one.empty());
    for (std::size_t j = 0; j < kOpCount; ++j) {
      EXPECT_EQ(one.contains(kind_at(j)), i == j) << i << " " << j;
      EXPECT_EQ(two.contains(kind_at(j)), i == j || i + j == kOpCount - 1) << i << " " << j;
    }
    EXPECT_FALSE(OpKinds().contains(kind_at(i)));
  }
}

}  // namespace
}  // namespace parallax
