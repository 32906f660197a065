// Filters of a convolution, f32, where a file or memory has them, for kernels that pack them. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/cpu/tiles.h"
#include "kernels/kernel.h"

namespace parallax {

/// Addresses of the weights' elements [filter m, channel c of its group, tap t], with taps counted
/// row by row.
struct Filters {
  const std::byte* data = nullptr;                   ///< any alignment
  std::int64_t filter = 0, channel = 0, tap = 0;     ///< bytes from one to the next
  std::shared_ptr<const StoredForm> form = nullptr;  ///< keeps a file mapped

  const std::byte* at(std::int64_t m, std::int64_t c, std::int64_t t) const {
    return data + m * filter + c * channel + t * tap;
  }
  /// Bytes that are read instead of the constant, for PackedWeights::get(); empty: the constant is.
  std::span<const std::byte> instead() const {
    return form == nullptr ? std::span<const std::byte>() : form->source.bytes;
  }
};

/// Returns the filters of weights [filters, channels, kernel...]: those in the file if it has them
/// as f32 in another order, as TFLite does, and all taps of a filter are equally far apart.
inline Filters filters_of(const TensorDesc& w) {
  const int rank = w.dims.rank();
  std::int64_t taps = 1;
  for (int axis = 2; axis < rank; ++axis) taps *= w.dims[axis];
  Filters dense{w.data, w.dims[1] * taps * kFloatBytes, taps * kFloatBytes, kFloatBytes};
  if (w.stored == nullptr || w.stored->source.dtype != DType::kF32) return dense;
  const StoredForm& form = *w.stored;
  if (form.source.bytes.data() == w.data) return dense;
  // From the last axis on, whose stride is that of taps.
  std::int64_t stride = form.stride(rank - 1);
  const std::int64_t tap = stride;
  for (int axis = rank - 1; axis >= 2; --axis) {
    if (w.dims[axis] > 1 && form.stride(axis) != stride) return dense;
    stride *= w.dims[axis];
  }
  return {form.source.bytes.data(), form.stride(0) * kFloatBytes, form.stride(1) * kFloatBytes,
          tap * kFloatBytes, w.stored};
}

}  // namespace parallax
