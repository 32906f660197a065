#include "kernels/cpu/gemm/byte_loops.h"

#include <cstring>

#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/byte_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using SumTag = hn::ScalableTag<std::int32_t>;
using RealTag = hn::RebindToFloat<SumTag>;
constexpr std::size_t kPortableRows = 4;

/// Adds the products of `n` segments of A, in their order.
struct Segments {
  MatMulSegment whole;
  const MatMulSegment* at;
  std::size_t n;
  explicit Segments(const MatMulPanel& panel) : whole{0, panel.depth} {
    at = panel.segments == nullptr ? &whole : panel.segments;
    n = panel.segments == nullptr ? 1 : panel.segment_count;
  }
};

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
/// Multiplies R rows with one vector of columns.
template <std::size_t R>
HWY_INLINE void sum_columns(const MatMulPanel& panel, const std::uint8_t* a, const std::int32_t* b,
                            hn::Vec<SumTag>* sums) {
  const SumTag d;
  const Segments segments(panel);
  HWY_ALIGN std::int32_t total[R][hn::MaxLanes(SumTag())] = {};
  for (std::size_t s = 0; s < segments.n; ++s) {
    const std::uint8_t* at = a + segments.at[s].offset * kStepBytes;
    for (std::size_t k = 0; k < segments.at[s].depth; ++k, at += kStepBytes, b += panel.ldb)
      for (std::size_t i = 0; i < R; ++i)
        for (std::size_t j = 0; j < hn::Lanes(d) * kStepBytes; ++j)
          total[i][j / kStepBytes] += at[i * panel.lda * kStepBytes + j % kStepBytes] *
                                      reinterpret_cast<const std::int8_t*>(b)[j];
  }
  for (std::size_t i = 0; i < R; ++i) sums[i] = hn::Load(d, total[i]);
}
#else
using PairTag = hn::Repartition<std::int16_t, SumTag>;

// Sums of products of pairs are two registers, whose layout depends on the instruction set. They
// form no struct: GCC compiles its constructor for the baseline instruction set.

/// Adds products of a and b, which have bytes of a step in the halves of their lanes: every second
/// byte, widened.
HWY_INLINE void add_pairs(hn::Vec<SumTag>& first, hn::Vec<SumTag>& second, hn::Vec<PairTag> a,
                          hn::Vec<PairTag> b) {
  first = hn::ReorderWidenMulAccumulate(SumTag(), a, b, first, second);
}

/// Returns the sum of each column.
HWY_INLINE hn::Vec<SumTag> columns_of(hn::Vec<SumTag> first, hn::Vec<SumTag> second) {
#if HWY_ARCH_X86
  // Neighbours were added.
  return hn::Add(first, second);
#else
  // The lower half of the products is in the first, the upper one in the second.
  const SumTag d;
  return hn::Add(hn::ConcatEven(d, second, first), hn::ConcatOdd(d, second, first));
#endif
}

/// Multiplies R rows with one vector of columns.
template <std::size_t R>
HWY_INLINE void sum_columns(const MatMulPanel& panel, const std::uint8_t* a, const std::int32_t* b,
                            hn::Vec<SumTag>* to) {
  const SumTag d;
  const PairTag pairs;
  const hn::Repartition<std::uint16_t, SumTag> unsigned_pairs;
  const auto low_byte = hn::Set(pairs, 0xff);
  const Segments segments(panel);
  hn::Vec<SumTag> first[R], second[R];
  for (std::size_t i = 0; i < R; ++i) first[i] = second[i] = hn::Zero(d);
  for (std::size_t s = 0; s < segments.n; ++s) {
    const std::uint8_t* at = a + segments.at[s].offset * kStepBytes;
    for (std::size_t k = 0; k < segments.at[s].depth; ++k, at += kStepBytes, b += panel.ldb) {
      const auto w = hn::BitCast(pairs, hn::LoadU(d, b));
      const auto w_even = hn::ShiftRight<8>(hn::ShiftLeft<8>(w)), w_odd = hn::ShiftRight<8>(w);
      for (std::size_t i = 0; i < R; ++i) {
        std::int32_t step = 0;
        std::memcpy(&step, at + i * panel.lda * kStepBytes, sizeof step);
        const auto x = hn::BitCast(pairs, hn::Set(d, step));
        add_pairs(first[i], second[i], hn::And(x, low_byte), w_even);
        add_pairs(first[i], second[i],
                  hn::BitCast(pairs, hn::ShiftRight<8>(hn::BitCast(unsigned_pairs, x))), w_odd);
      }
    }
  }
  for (std::size_t i = 0; i < R; ++i) to[i] = columns_of(first[i], second[i]);
}
#endif

/// Requantises the sums of one vector of columns as `to` says and stores the first `n` of them.
HWY_INLINE void write_columns(const Requantise& to, void* c, std::size_t at, std::size_t column,
                              hn::Vec<SumTag> sums, std::size_t n) {
  const SumTag d;
  const RealTag f;
  HWY_ALIGN std::int32_t whole[hn::MaxLanes(SumTag())];
  if (to.scale == nullptr) {
    hn::Store(sums, d, whole);
    std::memcpy(static_cast<std::int32_t*>(c) + at, whole, n * sizeof(std::int32_t));
    return;
  }
  auto real = hn::MulAdd(hn::ConvertTo(f, sums), hn::LoadU(f, to.scale + column),
                         hn::LoadU(f, to.offset + column));
  if (!to.bytes) {
    HWY_ALIGN float reals[hn::MaxLanes(RealTag())];
    hn::Store(real, f, reals);
    std::memcpy(static_cast<float*>(c) + at, reals, n * sizeof(float));
    return;
  }
  real = hn::Min(hn::Max(real, hn::Set(f, to.low)), hn::Set(f, to.high));
  hn::Store(hn::Add(hn::NearestInt(real), hn::Set(d, to.zero)), d, whole);
  for (std::size_t i = 0; i < n; ++i)
    static_cast<std::uint8_t*>(c)[at + i] = static_cast<std::uint8_t>(whole[i]);
}

/// Multiplies R rows with one vector of columns from `column` on.
template <std::size_t R>
HWY_INLINE void multiply_columns(const MatMulPanel& panel, std::size_t row, std::size_t column) {
  const SumTag d;
  hn::Vec<SumTag> sums[R];
  sum_columns<R>(panel, static_cast<const std::uint8_t*>(panel.a) + row * panel.lda * kStepBytes,
                 static_cast<const std::int32_t*>(panel.b) + column, sums);
  const std::size_t left = panel.columns - column;
  const std::size_t n = left < hn::Lanes(d) ? left : hn::Lanes(d);
  const auto* start = static_cast<const std::int32_t*>(panel.bias);
  for (std::size_t i = 0; i < R; ++i) {
    if (start != nullptr) sums[i] = hn::Add(sums[i], hn::LoadU(d, start + column));
    if (panel.row_start != nullptr)
      sums[i] = hn::Add(sums[i], hn::Set(d, panel.row_start[row + i]));
    write_columns(*panel.requantise, panel.c, (row + i) * panel.ldc + column, column, sums[i], n);
  }
}

}  // namespace

MatMulWidths widths_of_bytes() {
  const std::size_t lanes = hn::Lanes(SumTag());
  return {4 * lanes, lanes};
}

void multiply_byte_panel(const MatMulPanel& panel) {
  for (std::size_t column = 0; column < panel.columns; column += hn::Lanes(SumTag())) {
    std::size_t row = 0;
    for (; row + kPortableRows <= panel.rows; row += kPortableRows)
      multiply_columns<kPortableRows>(panel, row, column);
    for (; row < panel.rows; ++row) multiply_columns<1>(panel, row, column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(widths_of_bytes);
HWY_EXPORT(multiply_byte_panel);

MatMulWidths byte_widths() {
  return cpu_has_vnni() ? kVnniWidths : HWY_DYNAMIC_DISPATCH(widths_of_bytes)();
}

void byte_panel(const MatMulPanel& panel) {
  if (cpu_has_vnni()) return vnni_panel(panel);
  portable_byte_panel(panel);
}

void portable_byte_panel(const MatMulPanel& panel) {
  HWY_DYNAMIC_DISPATCH(multiply_byte_panel)(panel);
}

}  // namespace parallax
#endif  // HWY_ONCE
