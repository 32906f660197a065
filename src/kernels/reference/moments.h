// Mean and deviation of a row, summed in double precision. Pure.
#pragma once

#include <cmath>
#include <cstdint>

namespace parallax {

struct Moments {
  double mean, inverse_deviation;
};

/// Not `centered`: about 0.
template <class T>
Moments moments_of(const T* x, std::int64_t count, double epsilon, bool centered) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  const double mean = centered ? sum / static_cast<double>(count) : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double off = static_cast<double>(x[i]) - mean;
    squares += off * off;
  }
  return {mean, 1.0 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

}  // namespace parallax
