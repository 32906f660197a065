#include "kernels/cpu/quantised/byte_sums.h"

#include <cstring>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised/byte_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the sum of eight bytes.
HWY_INLINE std::uint32_t sum_of_8(const std::uint8_t* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  constexpr std::uint64_t kEven = 0x00ff00ff00ff00ffU;
  const std::uint64_t pairs = (word & kEven) + (word >> 8 & kEven);
  return static_cast<std::uint32_t>(pairs * 0x0001000100010001U >> 48);
}

HWY_INLINE std::uint32_t sum_of_row(const std::uint8_t* from, std::size_t n) {
  std::uint32_t sum = 0;
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> wide;
  const std::size_t lanes = hn::Lanes(d);
  if (n >= lanes) {
    auto sums = hn::Zero(wide);
    for (; i + lanes <= n; i += lanes) sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(d, from + i)));
    sum = static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(wide, sums)));
  }
#endif
  for (; i + 8 <= n; i += 8) sum += sum_of_8(from + i);
  for (; i < n; ++i) sum += from[i];
  return sum;
}

}  // namespace

void sum_rows(const std::uint8_t* from, std::size_t stride, std::size_t n, std::size_t rows,
              std::int32_t* to) {
  for (std::size_t r = 0; r < rows; ++r)
    to[r] = static_cast<std::int32_t>(sum_of_row(from + r * stride, n));
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(sum_rows);

void sum_byte_rows(const std::uint8_t* from, std::size_t stride, std::size_t n, std::size_t rows,
                   std::int32_t* to) {
  HWY_DYNAMIC_DISPATCH(sum_rows)(from, stride, n, rows, to);
}

}  // namespace parallax
#endif  // HWY_ONCE
