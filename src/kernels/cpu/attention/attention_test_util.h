// For tests of attention: choices.
#pragma once

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {

/// Returns random bools, each true with probability 1/2, the same for the same seed.
inline Tensor random_bools(const Dims& dims, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<bool> elements(static_cast<std::size_t>(dims.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = generator() % 2 == 0;
  return test_tensor<bool>(dims, elements);
}

}  // namespace parallax
