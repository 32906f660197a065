// For tests of delegates: 2 |x| - x of rows, which has the same bits on every device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parallax/session.h"

namespace parallax {

inline constexpr std::int64_t kReflectedColumns = 64;

/// A delegate that lacks Sub has two regions.
inline constexpr const char* kReflectedText = R"(
    symbols n
    input x f32 [n, 64]
    a = Neg(x) @a
    b = Sub(a, x) @b
    c = Abs(b) @c
    y = Add(c, a) @y
    output y)";

/// Expects 2 |x| - x of `rows` rows, unless the run fails: returns its error then.
inline Status run_reflected(Session& session, std::int64_t rows) {
  std::vector<float> x(static_cast<std::size_t>(rows * kReflectedColumns));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 9) - 4;
  const NamedInput input{"x",
                         {DType::kF32, {rows, kReflectedColumns}, std::as_bytes(std::span(x))}};
  const auto got = session.run({&input, 1});
  if (!got) return tl::unexpected(got.error());
  for (float& number : x) number = 2 * std::fabs(number) - number;
  EXPECT_TRUE(std::ranges::equal((*got)[0].view().bytes, std::as_bytes(std::span(x)))) << rows;
  return {};
}

}  // namespace parallax
