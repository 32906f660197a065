// NaN among the elements of a tensor.
#pragma once

#include <cmath>
#include <cstdint>

#include "parallax/elements.h"
#include "parallax/tensor.h"

namespace parallax::cli {

/// Whether element `i` is NaN.
inline bool is_nan(const TensorView& tensor, std::int64_t i) {
  return info_of(tensor.dtype).kind == DTypeClass::kFloat &&
         std::isnan(read_element<float>(tensor.dtype, tensor.bytes.data(), i));
}

/// How many elements are NaN.
inline std::int64_t count_nan(const TensorView& tensor) {
  if (info_of(tensor.dtype).kind != DTypeClass::kFloat) return 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.dims.elements(); ++i) count += is_nan(tensor, i) ? 1 : 0;
  return count;
}

}  // namespace parallax::cli
