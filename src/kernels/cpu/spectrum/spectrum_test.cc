#include <gtest/gtest.h>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

/// One of each way: fours, twos, small primes, a large prime, a product with one.
constexpr std::int64_t kLengths[] = {1, 2, 3, 4, 5, 8, 12, 13, 17, 60, 64, 97, 128, 77, 34, 480};

Tensor number(std::int64_t n) { return test_tensor<std::int64_t>({}, {n}); }

TEST(CpuDft, AgreesWithReference) {
  const Tolerance near{1e-4, 1e-4};
  for (const std::int64_t n : kLengths) {
    SCOPED_TRACE(n);
    for (const std::int64_t parts : {1, 2}) {
      for (const std::int64_t inverse : {0, 1}) {
        const std::int64_t onesided = parts == (inverse == 1 ? 2 : 1) ? 1 : 0;
        for (std::int64_t side = 0; side <= onesided; ++side) {
          const Attributes flags = test_attributes({{"inverse", inverse}, {"onesided", side}});
          expect_same_as_reference(
              {OpKind::kDFT, test_inputs(random_floats({3, 7, 2, parts}, 1), number(n), number(1)),
               flags, 1, 0b110},
              near);
        }
      }
    }
  }
}

TEST(CpuDft, LeavesWhatIsNotKnownToTheReference) {
  EXPECT_TRUE(cpu_declines({OpKind::kDFT, test_inputs(random_floats({4, 1}, 1), number(4))}));
  EXPECT_FALSE(cpu_declines({OpKind::kDFT, test_inputs(random_floats({4, 1}, 1))}));
}

TEST(CpuStft, AgreesWithReference) {
  for (const std::int64_t n : {4, 9, 34}) {
    for (const std::int64_t onesided : {0, 1}) {
      const Attributes flags = test_attributes({{"onesided", onesided}});
      expect_same_as_reference(
          {OpKind::kSTFT,
           test_inputs(random_floats({2, 100, 1}, 1), number(7), random_floats({n}, 2)), flags, 1,
           0b1010},
          {1e-4, 1e-4});
    }
  }
  expect_same_as_reference(
      {OpKind::kSTFT,
       test_inputs(random_floats({2, 50, 2}, 1), number(3), std::nullopt, number(16)),
       test_attributes({{"onesided", std::int64_t{0}}}), 1, 0b1010},
      {1e-4, 1e-4});
}

}  // namespace
}  // namespace parallax
