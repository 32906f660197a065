// Walks tensors by strides: broadcasting, transposition, slicing and reduction are all one loop
// over a row-major index space in which each operand has a stride per axis (0 repeats it, negative
// walks backwards). Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/kernel.h"

namespace parallax {

/// Elements between neighbours along each axis.
using Strides = std::array<std::int64_t, Dims::kMaxRank>;

/// Strides of a dense row-major tensor.
inline Strides row_major_strides(const Dims& dims) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= dims[axis];
  }
  return strides;
}

/// Strides that make a dense tensor of `from` look like `to`, to which it broadcasts.
inline Strides broadcast_strides(const Dims& from, const Dims& to) {
  const Strides dense = row_major_strides(from);
  Strides strides{};
  for (int axis = 0; axis < from.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis + to.rank() - from.rank());
    strides[at] = from[axis] == 1 ? 0 : dense[static_cast<std::size_t>(axis)];
  }
  return strides;
}

/// An index space and the strides of N operands in it.
template <std::size_t N>
class IndexSpace {
 public:
  using Offsets = std::array<std::int64_t, N>;

  /// Axes of size 1 vanish and neighbouring axes that are one for all operands are merged, so that
  /// rows are long.
  IndexSpace(const Dims& dims, const std::array<Strides, N>& strides) {
    for (int axis = 0; axis < dims.rank(); ++axis) {
      if (dims[axis] != 1) add_axis(dims[axis], strides, static_cast<std::size_t>(axis));
    }
    if (dims_.rank() == 0) dims_.push_back(1);
  }

  /// Stride of operand k along a row.
  std::int64_t row_stride(std::size_t k) const { return strides_[k][last()]; }

  /// Calls row(offsets, count) for each run of `count` neighbours along the last axis among the
  /// elements [begin, end), in order; offsets are those of the run's first element.
  template <class Row>
  void for_rows(std::int64_t begin, std::int64_t end, Row row) const {
    if (begin >= end) return;
    Dims index = dims_;
    Offsets offsets{};
    std::int64_t rest = begin;
    for (int axis = dims_.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % dims_[axis];
      rest /= dims_[axis];
      for (std::size_t k = 0; k < N; ++k) offsets[k] += index[axis] * stride(k, axis);
    }
    while (begin < end) {
      const int inner = dims_.rank() - 1;
      const std::int64_t count = std::min(dims_[inner] - index[inner], end - begin);
      row(static_cast<const Offsets&>(offsets), count);
      begin += count;
      advance(index, offsets, count);
    }
  }

 private:
  std::size_t last() const { return static_cast<std::size_t>(dims_.rank() - 1); }
  std::int64_t stride(std::size_t k, int axis) const {
    return strides_[k][static_cast<std::size_t>(axis)];
  }

  void add_axis(std::int64_t dim, const std::array<Strides, N>& strides, std::size_t axis) {
    bool merges = dims_.rank() > 0;
    for (std::size_t k = 0; k < N && merges; ++k) {
      merges = strides_[k][last()] == strides[k][axis] * dim;
    }
    if (merges) {
      dims_[dims_.rank() - 1] *= dim;
    } else {
      dims_.push_back(dim);
    }
    for (std::size_t k = 0; k < N; ++k) strides_[k][last()] = strides[k][axis];
  }

  /// Moves on by `count` within the row, and to the next row where that ends it.
  void advance(Dims& index, Offsets& offsets, std::int64_t count) const {
    int axis = dims_.rank() - 1;
    index[axis] += count;
    for (std::size_t k = 0; k < N; ++k) offsets[k] += count * stride(k, axis);
    while (axis > 0 && index[axis] == dims_[axis]) {
      for (std::size_t k = 0; k < N; ++k) {
        offsets[k] += stride(k, axis - 1) - dims_[axis] * stride(k, axis);
      }
      index[axis] = 0;
      ++index[--axis];
    }
  }

  Dims dims_;
  std::array<Strides, N> strides_{};
};

/// Copies elements [begin, end) of `space`, operand 0 being the destination and 1 the source, at
/// any alignment.
template <class T>
void copy_elements(const IndexSpace<2>& space, std::int64_t begin, std::int64_t end,
                   const std::byte* source, std::byte* destination) {
  const std::int64_t to = space.row_stride(0), from = space.row_stride(1);
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  space.for_rows(begin, end, [&](const auto& offsets, std::int64_t count) {
    std::byte* d = destination + offsets[0] * kSize;
    const std::byte* s = source + offsets[1] * kSize;
    if (to == 1 && from == 1) {
      std::memcpy(d, s, static_cast<std::size_t>(count * kSize));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(d + i * to * kSize, s + i * from * kSize, sizeof(T));
    }
  });
}

}  // namespace parallax
