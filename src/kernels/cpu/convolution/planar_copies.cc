// The copies around the loops of planar_loops.cc: planes in parts with zeros around them, and rows.
#include <algorithm>

#include "kernels/cpu/convolution/planar_loops.h"
#include "kernels/cpu/machine.h"
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/planar_copies.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"
#include "kernels/cpu/registers_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr auto kLine = static_cast<std::size_t>(kLineFloats);

/// Copies from[0, n); elements after them, up to whole vectors, become unspecified.
HWY_INLINE void copy_spilling(const float* HWY_RESTRICT from, float* HWY_RESTRICT to,
                              std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i < n) hn::StoreU(load_n(d, from + i, n - i), d, to + i);
}

HWY_INLINE void zero_spilling(float* HWY_RESTRICT to, std::size_t n) {
  const FloatTag d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(hn::Zero(d), d, to + i);
}

/// Copies from[i * step] to to[i], for i in [begin, end).
HWY_INLINE void copy_apart(const float* HWY_RESTRICT from, std::ptrdiff_t step,
                           float* HWY_RESTRICT to, std::ptrdiff_t begin, std::ptrdiff_t end) {
  for (std::ptrdiff_t i = begin; i < end; ++i) to[i] = from[i * step];
}

/// Returns the range of i in [0, count) for which left + i * step lies in [0, width).
struct Inside {
  std::ptrdiff_t begin, end;
  Inside(std::ptrdiff_t left, std::ptrdiff_t step, std::ptrdiff_t count, std::ptrdiff_t width) {
    begin = left < 0 ? HWY_MIN((step - 1 - left) / step, count) : 0;
    end = width > left ? HWY_MIN((width - left + step - 1) / step, count) : 0;
    end = HWY_MAX(begin, end);
  }
};

/// Writes one row of one part.
HWY_INLINE void write_part(const float* HWY_RESTRICT from, std::ptrdiff_t step,
                           std::ptrdiff_t count, const Inside& inside, float* HWY_RESTRICT to) {
  zero_spilling(to, static_cast<std::size_t>(inside.begin));
  if (step == 1) {
    copy_spilling(from + inside.begin, to + inside.begin,
                  static_cast<std::size_t>(inside.end - inside.begin));
  } else {
    copy_apart(from, step, to, inside.begin, inside.end);
  }
  zero_spilling(to + inside.end, static_cast<std::size_t>(count - inside.end));
}

/// Writes vectors of all S parts of a row from one position. Returns the end of the written
/// elements.
template <std::size_t S>
HWY_INLINE std::ptrdiff_t write_vectors(const float* HWY_RESTRICT from, std::ptrdiff_t begin,
                                        std::ptrdiff_t end, float* HWY_RESTRICT to,
                                        std::size_t part_stride) {
  const FloatTag d;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  hn::Vec<FloatTag> v0, v1, v2, v3;
  for (; begin + lanes <= end; begin += lanes) {
    const float* at = from + begin * static_cast<std::ptrdiff_t>(S);
    if constexpr (S == 2) hn::LoadInterleaved2(d, at, v0, v1);
    if constexpr (S == 3) hn::LoadInterleaved3(d, at, v0, v1, v2);
    if constexpr (S == 4) hn::LoadInterleaved4(d, at, v0, v1, v2, v3);
    hn::StoreU(v0, d, to + begin);
    hn::StoreU(v1, d, to + part_stride + begin);
    if constexpr (S > 2) hn::StoreU(v2, d, to + 2 * part_stride + begin);
    if constexpr (S > 3) hn::StoreU(v3, d, to + 3 * part_stride + begin);
  }
  return begin;
}

/// Writes all parts of a row, as many as the step is.
HWY_INLINE void write_parts(const PlaneCopy& copy, const float* HWY_RESTRICT from,
                            float* HWY_RESTRICT to) {
  const auto step = static_cast<std::ptrdiff_t>(copy.step);
  const auto count = static_cast<std::ptrdiff_t>(copy.count);
  // Pixels that all parts have inside the image: whole vectors, which must not overwrite the edges.
  const std::ptrdiff_t begin = Inside(copy.left, step, count, copy.width).begin;
  const std::ptrdiff_t end =
      HWY_MAX(begin, Inside(copy.left + step - 1, step, count, copy.width).end);
  std::ptrdiff_t done = begin;
  if (step == 2) done = write_vectors<2>(from, begin, end, to, copy.part_stride);
  if (step == 3) done = write_vectors<3>(from, begin, end, to, copy.part_stride);
  if (step == 4) done = write_vectors<4>(from, begin, end, to, copy.part_stride);
  for (std::ptrdiff_t p = 0; p < step; ++p, to += copy.part_stride) {
    const Inside inside(copy.left + p, step, count, copy.width);
    for (std::ptrdiff_t i = 0; i < inside.begin; ++i) to[i] = 0;
    copy_apart(from + p, step, to, inside.begin, begin);
    copy_apart(from + p, step, to, done, inside.end);
    for (std::ptrdiff_t i = inside.end; i < count; ++i) to[i] = 0;
  }
}

}  // namespace

void write_plane(const PlaneCopy& copy) {
  const auto step = static_cast<std::ptrdiff_t>(copy.step);
  const auto count = static_cast<std::ptrdiff_t>(copy.count);
  const bool together = copy.parts > 1 && copy.parts == copy.step && copy.step <= 4;
  for (std::size_t p = 0; p < (together ? 1 : copy.parts); ++p) {
    const std::ptrdiff_t left = copy.left + static_cast<std::ptrdiff_t>(p);
    const Inside inside(left, step, count, copy.width);
    const float* from = copy.from;
    float* to = copy.to + p * copy.part_stride;
    for (std::size_t row = 0; row < copy.rows; ++row, to += copy.to_stride) {
      if (row < copy.begin || row >= copy.end) {
        for (std::size_t part = p; part < (together ? copy.parts : p + 1); ++part)
          std::fill_n(to + (part - p) * copy.part_stride, copy.count, 0.0F);
        continue;
      }
      for (std::ptrdiff_t i = 0; p == 0 && copy.ahead != 0 && i < count * step; i += kLine)
        __builtin_prefetch(from + copy.ahead + i, 0, 3);
      if (together) {
        write_parts(copy, from + copy.left, to);
      } else {
        write_part(from + left, step, count, inside, to);
      }
      from += copy.from_stride;
    }
  }
}

void write_rows(const float* HWY_RESTRICT from, std::size_t from_stride, float* HWY_RESTRICT to,
                std::size_t to_stride, std::size_t rows, std::size_t count) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < rows; ++row, from += from_stride, to += to_stride) {
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i < count) store_n(load_n(d, from + i, count - i), d, to + i, count - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(write_plane);
HWY_EXPORT(write_rows);

void copy_plane(const PlaneCopy& copy) { HWY_DYNAMIC_DISPATCH(write_plane)(copy); }

void copy_rows(const float* from, std::size_t from_stride, float* to, std::size_t to_stride,
               std::size_t rows, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(write_rows)(from, from_stride, to, to_stride, rows, count);
}

}  // namespace parallax
#endif  // HWY_ONCE
