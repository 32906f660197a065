#include "kernels/cpu/reduce/reduce_loops.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/reduce_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/reduce/row_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE FloatVec smaller(FloatVec a, FloatVec b) {
  return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
}

/// Returns the largest of the elements with inverted signs.
HWY_INLINE float min_row(const float* x, std::size_t n) {
  const FloatTag d;
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto turned = [](FloatVec v) HWY_ATTR { return hn::Neg(v); };
  const auto most = [](FloatVec a, FloatVec b) HWY_ATTR { return larger(a, b); };
  HWY_ALIGN float lane[hn::MaxLanes(FloatTag())];
  hn::Store(fold_row(x, n, lowest, turned, most), d, lane);
  return -max_row(lane, hn::Lanes(d));
}

/// Computes log(sum(e^x)). The largest element is subtracted first, so that the sum cannot
/// overflow.
HWY_INLINE float log_sum_exp_row(const float* x, std::size_t n) {
  const float largest = max_row(x, n);
  if (!std::isfinite(largest)) return largest;
  const auto shift = hn::Set(FloatTag(), largest);
  return largest + std::log(sum_row(x, n, [shift](FloatVec v) HWY_ATTR {
           return exp_f32(FloatTag(), hn::Sub(v, shift));
         }));
}

HWY_INLINE float reduce_row(Reduction reduction, const float* x, std::size_t n) {
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  const auto square = [](FloatVec v) HWY_ATTR { return hn::Mul(v, v); };
  const auto magnitude = [](FloatVec v) HWY_ATTR { return hn::Abs(v); };
  switch (reduction) {
    case Reduction::kMax:
      return max_row(x, n);
    case Reduction::kMin:
      return min_row(x, n);
    case Reduction::kL1:
      return sum_row(x, n, magnitude);
    case Reduction::kLogSum:
      return std::log(sum_row(x, n, same));
    case Reduction::kLogSumExp:
      return log_sum_exp_row(x, n);
    case Reduction::kL2:
      return std::sqrt(sum_row(x, n, square));
    case Reduction::kSquares:
      return sum_row(x, n, square);
    case Reduction::kMean:
      return sum_row(x, n, same) / static_cast<float>(n);
    case Reduction::kSum:
      break;
  }
  return sum_row(x, n, same);
}

struct AddColumns {
  static constexpr float kStart = 0;
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec x) const { return hn::Add(a, x); }
  HWY_INLINE FloatVec merge(FloatVec a, FloatVec b) const { return hn::Add(a, b); }
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t) const { return v; }
};

struct AverageColumns : AddColumns {
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t n) const {
    return hn::Div(v, hn::Set(FloatTag(), static_cast<float>(n)));
  }
};

struct LargestOfColumns {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec x) const { return larger(a, x); }
  HWY_INLINE FloatVec merge(FloatVec a, FloatVec b) const { return larger(a, b); }
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t) const { return v; }
};

struct SmallestOfColumns {
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec x) const { return smaller(a, x); }
  HWY_INLINE FloatVec merge(FloatVec a, FloatVec b) const { return smaller(a, b); }
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t) const { return v; }
};

struct MagnitudesOfColumns : AddColumns {
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec x) const { return hn::Add(a, hn::Abs(x)); }
};

struct LogarithmOfColumns : AddColumns {
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t) const { return log_f32(FloatTag(), v); }
};

struct SquaresOfColumns : AddColumns {
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec x) const { return hn::MulAdd(x, x, a); }
};

struct LengthOfColumns : SquaresOfColumns {
  HWY_INLINE FloatVec finish(FloatVec v, std::size_t) const { return hn::Sqrt(v); }
};

/// Long columns are folded in blocks, whose results are merged: the error of one long sum would
/// grow with its length.
constexpr std::size_t kBlock = 128;

template <class Fold>
HWY_INLINE void fold_four(const float* x, float* y, std::size_t n, std::size_t stride, Fold fold) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const FloatVec start = hn::Set(d, Fold::kStart);
  FloatVec t0 = start, t1 = start, t2 = start, t3 = start;
  for (std::size_t i = 0; i < n;) {
    FloatVec r0 = start, r1 = start, r2 = start, r3 = start;
    for (const std::size_t end = std::min(n, i + kBlock); i < end; ++i) {
      const float* from = x + i * stride;
      r0 = fold.combine(r0, hn::LoadU(d, from));
      r1 = fold.combine(r1, hn::LoadU(d, from + lanes));
      r2 = fold.combine(r2, hn::LoadU(d, from + 2 * lanes));
      r3 = fold.combine(r3, hn::LoadU(d, from + 3 * lanes));
    }
    t0 = fold.merge(t0, r0);
    t1 = fold.merge(t1, r1);
    t2 = fold.merge(t2, r2);
    t3 = fold.merge(t3, r3);
  }
  hn::StoreU(fold.finish(t0, n), d, y);
  hn::StoreU(fold.finish(t1, n), d, y + lanes);
  hn::StoreU(fold.finish(t2, n), d, y + 2 * lanes);
  hn::StoreU(fold.finish(t3, n), d, y + 3 * lanes);
}

/// Reduces one vector of columns, or the first `tail` lanes of one if that is not 0.
template <class Fold>
HWY_INLINE void fold_one(const float* x, float* y, std::size_t n, std::size_t stride,
                         std::size_t tail, Fold fold) {
  const FloatTag d;
  const FloatVec start = hn::Set(d, Fold::kStart);
  FloatVec total = start;
  for (std::size_t i = 0; i < n;) {
    FloatVec r = start;
    for (const std::size_t end = std::min(n, i + kBlock); i < end; ++i) {
      const float* from = x + i * stride;
      r = fold.combine(r, tail == 0 ? hn::LoadU(d, from) : load_n(d, from, tail));
    }
    total = fold.merge(total, r);
  }
  if (tail == 0) {
    hn::StoreU(fold.finish(total, n), d, y);
  } else {
    store_n(fold.finish(total, n), d, y, tail);
  }
}

template <class Fold>
HWY_INLINE void fold_columns(const float* x, float* y, std::size_t columns, std::size_t n,
                             std::size_t stride, Fold fold) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  std::size_t c = 0;
  for (; c + 4 * lanes <= columns; c += 4 * lanes) fold_four(x + c, y + c, n, stride, fold);
  for (; c + lanes <= columns; c += lanes) fold_one(x + c, y + c, n, stride, 0, fold);
  if (c < columns) fold_one(x + c, y + c, n, stride, columns - c, fold);
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
    case Reduction::kMin:
      return fold_columns(x, y, columns, n, stride, SmallestOfColumns());
    case Reduction::kL1:
      return fold_columns(x, y, columns, n, stride, MagnitudesOfColumns());
    case Reduction::kLogSum:
      return fold_columns(x, y, columns, n, stride, LogarithmOfColumns());
    case Reduction::kL2:
      return fold_columns(x, y, columns, n, stride, LengthOfColumns());
    case Reduction::kSquares:
      return fold_columns(x, y, columns, n, stride, SquaresOfColumns());
    case Reduction::kMean:
      return fold_columns(x, y, columns, n, stride, AverageColumns());
    case Reduction::kLogSumExp:
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
