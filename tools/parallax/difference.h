// How far an output is from another.
#pragma once

#include <string>

#include "parallax/tensor.h"

namespace parallax::cli {

struct Difference {
  /// Shapes, elements that say no amount (integers above 8 bits, bool, strings), or the places of
  /// NaN and infinities differ: what follows is infinite.
  bool apart = false;
  double largest = 0;  ///< |ours - oracle|, finite places only
  /// The same over the oracle's largest magnitude; of integers, at least half their range.
  double relative = 0;
  double cosine = 1;  ///< cosine of the angle between them, finite elements only
};
Difference difference(const TensorView& ours, const TensorView& oracle);
/// "largest 1.2e-02, 3.1e-03 of the largest magnitude, cosine 0.999987".
std::string to_string(const Difference& difference);

}  // namespace parallax::cli
