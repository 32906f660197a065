// Mean and inverse standard deviation of a row, summed in double precision; for normalisations of
// the reference kernels, and of CPU kernels if sums overflow f32. Pure.
#pragma once

#include <cmath>
#include <cstdint>

namespace parallax {

/// Mean (0 if not centered) and 1 / sqrt(variance + epsilon). Normalised elements are (x - mean) *
/// inverse_deviation. Mean and inverse deviation are f64; callers decide when to round.
struct Moments {
  double mean, inverse_deviation;
};

/// Returns the moments of `count` contiguous elements. The variance is the mean of squared
/// distances from the mean (divided by count, not count - 1), computed in a second pass; if not
/// `centered`, the mean of squares (RMS normalisation). Sums go from the first to the last element
/// in one accumulator. A positive `epsilon` keeps the inverse finite for a row of equal elements.
/// REQUIRES: count > 0.
template <class T>
Moments moments_of(const T* x, std::int64_t count, double epsilon, bool centered) {
  // Two passes: the difference of sums of squares would cancel for a mean far from 0.
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
