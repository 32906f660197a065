#include "base/dtype_of.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace parallax {
namespace {

template <class T>
concept HasDType = requires {
  kDTypeOf<T>;
};

TEST(DTypeOf, GivesEachElementType) {
  EXPECT_EQ(kDTypeOf<float>, DType::kF32);
  EXPECT_EQ(kDTypeOf<std::int64_t>, DType::kI64);
  EXPECT_EQ(kDTypeOf<bool>, DType::kBool);
}

TEST(DTypeOf, RefusesOtherTypes) {
  static_assert(HasDType<std::int8_t>);
  static_assert(!HasDType<double>);
  static_assert(!HasDType<char>);
  static_assert(!HasDType<std::uint64_t>);
}

}  // namespace
}  // namespace parallax
