// Sums of f32 products of a group of rows, in registers. Included by f32_loops.cc, once per target
// (the guard toggles).
#include <hwy/highway.h>

#include <utility>

#include "kernels/cpu/bounds_inl.h"
#include "kernels/cpu/gemm/halves_inl.h"
#include "kernels/cpu/gemm/ordered_inl.h"
#include "kernels/cpu/gemm/panel.h"
#include "kernels/cpu/unroll.h"

#if defined(PX_KERNELS_CPU_GEMM_F32_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_GEMM_F32_SUMS_INL_H_
#undef PX_KERNELS_CPU_GEMM_F32_SUMS_INL_H_
#else
#define PX_KERNELS_CPU_GEMM_F32_SUMS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Loads the last vector of a row, which has `n` elements.
template <class D>
HWY_INLINE hn::Vec<D> load_last(D d, const float* from, std::size_t n) {
  return n < hn::Lanes(d) ? load_n(d, from, n) : hn::LoadU(d, from);
}
template <class D>
HWY_INLINE void store_last(hn::Vec<D> v, D d, float* to, std::size_t n) {
  if (n < hn::Lanes(d)) {
    store_n(v, d, to, n);
  } else {
    hn::StoreU(v, d, to);
  }
}

/// Rows of B that a group of rows finds in place.
struct FloatRows {
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const float* row, std::size_t j) const {
    return hn::LoadU(d, row + j);
  }
  HWY_INLINE void step(std::size_t) {}
};

/// Rows of B that are f16. If kKeeps, the first group also fills the block where the others find
/// them.
template <bool kKeeps>
struct HalfRows {
  const hwy::float16_t* from;
  float* to;

  HWY_INLINE FloatVec load(FloatTag d, const float*, std::size_t j) const {
    const FloatVec x = widened_halves(d, from + j);
    if constexpr (kKeeps) hn::StoreU(x, d, to + j);
    return x;
  }
  HWY_INLINE void step(std::size_t ldb) {
    from += ldb;
    to += ldb;
  }
};

/// Sums of R rows times V vectors, the last of them of tag L, in registers.
template <std::size_t R, std::size_t V, class L>
struct Sums {
  static constexpr std::size_t kFull = V - 1;
  hn::Vec<FloatTag> full[R][V];  // the last one of a row is unused
  hn::Vec<L> last[R];

  // GCC's implicit constructor belongs to the baseline instruction set and cannot inline NEON's
  // Vec.
  HWY_INLINE Sums() {}

  static HWY_INLINE std::size_t end() { return kFull * hn::Lanes(FloatTag()); }

  HWY_INLINE void start(const MatMulPanel& panel, const float* HWY_RESTRICT c) {
    const FloatTag d;
    const L l;
    const std::size_t lanes = hn::Lanes(d), tail = panel.columns - end(), ldc = panel.ldc;
    if (panel.accumulate) {
      PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
        const float* from = c + i * ldc;
        PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) {
          full[i][j] = hn::LoadU(d, from + j * lanes);
        }
        last[i] = load_last(l, from + end(), tail);
      }
      return;
    }
    const auto* bias = static_cast<const float*>(panel.bias);
    PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) {
      const auto start = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + j * lanes);
      PX_UNROLL for (std::size_t i = 0; i < R; ++i) full[i][j] = start;
    }
    const auto start = bias == nullptr ? hn::Zero(l) : load_last(l, bias + end(), tail);
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) last[i] = start;
  }

  /// Adds a column of A, of which rows 3 i to 3 i + 2 begin at `at[i]`, times a row of B.
  template <class Rows>
  HWY_INLINE void add(const float* const* HWY_RESTRICT at, std::size_t lda, const float* b,
                      const Rows& rows) {
    const FloatTag d;
    const L l;
    hn::Vec<FloatTag> row[V];
    PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) {
      row[j] = rows.load(d, b, j * hn::Lanes(d));
    }
    const auto last_row = rows.load(l, b, end());
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const float* x = at[i / 3] + i % 3 * lda;
      if constexpr (kFull > 0) {
        const auto wide = hn::Set(d, *x);
        PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) {
          full[i][j] = hn::MulAdd(wide, row[j], full[i][j]);
        }
      }
      last[i] = hn::MulAdd(hn::Set(l, *x), last_row, last[i]);
    }
  }

#if PX_ORDERED
  /// Adds kSteps columns of A, 3 or 4, as add() does; `b` are rows 0 and 3 of as many rows of B.
  template <std::size_t kSteps>
  HWY_INLINE void add_ordered(const float* const* at, std::size_t lda, const float* const* b,
                              std::size_t ldb) {
    add_step<0>(at, lda, b[0], ldb);
    add_step<1>(at, lda, b[0], ldb);
    add_step<2>(at, lda, b[0], ldb);
    if constexpr (kSteps == 4) add_step<3>(at, lda, b[1], ldb);
  }
  template <std::size_t kStep>
  HWY_INLINE void add_step(const float* const* at, std::size_t lda, const float* b,
                           std::size_t ldb) {
    FloatVec row[V];
    row[0] = load_at<kStep % 3, 0>(b, ldb);
    if constexpr (V > 1) row[1] = load_at<kStep % 3, hn::MaxLanes(FloatTag())>(b, ldb);
    add_rows<kStep>(at, lda, row, std::make_index_sequence<R>());
  }
  template <std::size_t kStep, std::size_t... I>
  HWY_INLINE void add_rows(const float* const* at, std::size_t lda, const FloatVec* row,
                           std::index_sequence<I...>) {
    (add_row<kStep, I>(at[I / 3], lda, row), ...);
  }
  template <std::size_t kStep, std::size_t I>
  HWY_INLINE void add_row(const float* at, std::size_t lda, const FloatVec* row) {
    const FloatVec x = broadcast_at<I % 3, kStep>(at, lda);
    PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) add_product(x, row[j], full[I][j]);
    add_product(x, row[kFull], last[I]);
  }
#endif

  /// Adds `residual`, which may be `c`, unless it is null; then writes the sums.
  HWY_INLINE void finish(const MatMulPanel& panel, const float* residual, float* c) {
    const FloatTag d;
    const L l;
    const std::size_t lanes = hn::Lanes(d), tail = panel.columns - end(), ldc = panel.ldc;
    if (residual != nullptr) {
      PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
        const float* from = residual + i * ldc;
        PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) {
          full[i][j] = hn::Add(full[i][j], hn::LoadU(d, from + j * lanes));
        }
        last[i] = hn::Add(last[i], load_last(l, from + end(), tail));
      }
    }
    if constexpr (kFull > 0) limit<kFull>(d, panel.bounds, full);
    limit<R>(l, panel.bounds, last);
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      float* to = c + i * ldc;
      PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) {
        hn::StoreU(full[i][j], d, to + j * lanes);
      }
      store_last(last[i], l, to + end(), tail);
    }
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_GEMM_F32_SUMS_INL_H_
