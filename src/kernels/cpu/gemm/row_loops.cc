#include "kernels/cpu/gemm/row_loops.h"

#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/row_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/bounds_inl.h"
#include "kernels/cpu/gemm/halves_inl.h"
#include "kernels/cpu/registers_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Panels whose sums are computed together: eight vectors hide the latency of an addition.
constexpr std::size_t kPanels = 8 / kVectors;

HWY_INLINE FloatVec load_of(const float* x) { return hn::LoadU(FloatTag(), x); }
HWY_INLINE FloatVec load_of(const hwy::float16_t* x) { return widened_halves(FloatTag(), x); }

/// Multiplies the row with panels `first` to first + P - 1, of elements E.
template <std::size_t P, class E>
HWY_NOINLINE void multiply_panels_of_row(const MatMulRow& row, std::size_t first) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), width = kVectors * lanes;
  const std::size_t column = first * width, step = row.depth * width;
  FloatVec sum[P * kVectors];
  PX_UNROLL for (std::size_t j = 0; j < P * kVectors; ++j) {
    sum[j] = row.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, row.bias + column + j * lanes);
  }
  const float* HWY_RESTRICT a = row.a;
  const E* b = static_cast<const E*>(row.b) + first * step;
  for (std::size_t k = 0; k < row.depth; ++k, b += width) {
    const auto x = hn::Set(d, a[k]);
    PX_UNROLL for (std::size_t p = 0; p < P; ++p) {
      PX_UNROLL for (std::size_t j = 0; j < kVectors; ++j) {
        const auto weights = load_of(b + p * step + j * lanes);
        sum[p * kVectors + j] = hn::MulAdd(x, weights, sum[p * kVectors + j]);
      }
    }
  }
  if (row.residual != nullptr) {
    PX_UNROLL for (std::size_t j = 0; j < P * kVectors; ++j) {
      sum[j] = hn::Add(sum[j], hn::LoadU(d, row.residual + column + j * lanes));
    }
  }
  limit<P * kVectors>(d, row.bounds, sum);
  PX_UNROLL for (std::size_t j = 0; j < P * kVectors; ++j) {
    hn::StoreU(sum[j], d, row.c + column + j * lanes);
  }
}

/// Multiplies the row with panels from `first` on, P of them at a time, then half as many.
template <std::size_t P, class E>
HWY_INLINE void multiply_row(const MatMulRow& row, std::size_t first) {
  for (; first + P <= row.panels; first += P) multiply_panels_of_row<P, E>(row, first);
  if constexpr (P > 1) multiply_row<P / 2, E>(row, first);
}

}  // namespace

void multiply_floats(const MatMulRow& row) { multiply_row<kPanels, float>(row, 0); }
void multiply_halves_row(const MatMulRow& row) { multiply_row<kPanels, hwy::float16_t>(row, 0); }

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(multiply_floats);
HWY_EXPORT(multiply_halves_row);

void matmul_row(const MatMulRow& row) { HWY_DYNAMIC_DISPATCH(multiply_floats)(row); }

void half_row(const MatMulRow& row) { HWY_DYNAMIC_DISPATCH(multiply_halves_row)(row); }

}  // namespace parallax
#endif  // HWY_ONCE
