#include "kernels/cpu/gemm/half_loops.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/cpu/gemm/f32_loops.h"
#include "kernels/cpu/targets.h"
#include "parallax/elements.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/half_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using HalfFloatTag = hn::Rebind<hwy::float16_t, FloatTag>;

// Without an instruction for it, Highway converts finite numbers only.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM
constexpr bool kConverts = true;
#else
constexpr bool kConverts = false;
#endif

HWY_INLINE FloatVec widened(FloatTag d, const hwy::float16_t* x) {
  const auto y = hn::PromoteTo(d, hn::LoadU(HalfFloatTag(), x));
  if constexpr (kConverts) return y;
  // The exponent of infinities and NaN, which no number has, becomes that of f32.
  const hn::RebindToUnsigned<FloatTag> du;
  const auto bits = hn::BitCast(du, y), exponent = hn::Set(du, 0x7F800000U);
  const auto special = hn::Eq(hn::And(bits, exponent), hn::Set(du, 143U << 23U));
  return hn::BitCast(d, hn::Or(bits, hn::IfThenElseZero(special, exponent)));
}

}  // namespace

/// Rows of halves are multiples of the vector.
void widen_halves_row(const void* from, float* to, std::size_t n) {
  const FloatTag d;
  const auto* x = static_cast<const hwy::float16_t*>(from);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(widened(d, x + i), d, to + i);
}

void narrow_floats_row(const float* from, void* to, std::size_t n) {
  if constexpr (!kConverts) {
    write_elements<float>(DType::kF16, std::span(from, n), static_cast<std::byte*>(to), 0);
    return;
  }
  const FloatTag d;
  auto* y = static_cast<hwy::float16_t*>(to);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d))
    hn::StoreU(hn::DemoteTo(HalfFloatTag(), hn::LoadU(d, from + i)), HalfFloatTag(), y + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(widen_halves_row);
HWY_EXPORT(narrow_floats_row);

namespace {

/// Floats of a block of widened rows, on the stack: it stays in the first-level cache.
constexpr std::size_t kBlockFloats = std::size_t{6} << 10;

}  // namespace

void narrow_columns(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                    void* to, std::size_t padded) {
  auto* row = static_cast<std::byte*>(to);
  for (std::size_t k = 0; k < depth; ++k, from += stride, row += padded * kHalfBytes) {
    if (columns == padded) {
      HWY_DYNAMIC_DISPATCH(narrow_floats_row)(from, row, padded);
      continue;
    }
    float whole[kBlockFloats] = {};
    std::copy_n(from, columns, whole);
    HWY_DYNAMIC_DISPATCH(narrow_floats_row)(whole, row, padded);
  }
}

void half_panel(const MatMulPanel& panel) {
  alignas(64) float block[kBlockFloats];
  const std::size_t most = kBlockFloats / panel.ldb;
  const auto* from = static_cast<const std::byte*>(panel.b);
  MatMulPanel part = panel;
  part.b = block;
  part.next_b = nullptr;
  for (std::size_t k = 0; k < panel.depth; k += part.depth) {
    part.depth = std::min(most, panel.depth - k);
    HWY_DYNAMIC_DISPATCH(widen_halves_row)
    (from + k * panel.ldb * kHalfBytes, block, part.depth * panel.ldb);
    part.a = static_cast<const float*>(panel.a) + k;
    part.accumulate = panel.accumulate || k > 0;
    part.relu = panel.relu && k + part.depth == panel.depth;
    matmul_panel(part);
  }
}

}  // namespace parallax
#endif  // HWY_ONCE
