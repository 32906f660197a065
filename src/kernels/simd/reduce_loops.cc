#include "kernels/simd/reduce_loops.h"

#include <cmath>

#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/reduce_loops.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd/row_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float reduce_row(Reduction reduction, const float* x, std::size_t n) {
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  switch (reduction) {
    case Reduction::kMax:
      return max_row(x, n);
    case Reduction::kL2:
      return std::sqrt(sum_row(x, n, [](FloatVec v) HWY_ATTR { return hn::Mul(v, v); }));
    case Reduction::kMean:
      return sum_row(x, n, same) / static_cast<float>(n);
    case Reduction::kSum:
      break;
  }
  return sum_row(x, n, same);
}

struct AddColumns {
  static constexpr float kStart = 0;
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec b) const { return hn::Add(a, b); }
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t) const { return v; }
};

struct AverageColumns : AddColumns {
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t n) const {
    return hn::Div(v, hn::Set(FloatTag(), static_cast<float>(n)));
  }
};

struct LargestOfColumns {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec b) const { return larger(a, b); }
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t) const { return v; }
};

struct LengthOfColumns {
  static constexpr float kStart = 0;
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec b) const { return hn::MulAdd(b, b, a); }
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t) const { return hn::Sqrt(v); }
};

template <class Fold>
HWY_INLINE void fold_columns(const float* x, float* y, std::size_t columns, std::size_t n,
                             std::size_t stride, Fold fold) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const FloatVec start = hn::Set(d, Fold::kStart);
  std::size_t c = 0;
  for (; c + 4 * lanes <= columns; c += 4 * lanes) {
    FloatVec r0 = start, r1 = start, r2 = start, r3 = start;
    for (std::size_t i = 0; i < n; ++i) {
      const float* from = x + i * stride + c;
      r0 = fold.combine(r0, hn::LoadU(d, from));
      r1 = fold.combine(r1, hn::LoadU(d, from + lanes));
      r2 = fold.combine(r2, hn::LoadU(d, from + 2 * lanes));
      r3 = fold.combine(r3, hn::LoadU(d, from + 3 * lanes));
    }
    hn::StoreU(fold.finish(r0, n), d, y + c);
    hn::StoreU(fold.finish(r1, n), d, y + c + lanes);
    hn::StoreU(fold.finish(r2, n), d, y + c + 2 * lanes);
    hn::StoreU(fold.finish(r3, n), d, y + c + 3 * lanes);
  }
  for (; c + lanes <= columns; c += lanes) {
    FloatVec r = start;
    for (std::size_t i = 0; i < n; ++i) r = fold.combine(r, hn::LoadU(d, x + i * stride + c));
    hn::StoreU(fold.finish(r, n), d, y + c);
  }
  if (c == columns) return;
  FloatVec r = start;
  for (std::size_t i = 0; i < n; ++i)
    r = fold.combine(r, load_n(d, x + i * stride + c, columns - c));
  store_n(fold.finish(r, n), d, y + c, columns - c);
}

}  // namespace

void reduce_by_rows(Reduction reduction, const float* x, float* y, std::size_t rows,
                    std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r) y[r] = reduce_row(reduction, x + r * n, n);
}

void reduce_by_columns(Reduction reduction, const float* x, float* y, std::size_t columns,
                       std::size_t n, std::size_t stride) {
  switch (reduction) {
    case Reduction::kMax:
      return fold_columns(x, y, columns, n, stride, LargestOfColumns());
    case Reduction::kL2:
      return fold_columns(x, y, columns, n, stride, LengthOfColumns());
    case Reduction::kMean:
      return fold_columns(x, y, columns, n, stride, AverageColumns());
    case Reduction::kSum:
      return fold_columns(x, y, columns, n, stride, AddColumns());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(reduce_by_rows);
HWY_EXPORT(reduce_by_columns);

void reduce_rows(Reduction reduction, const float* x, float* y, std::size_t rows, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(reduce_by_rows)(reduction, x, y, rows, n);
}

void reduce_columns(Reduction reduction, const float* x, float* y, std::size_t columns,
                    std::size_t n, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(reduce_by_columns)(reduction, x, y, columns, n, stride);
}

}  // namespace parallax
#endif  // HWY_ONCE
