// NaN among the elements of a tensor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "parallax/tensor.h"

namespace parallax::cli {

/// How many elements are NaN.
inline std::int64_t count_nan(const TensorView& tensor) {
  if (tensor.dtype != DType::kF32) return 0;
  const float* const data = tensor.as<float>();
  return std::count_if(data, data + tensor.dims.elements(), [](float x) { return std::isnan(x); });
}

}  // namespace parallax::cli
