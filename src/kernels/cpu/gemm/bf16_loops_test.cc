#include "kernels/cpu/gemm/bf16_loops.h"

#include <gtest/gtest.h>

#include "kernels/cpu/bf16_test_util.h"

namespace parallax {
namespace {

TEST(Bf16Rounding, IsToTheNearestAndToEven) {
  PX_NEEDS_BF16();
  std::vector<float> x = special_floats();
  for (const std::uint32_t bits : {0x3F808000U, 0x3F818000U, 0x3F808001U, 0x3F817FFFU, 0xBF808000U,
                                   0x7F7F8000U, 0x7F7F7FFFU, 0xFF7FFFFFU, 0x7F800001U, 0x00800000U})
    x.push_back(std::bit_cast<float>(bits));
  // Tests every length: whole vectors, partial ones and odd ends.
  for (std::size_t n = 1; n <= 70; ++n) {
    std::vector<float> row(n);
    for (std::size_t i = 0; i < n; ++i) row[i] = x[(i + n) % x.size()];
    const std::size_t pairs = (n + 1) / 2;
    std::vector<Bf16Pair> got(pairs + 1, 0xA5A5A5A5U);
    round_to_bf16(row.data(), n, 1, n, got.data(), pairs);
    EXPECT_EQ(got[pairs], 0xA5A5A5A5U) << "past the end of " << n;
    for (std::size_t i = 0; i < 2 * pairs; ++i) {
      const float rounded =
          std::bit_cast<float>((i % 2 == 0 ? got[i / 2] << 16U : got[i / 2] & 0xFFFF0000U));
      const float want = i < n ? rounded_to_bf16(row[i]) : 0.0F;
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(rounded)) << n << " " << i;
      } else {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(rounded), std::bit_cast<std::uint32_t>(want))
            << n << " " << i << ": " << row[i];
      }
    }
  }
}

}  // namespace
}  // namespace parallax
