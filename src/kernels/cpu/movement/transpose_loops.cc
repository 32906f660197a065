#include "kernels/cpu/movement/transpose_loops.h"

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/movement/transpose_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Size of a block: its cache lines of x and y are used completely while they are in the cache.
constexpr std::size_t kBlock = 16;

template <class T>
void transpose_plain(const T* x, T* y, std::size_t x_stride, std::size_t y_stride, std::size_t rows,
                     std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) y[r * y_stride + c] = x[c * x_stride + r];
}

#if HWY_TARGET != HWY_SCALAR
HWY_INLINE void transpose_four(const float* x, float* y, std::size_t x_stride,
                               std::size_t y_stride) {
  const hn::Full128<float> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto a = hn::LoadU(d, x), b = hn::LoadU(d, x + x_stride);
  const auto c = hn::LoadU(d, x + 2 * x_stride), e = hn::LoadU(d, x + 3 * x_stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, y);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, y + y_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, y + 2 * y_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, y + 3 * y_stride);
}

/// Transposes elements of 4 bytes of any type: as floats they are only moved.
void transpose_small(const float* x, float* y, std::size_t x_stride, std::size_t y_stride,
                     std::size_t rows, std::size_t columns) {
  const std::size_t even_rows = rows / 4 * 4, even_columns = columns / 4 * 4;
  for (std::size_t r = 0; r < even_rows; r += 4)
    for (std::size_t c = 0; c < even_columns; c += 4)
      transpose_four(x + c * x_stride + r, y + r * y_stride + c, x_stride, y_stride);
  transpose_plain(x + even_columns * x_stride, y + even_columns, x_stride, y_stride, even_rows,
                  columns - even_columns);
  transpose_plain(x + even_rows, y + even_rows * y_stride, x_stride, y_stride, rows - even_rows,
                  columns);
}
#else
void transpose_small(const float* x, float* y, std::size_t x_stride, std::size_t y_stride,
                     std::size_t rows, std::size_t columns) {
  transpose_plain(x, y, x_stride, y_stride, rows, columns);
}
#endif

template <class T>
void transpose_small(const T* x, T* y, std::size_t x_stride, std::size_t y_stride, std::size_t rows,
                     std::size_t columns) {
  transpose_plain(x, y, x_stride, y_stride, rows, columns);
}

/// Interleaves three channels that lie one after the other: y[r][c] for c < 3.
void interleave_three(const float* x, float* y, std::size_t x_stride, std::size_t rows) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t r = 0;
  for (; r + lanes <= rows; r += lanes)
    hn::StoreInterleaved3(hn::LoadU(d, x + r), hn::LoadU(d, x + x_stride + r),
                          hn::LoadU(d, x + 2 * x_stride + r), d, y + 3 * r);
  transpose_plain(x + r, y + 3 * r, x_stride, 3, rows - r, 3);
}

void deinterleave_three(const float* x, float* y, std::size_t y_stride, std::size_t columns) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t c = 0;
  for (; c + lanes <= columns; c += lanes) {
    hn::Vec<decltype(d)> a, b, e;
    hn::LoadInterleaved3(d, x + 3 * c, a, b, e);
    hn::StoreU(a, d, y + c);
    hn::StoreU(b, d, y + y_stride + c);
    hn::StoreU(e, d, y + 2 * y_stride + c);
  }
  transpose_plain(x + 3 * c, y + c, 3, y_stride, 3, columns - c);
}

/// Transposes a block of three channels; returns false for others.
bool transpose_three(const TransposeBlock& block) {
  const auto* x = reinterpret_cast<const float*>(block.x);
  auto* y = reinterpret_cast<float*>(block.y);
  if (block.columns == 3 && block.y_stride == 3) {
    interleave_three(x, y, block.x_stride, block.rows);
    return true;
  }
  if (block.rows == 3 && block.x_stride == 3) {
    deinterleave_three(x, y, block.y_stride, block.columns);
    return true;
  }
  return false;
}

template <class T>
void transpose_in_blocks(const TransposeBlock& block) {
  const auto* x = reinterpret_cast<const T*>(block.x);
  auto* y = reinterpret_cast<T*>(block.y);
  for (std::size_t r = 0; r < block.rows; r += kBlock)
    for (std::size_t c = 0; c < block.columns; c += kBlock)
      transpose_small(x + c * block.x_stride + r, y + r * block.y_stride + c, block.x_stride,
                      block.y_stride, std::min(kBlock, block.rows - r),
                      std::min(kBlock, block.columns - c));
}

}  // namespace

void transpose_any(const TransposeBlock& block) {
  switch (block.element_bytes) {
    case 1:
      return transpose_in_blocks<std::uint8_t>(block);
    case 2:
      return transpose_in_blocks<std::uint16_t>(block);
    case 8:
      return transpose_in_blocks<std::uint64_t>(block);
    default:
      if (!transpose_three(block)) transpose_in_blocks<float>(block);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(transpose_any);

void transpose_block(const TransposeBlock& block) { HWY_DYNAMIC_DISPATCH(transpose_any)(block); }

}  // namespace parallax
#endif  // HWY_ONCE
