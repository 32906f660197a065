// The slices of a tensor along an axis, as Loop and Scan read and write them. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "parallax/tensor.h"

namespace parallax {

/// Returns the dims of `length` slices that are joined along `axis`. REQUIRES: 0 <= axis <= rank of
/// the slice, and a rank below Dims::kMaxRank.
inline Dims with_axis(const Dims& slice, int axis, std::int64_t length) {
  Dims dims;
  for (int i = 0; i <= slice.rank(); ++i) {
    if (i == axis) dims.push_back(length);
    if (i < slice.rank()) dims.push_back(slice[i]);
  }
  return dims;
}

/// The layout of a slice in a tensor: `count` pieces of `bytes` each, `stride` bytes apart. Tensors
/// are dense and row-major; a slice is dense, too, with the axis left out.
struct Slices {
  std::int64_t count = 1, bytes = 0, stride = 0;

  /// Computes the layout of slices along `axis` of a tensor of these dims. REQUIRES: 0 <= axis <
  /// rank, and that the tensor's bytes fit 63 bits.
  Slices(DType dtype, const Dims& dims, int axis) {
    bytes = size_of(dtype);
    for (int i = 0; i < axis; ++i) count *= dims[i];
    for (int i = axis + 1; i < dims.rank(); ++i) bytes *= dims[i];
    stride = bytes * dims[axis];
  }
  /// Copies the slice at `position` out of the tensor `whole`. `slice` has count * bytes bytes, and
  /// must not overlap `whole`. Positions are not checked.
  void gather(const std::byte* whole, std::int64_t position, std::byte* slice) const {
    if (bytes == 0) return;
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(slice + i * bytes, whole + i * stride + position * bytes,
                  static_cast<std::size_t>(bytes));
  }
  /// Copies a slice to `position` in the tensor `whole`. Arguments as for gather().
  void scatter(const std::byte* slice, std::int64_t position, std::byte* whole) const {
    if (bytes == 0) return;
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(whole + i * stride + position * bytes, slice + i * bytes,
                  static_cast<std::size_t>(bytes));
  }
};

}  // namespace parallax
