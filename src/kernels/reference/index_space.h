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

/// Elements between neighbours along each axis; entries from the rank on are 0. Negative strides
/// walk backwards, 0 repeats an element.
using Strides = std::array<std::int64_t, Dims::kMaxRank>;

/// Returns the strides of a dense row-major tensor. The last axis has stride 1; a tensor of rank 0
/// has none. Example: [2, 3, 4] has strides [12, 4, 1].
inline Strides row_major_strides(const Dims& dims) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= dims[axis];
  }
  return strides;
}

/// Returns the strides that present a dense tensor of dimensions `from` as one of dimensions `to`:
/// 0 along axes that are repeated. Axes are aligned at their ends, and missing leading ones count
/// as repeated (numpy's rule). Axes of size 1 get stride 0, which an index of 0 does not need.
/// Example: [3, 1] presented as [2, 3, 4] has strides [0, 1, 0]. REQUIRES: `from` broadcasts to
/// `to`.
inline Strides broadcast_strides(const Dims& from, const Dims& to) {
  const Strides dense = row_major_strides(from);
  Strides strides{};
  for (int axis = 0; axis < from.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis + to.rank() - from.rank());
    strides[at] = from[axis] == 1 ? 0 : dense[static_cast<std::size_t>(axis)];
  }
  return strides;
}

/// A row-major index space and the strides of N operands in it, in elements. Immutable. Its
/// elements are numbered in row-major order, which tiles are ranges of; made once when a kernel is
/// made and shared by its tiles. Example: to add [3] to [2, 3], operands are the result and both
/// inputs, with strides [3, 1], [3, 1] and [0, 1]; for_rows() then calls its function for two rows
/// of three elements.
template <std::size_t N>
class IndexSpace {
 public:
  /// Offset of one element in each operand, in elements; strides below 0 make it decrease.
  using Offsets = std::array<std::int64_t, N>;

  /// Removes axes of size 1 and merges adjacent axes that are contiguous for all operands, so that
  /// rows are long. The order of elements stays. A space without axes has one element. A dimension
  /// may be 0: then for_rows() must be called for empty ranges only.
  IndexSpace(const Dims& dims, const std::array<Strides, N>& strides) {
    for (int axis = 0; axis < dims.rank(); ++axis) {
      if (dims[axis] != 1) add_axis(dims[axis], strides, static_cast<std::size_t>(axis));
    }
    if (dims_.rank() == 0) dims_.push_back(1);
  }

  /// Stride of operand k along a row, i.e. along the last axis after merging.
  std::int64_t row_stride(std::size_t k) const { return strides_[k][last()]; }

  /// Calls row(offsets, count) for each run of `count` elements of one row among the elements
  /// [begin, end), in order. `offsets` has the offset of the run's first element in each operand;
  /// element i of the run is at offsets[k] + i * row_stride(k). Divides only once per call, so the
  /// range of a tile costs no more than its rows. The function is inlined, called on this thread,
  /// and must not keep the reference to `offsets`. REQUIRES: 0 <= begin, `end` is at most the
  /// number of elements.
  template <class Row>
  void for_rows(std::int64_t begin, std::int64_t end, Row row) const {
    if (begin >= end) return;
    Dims index = dims_;
    Offsets offsets{};
    // Splits `begin` into an index per axis.
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
  /// Index of the last axis; there always is one.
  std::size_t last() const { return static_cast<std::size_t>(dims_.rank() - 1); }
  /// Stride of operand k along a merged axis.
  std::int64_t stride(std::size_t k, int axis) const {
    return strides_[k][static_cast<std::size_t>(axis)];
  }

  /// Appends an axis, or merges it into the last one if no operand has a gap between them.
  void add_axis(std::int64_t dim, const std::array<Strides, N>& strides, std::size_t axis) {
    // Operands are contiguous over two axes if the outer stride is the inner one times its size.
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

  /// Advances by `count` elements within the row, and to the next row if the row ends there.
  void advance(Dims& index, Offsets& offsets, std::int64_t count) const {
    int axis = dims_.rank() - 1;
    index[axis] += count;
    for (std::size_t k = 0; k < N; ++k) offsets[k] += count * stride(k, axis);
    // Carries into outer axes. At the end of the space the outermost index is its size.
    while (axis > 0 && index[axis] == dims_[axis]) {
      for (std::size_t k = 0; k < N; ++k) {
        offsets[k] += stride(k, axis - 1) - dims_[axis] * stride(k, axis);
      }
      index[axis] = 0;
      ++index[--axis];
    }
  }

  Dims dims_;                         ///< sizes of the merged axes
  std::array<Strides, N> strides_{};  ///< strides of each operand over them
};

/// Copies elements [begin, end) of `space`, operand 0 being the destination and operand 1 the
/// source. T is any type of the elements' size; memory may have any alignment and must not overlap.
/// The caller guarantees that all places lie inside both memories. Tiles that copy disjoint ranges
/// may run concurrently if the destination's stride is 0 along no axis.
template <class T>
void copy_elements(const IndexSpace<2>& space, std::int64_t begin, std::int64_t end,
                   const std::byte* source, std::byte* destination) {
  const std::int64_t to = space.row_stride(0), from = space.row_stride(1);
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  space.for_rows(begin, end, [&](const auto& offsets, std::int64_t count) {
    std::byte* d = destination + offsets[0] * kSize;
    const std::byte* s = source + offsets[1] * kSize;
    // Both contiguous: one copy for the run.
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
