#include "kernels/cpu/quantised/depthwise_loops.h"

#include <algorithm>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised/depthwise_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using WholeTag = hn::RebindToSigned<FloatTag>;
using ByteTag = hn::Rebind<std::uint8_t, FloatTag>;

/// Returns the sums of a vector of one output's channels, from channel `c` on.
HWY_INLINE hn::Vec<FloatTag> sum_taps(const DepthwiseBytes& job, const std::uint8_t* x,
                                      std::size_t c) {
  const FloatTag d;
  const WholeTag whole;
  const ByteTag bytes;
  const auto zero = hn::Set(d, job.zero);
  const auto flip = hn::Set(bytes, job.flip);
  auto sum = hn::Zero(d);
  for (std::size_t i = 0; i < job.rows; ++i) {
    const std::uint8_t* at = x + i * job.next_row + c;
    const float* weights = job.weights + i * job.weights_row + c;
    for (std::size_t j = 0; j < job.columns; ++j, at += job.next_tap, weights += job.weights_tap) {
      const auto byte = hn::Xor(hn::LoadU(bytes, at), flip);
      const auto real = hn::ConvertTo(d, hn::PromoteTo(whole, byte));
      sum = hn::MulAdd(hn::Sub(real, zero), hn::LoadU(d, weights), sum);
    }
  }
  return sum;
}

/// Returns the sum of one of the channels that do not fill a vector.
HWY_INLINE float sum_taps_of_one(const DepthwiseBytes& job, const std::uint8_t* x, std::size_t c) {
  float sum = 0;
  for (std::size_t i = 0; i < job.rows; ++i)
    for (std::size_t j = 0; j < job.columns; ++j) {
      const std::uint8_t byte = x[i * job.next_row + j * job.next_tap + c] ^ job.flip;
      sum += (static_cast<float>(byte) - job.zero) *
             job.weights[i * job.weights_row + j * job.weights_tap + c];
    }
  return sum;
}

/// Writes the whole numbers of a vector as bytes, modulo 256, or as they are.
HWY_INLINE void write_whole(hn::Vec<WholeTag> numbers, bool bytes, void* c, std::size_t at,
                            std::size_t count) {
  const WholeTag whole;
  const ByteTag byte;
  if (!bytes) {
    auto* const to = static_cast<std::int32_t*>(c) + at;
    if (count == hn::Lanes(whole)) return hn::StoreU(numbers, whole, to);
    HWY_ALIGN std::int32_t lanes[hn::MaxLanes(FloatTag())];
    hn::Store(numbers, whole, lanes);
    std::copy_n(lanes, count, to);
    return;
  }
  auto* const to = static_cast<std::uint8_t*>(c) + at;
  const auto low = hn::DemoteTo(byte, hn::And(numbers, hn::Set(whole, 0xff)));
  if (count == hn::Lanes(whole)) return hn::StoreU(low, byte, to);
  HWY_ALIGN std::uint8_t lanes[hn::MaxLanes(FloatTag())];
  hn::Store(low, byte, lanes);
  std::copy_n(lanes, count, to);
}

HWY_INLINE void requantise_row(const Requantise& to, const float* sums, void* c, std::size_t at,
                               std::size_t n) {
  const FloatTag d;
  const WholeTag whole;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float reals[hn::MaxLanes(FloatTag())];
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t count = n - i < lanes ? n - i : lanes;
    auto real = count == lanes ? hn::LoadU(d, sums + i) : load_n(d, sums + i, count);
    if (to.scale != nullptr)
      real = hn::MulAdd(real, hn::LoadU(d, to.scale + i), hn::LoadU(d, to.offset + i));
    if (to.scale != nullptr && !to.bytes) {
      hn::Store(real, d, reals);
      std::copy_n(reals, count, static_cast<float*>(c) + at + i);
      continue;
    }
    if (to.bytes) real = hn::Min(hn::Max(real, hn::Set(d, to.low)), hn::Set(d, to.high));
    const auto numbers = hn::Add(hn::NearestInt(real), hn::Set(whole, to.zero));
    write_whole(numbers, to.bytes, c, at + i, count);
  }
}

}  // namespace

void sum_depthwise(const DepthwiseBytes& job) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  float* sums = job.sums;
  const std::uint8_t* x = job.x;
  for (std::size_t o = 0; o < job.outputs; ++o, x += job.next_output, sums += job.channels) {
    std::size_t c = 0;
    for (; c + lanes <= job.channels; c += lanes) hn::StoreU(sum_taps(job, x, c), d, sums + c);
    for (; c < job.channels; ++c) sums[c] = sum_taps_of_one(job, x, c);
  }
}

void requantise_rows(const Requantise& to, const float* sums, void* c, std::size_t rows,
                     std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r)
    requantise_row(to, sums + r * columns, c, r * columns, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(sum_depthwise);
HWY_EXPORT(requantise_rows);

void depthwise_bytes(const DepthwiseBytes& job) { HWY_DYNAMIC_DISPATCH(sum_depthwise)(job); }

void requantise_sums(const Requantise& to, const float* sums, void* c, std::size_t rows,
                     std::size_t columns) {
  HWY_DYNAMIC_DISPATCH(requantise_rows)(to, sums, c, rows, columns);
}

}  // namespace parallax
#endif  // HWY_ONCE
