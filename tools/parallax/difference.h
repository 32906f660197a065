// How far an output is from another.
#pragma once

#include <string>

#include "parallax/tensor.h"

namespace parallax::cli {

struct Difference {
  /// Shapes, elements that are no floats, or the places of NaN and infinities differ: what follows
  /// is infinite.
  bool apart = false;
  double largest = 0;   ///< |ours - oracle|, finite places only
  double relative = 0;  ///< the same over the oracle's largest magnitude
  double cosine = 1;    ///< cosine of the angle between them, finite elements only
};
Difference difference(const TensorView& ours, const TensorView& oracle);
/// "largest 1.2e-02, 3.1e-03 of the largest magnitude, cosine 0.999987".
std::string to_string(const Difference& difference);

}  // namespace parallax::cli
