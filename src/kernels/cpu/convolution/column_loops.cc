#include "kernels/cpu/convolution/column_loops.h"

#include <algorithm>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/column_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Writes zeros to to[0, n) and to the rest of the last vector.
HWY_INLINE void write_zeros(float* HWY_RESTRICT to, std::size_t n) {
  const FloatTag d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(hn::Zero(d), d, to + i);
}

/// Copies from[0, n); elements after them, up to whole vectors, become unspecified.
HWY_INLINE void copy(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i < n) hn::StoreU(load_n(d, from + i, n - i), d, to + i);
}

}  // namespace

void write_segment(const ColumnSegment& segment, float* HWY_RESTRICT to) {
  const std::size_t channels = segment.channels;
  const std::size_t size = static_cast<std::size_t>(segment.taps) * channels;
  std::int64_t first = segment.first;
  for (std::size_t output = 0; output < segment.outputs; ++output, first += segment.step) {
    const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, segment.taps);
    const std::int64_t end = std::clamp<std::int64_t>(segment.width - first, begin, segment.taps);
    const std::size_t before = static_cast<std::size_t>(begin) * channels;
    const std::size_t count = static_cast<std::size_t>(end - begin) * channels;
    const auto offset =
        static_cast<std::ptrdiff_t>(first + begin) * static_cast<std::ptrdiff_t>(channels);
    float* row = to + output * segment.stride;
    for (std::size_t i = 0; i < segment.row_count; ++i, row += size) {
      if (segment.rows[i] == nullptr || count == 0) {
        write_zeros(row, size);
      } else if (count == size) {
        copy(segment.rows[i] + offset, row, size);
      } else {
        write_zeros(row, before);
        copy(segment.rows[i] + offset, row + before, count);
        write_zeros(row + before + count, size - before - count);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(write_segment);

void write_columns(const ColumnSegment& segment, float* to) {
  HWY_DYNAMIC_DISPATCH(write_segment)(segment, to);
}

}  // namespace parallax
#endif  // HWY_ONCE
