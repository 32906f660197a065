#include "kernels/cpu/convolution/small_group_loops.h"

#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/small_group_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/bounds_inl.h"
#include "kernels/cpu/keep_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using IndexTag = hn::RebindToSigned<FloatTag>;

/// Outputs that are computed together, in a wide row and at its end: their sums, the taps and an
/// input stay in registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kWideOutputs = 14, kOutputs = 8;
#else
constexpr std::size_t kWideOutputs = 8, kOutputs = 8;
#endif

/// Reader of the input that all lanes share: channel `c` of their group in a pixel.
struct OneGroup {
  std::size_t c;
  OneGroup(const SmallGroupRow&, std::size_t channel) : c(channel) {}
  HWY_INLINE FloatVec operator()(const float* pixel) const { return hn::Set(FloatTag(), pixel[c]); }
};
struct SeveralGroups {
  using Indices = decltype(hn::IndicesFromVec(FloatTag(), hn::Zero(IndexTag())));
  Indices indices;
  HWY_INLINE SeveralGroups(const SmallGroupRow& row, std::size_t channel)
      : indices(hn::IndicesFromVec(FloatTag(), at(row, static_cast<std::int32_t>(channel)))) {}
  /// Lanes that are not stored read the last group.
  static HWY_INLINE hn::Vec<IndexTag> at(const SmallGroupRow& row, std::int32_t channel) {
    const IndexTag d;
    const auto most = static_cast<std::int32_t>(hn::Lanes(d) - row.depth);
    const auto group = hn::Add(hn::LoadU(d, row.lanes), hn::Set(d, row.shift));
    return hn::Add(hn::Min(group, hn::Set(d, most)), hn::Set(d, channel));
  }
  HWY_INLINE FloatVec operator()(const float* pixel) const {
    return hn::TableLookupLanes(hn::LoadU(FloatTag(), pixel), indices);
  }
};

/// The inputs that the taps of one row of the filter are multiplied with.
struct RowInputs {
  const float* x;
  std::ptrdiff_t first;  ///< pixel of tap 0 and output 0
};

/// Adds T adjacent taps, whose weights begin at `w`, to B adjacent outputs, for all channels. Of
/// the pixels that they read the first `Before` and the last `After` are outside the image.
template <class Input, std::size_t T, std::size_t B, std::size_t Before, std::size_t After>
HWY_INLINE void add_inside(const SmallGroupRow& row, const RowInputs& in,
                           const float* HWY_RESTRICT w, FloatVec (&sum)[B]) {
  const FloatTag d;
  const auto channels = static_cast<std::ptrdiff_t>(row.channels);
  const float* HWY_RESTRICT from =
      in.x + (in.first + static_cast<std::ptrdiff_t>(Before)) * channels;
  for (std::size_t c = 0; c < row.depth; ++c) {
    const Input input(row, c);
    FloatVec tap[T];
    PX_UNROLL for (std::size_t j = 0; j < T; ++j, w += hn::Lanes(d)) tap[j] = hn::LoadU(d, w);
    const float* pixel = from;
    PX_UNROLL for (std::size_t k = Before; k < T + B - 1 - After; ++k, pixel += channels) {
      keep_pointer(pixel);
      FloatVec value = input(pixel);
      keep(value);
      PX_UNROLL for (std::size_t o = 0; o < B; ++o) {
        if (k >= o && k < o + T) sum[o] = hn::MulAdd(tap[k - o], value, sum[o]);
      }
    }
  }
}

/// Adds one tap to B outputs, `stride` pixels apart, for all channels.
template <class Input, std::size_t B>
HWY_INLINE void add_tap(const SmallGroupRow& row, const RowInputs& in, std::size_t step,
                        const float* HWY_RESTRICT w, FloatVec (&sum)[B]) {
  const FloatTag d;
  const auto channels = static_cast<std::ptrdiff_t>(row.channels);
  const std::ptrdiff_t last = in.first + static_cast<std::ptrdiff_t>(B - 1) * row.stride;
  const bool inside = in.first >= 0 && last < row.width;
  for (std::size_t c = 0; c < row.depth; ++c, w += step) {
    const Input input(row, c);
    const auto tap = hn::LoadU(d, w);
    std::ptrdiff_t pixel = in.first;
    PX_UNROLL for (std::size_t o = 0; o < B; ++o, pixel += row.stride) {
      if (inside || (pixel >= 0 && pixel < row.width))
        sum[o] = hn::MulAdd(tap, input(in.x + pixel * channels), sum[o]);
    }
  }
}

/// Adds T adjacent taps to B adjacent outputs, for all channels.
template <class Input, std::size_t T, std::size_t B>
HWY_INLINE void add_side_by_side(const SmallGroupRow& row, RowInputs in,
                                 const float* HWY_RESTRICT w, FloatVec (&sum)[B]) {
  const std::ptrdiff_t after = in.first + static_cast<std::ptrdiff_t>(T + B - 1) - row.width;
  if (in.first >= 0 && after <= 0) return add_inside<Input, T, B, 0, 0>(row, in, w, sum);
  if (in.first == -1 && after <= 0) return add_inside<Input, T, B, 1, 0>(row, in, w, sum);
  if (in.first >= 0 && after == 1) return add_inside<Input, T, B, 0, 1>(row, in, w, sum);
  if (in.first == -1 && after == 1) return add_inside<Input, T, B, 1, 1>(row, in, w, sum);
  const std::size_t lanes = hn::Lanes(FloatTag());
  for (std::size_t j = 0; j < T; ++j, ++in.first, w += lanes)
    add_tap<Input, B>(row, in, T * lanes, w, sum);
}

/// Computes B outputs from `column` on.
template <class Input, std::size_t B>
HWY_NOINLINE void convolve_columns(const SmallGroupRow& row, std::size_t column) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), step = row.depth * lanes;
  const std::ptrdiff_t first = row.first + static_cast<std::ptrdiff_t>(column) * row.stride;
  const auto side = static_cast<std::ptrdiff_t>(row.side_taps);
  const auto taps = static_cast<std::ptrdiff_t>(row.taps);
  FloatVec sum[B];
  auto start = hn::Zero(d);
  if (row.bias != nullptr)
    start = row.filters < lanes ? load_n(d, row.bias, row.filters) : hn::LoadU(d, row.bias);
  PX_UNROLL for (std::size_t o = 0; o < B; ++o) sum[o] = start;
  for (std::size_t i = 0; i < row.row_count; ++i) {
    const float* x = row.x + i * row.row_step;
    const float* w = row.weights + i * row.weights_step;
    std::ptrdiff_t j = 0;
    for (; j < side; j += kSmallGroupTaps, w += kSmallGroupTaps * step)
      add_side_by_side<Input, kSmallGroupTaps, B>(row, {x, first + j}, w, sum);
    for (; j < taps; ++j, w += step)
      add_tap<Input, B>(row, {x, first + j * row.dilation}, lanes, w, sum);
  }
  limit<B>(d, row.bounds, sum);
  float* out = row.out + column * row.out_step;
  PX_UNROLL for (std::size_t o = 0; o < B; ++o) {
    if (row.filters < lanes) {
      store_n(sum[o], d, out + o * row.out_step, row.filters);
    } else {
      hn::StoreU(sum[o], d, out + o * row.out_step);
    }
  }
}

/// Computes all outputs; the remainder of a wide row in groups of nearly the same size, 12 as 6 +
/// 6.
template <class Input>
HWY_INLINE void convolve_row(const SmallGroupRow& row) {
  std::size_t done = 0;
  for (; done + kWideOutputs <= row.columns; done += kWideOutputs)
    convolve_columns<Input, kWideOutputs>(row, done);
  for (std::size_t groups = (row.columns - done + kOutputs - 1) / kOutputs; groups != 0; --groups) {
    const std::size_t count = (row.columns - done + groups - 1) / groups;
    switch (count) {
      case 1:
        convolve_columns<Input, 1>(row, done);
        break;
      case 2:
        convolve_columns<Input, 2>(row, done);
        break;
      case 3:
        convolve_columns<Input, 3>(row, done);
        break;
      case 4:
        convolve_columns<Input, 4>(row, done);
        break;
      case 5:
        convolve_columns<Input, 5>(row, done);
        break;
      case 6:
        convolve_columns<Input, 6>(row, done);
        break;
      case 7:
        convolve_columns<Input, 7>(row, done);
        break;
      default:
        convolve_columns<Input, kOutputs>(row, done);
    }
    done += count;
  }
}

}  // namespace

void convolve_small_groups(const SmallGroupRow& row) {
  if (row.lanes == nullptr) return convolve_row<OneGroup>(row);
  convolve_row<SeveralGroups>(row);
}

std::size_t lanes_of_small_groups() { return hn::Lanes(FloatTag()); }

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(convolve_small_groups);
HWY_EXPORT(lanes_of_small_groups);

void small_group_row(const SmallGroupRow& row) { HWY_DYNAMIC_DISPATCH(convolve_small_groups)(row); }

std::size_t small_group_lanes() { return HWY_DYNAMIC_DISPATCH(lanes_of_small_groups)(); }

}  // namespace parallax
#endif  // HWY_ONCE
