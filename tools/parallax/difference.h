// Compares an output with that of an oracle. Thread-safety: pure functions.
#pragma once

#include <string>

#include "parallax/tensor.h"

namespace parallax::cli {

struct Difference {
  /// Whether they cannot be compared by numbers: shapes or dtypes differ, NaN or infinities are at
  /// different places, or elements differ whose distance has no meaning (integers above 8 bits,
  /// which are indices; bool; strings). Then `largest` and `relative` are infinite and `cosine` is
  /// 0.
  bool apart = false;
  double largest = 0;  ///< |ours - oracle|, finite places only
  /// `largest` divided by the oracle's largest magnitude. The divisor is at least 1e-6 for floats,
  /// and at least half the range of the type for integers.
  double relative = 0;
  /// Cosine of the angle between them, finite elements only; 1 if all those of either are 0.
  double cosine = 1;
};
/// Compares all elements of `ours` with those of `oracle`.
Difference difference(const TensorView& ours, const TensorView& oracle);
/// Returns "largest 1.2e-02, 3.1e-03 of the largest magnitude, cosine 0.999987"; if `apart`, a
/// sentence that says so.
std::string to_string(const Difference& difference);

}  // namespace parallax::cli
