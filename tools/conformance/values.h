// Contents of the tensors of a case, and the distance of results from the expected ones. Internal
// to tools/conformance. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace parallax::conformance {

/// Elements by the first letter of the value's name: `p` positive, `d` not 0 (what divides), `q`
/// few different ones, `i` an index of an axis of two or more, from either end, `k` one from its
/// beginning, others any. Floats are multiples of 1/128 from -2 to 2, which 16 bits hold; integers
/// lie from -9 to 9, those without a sign from 0 to 9. The same for the same seed.
std::vector<std::byte> random_elements(DType dtype, const Dims& dims, char letter,
                                       std::uint64_t seed);

/// How far a tensor is from the one that it should be.
struct Distance {
  double off = 0;       ///< the largest difference by the largest magnitude; infinite: not at all
  std::string problem;  ///< "": within the tolerance
};
/// Floats may be `allowed` of the largest magnitude off; NaN must be NaN and infinities themselves.
/// Other types must have the same elements.
Distance distance(const TensorView& got, const TensorView& expected, double allowed);

}  // namespace parallax::conformance
