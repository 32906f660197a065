#include "kernels/cpu/elementwise/binary_loops.h"

#include <algorithm>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/binary_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/elementwise/extremes_inl.h"
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Computes y[i] = f(a(i), b(i)); each operand is a loader of vectors.
template <class A, class B, class F>
HWY_INLINE void combine_row(std::size_t n, A a, B b, float* y, F f) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto first = f(a(i), b(i));
    const auto second = f(a(i + lanes), b(i + lanes));
    hn::StoreU(first, d, y + i);
    hn::StoreU(second, d, y + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(a(i), b(i)), d, y + i);
  if (i < n) store_n(f(a.tail(i, n - i), b.tail(i, n - i)), d, y + i, n - i);
}

struct LoadRow {
  const float* p;
  HWY_INLINE FloatVec operator()(std::size_t i) const { return hn::LoadU(FloatTag(), p + i); }
  HWY_INLINE FloatVec tail(std::size_t i, std::size_t n) const {
    return load_n(FloatTag(), p + i, n);
  }
};

struct LoadScalar {
  FloatVec v;
  HWY_INLINE FloatVec operator()(std::size_t) const { return v; }
  HWY_INLINE FloatVec tail(std::size_t, std::size_t) const { return v; }
};

template <class F>
HWY_INLINE void combine_rows(const BinaryRows& rows, F f) {
  const FloatTag d;
  const float* a = rows.a;
  const float* b = rows.b;
  float* y = rows.y;
  for (std::size_t r = 0; r < rows.rows; ++r) {
    if (rows.a_scalar && rows.b_scalar) {
      combine_row(rows.columns, LoadScalar{hn::Set(d, *a)}, LoadScalar{hn::Set(d, *b)}, y, f);
    } else if (rows.a_scalar) {
      combine_row(rows.columns, LoadScalar{hn::Set(d, *a)}, LoadRow{b}, y, f);
    } else if (rows.b_scalar) {
      combine_row(rows.columns, LoadRow{a}, LoadScalar{hn::Set(d, *b)}, y, f);
    } else {
      combine_row(rows.columns, LoadRow{a}, LoadRow{b}, y, f);
    }
    a += rows.a_stride;
    b += rows.b_stride;
    y += rows.columns;
  }
}

}  // namespace

void binary(BinaryFunction f, const BinaryRows& rows) {
  switch (f) {
    case BinaryFunction::kAdd:
      return combine_rows(rows, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case BinaryFunction::kSub:
      return combine_rows(rows, [](auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
    case BinaryFunction::kMul:
      return combine_rows(rows, [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    case BinaryFunction::kDiv:
      return combine_rows(rows, [](auto a, auto b) HWY_ATTR { return hn::Div(a, b); });
    case BinaryFunction::kMin:
      return combine_rows(rows, [](auto a, auto b) HWY_ATTR { return smaller_f32(a, b); });
    case BinaryFunction::kPRelu:
      return combine_rows(rows, [](auto a, auto b) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(a, hn::Zero(FloatTag())), hn::Mul(a, b), a);
      });
    case BinaryFunction::kMax:
      return combine_rows(rows, [](auto a, auto b) HWY_ATTR { return larger_f32(a, b); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(binary);

namespace {

/// Rows of at most kShortRow columns leave vectors half empty. If one operand is the same row again
/// and again, it is laid out side by side in kRepeated elements.
constexpr std::size_t kShortRow = 32, kRepeated = 256;

/// Returns whether operand a is a short row that is repeated, and b dense.
bool repeats(std::ptrdiff_t a_stride, bool a_scalar, std::ptrdiff_t b_stride, bool b_scalar,
             const BinaryRows& rows) {
  return a_stride == 0 && !a_scalar && !b_scalar && rows.columns > 0 && rows.columns <= kShortRow &&
         b_stride == static_cast<std::ptrdiff_t>(rows.columns) &&
         rows.rows * rows.columns >= 2 * kRepeated;
}

/// Computes rows several at a time. `a_repeats`: operand a is repeated, otherwise b.
void apply_repeated(BinaryFunction f, const BinaryRows& rows, bool a_repeats) {
  float repeated[kRepeated];
  const float* const row = a_repeats ? rows.a : rows.b;
  const std::size_t at_a_time = kRepeated / rows.columns;
  for (std::size_t i = 0; i < at_a_time; ++i)
    std::copy_n(row, rows.columns, repeated + i * rows.columns);
  BinaryRows wide = rows;
  (a_repeats ? wide.a : wide.b) = repeated;
  const auto compute = [&](std::size_t count, std::size_t repeats) {
    wide.rows = count;
    wide.columns = repeats * rows.columns;
    const auto step = static_cast<std::ptrdiff_t>(wide.columns);
    (a_repeats ? wide.b_stride : wide.a_stride) = step;
    HWY_DYNAMIC_DISPATCH(binary)(f, wide);
    (a_repeats ? wide.b : wide.a) += step * static_cast<std::ptrdiff_t>(count);
    wide.y += step * static_cast<std::ptrdiff_t>(count);
  };
  compute(rows.rows / at_a_time, at_a_time);
  if (rows.rows % at_a_time != 0) compute(1, rows.rows % at_a_time);
}

}  // namespace

void apply_binary(BinaryFunction f, const BinaryRows& rows) {
  if (repeats(rows.a_stride, rows.a_scalar, rows.b_stride, rows.b_scalar, rows))
    return apply_repeated(f, rows, true);
  if (repeats(rows.b_stride, rows.b_scalar, rows.a_stride, rows.a_scalar, rows))
    return apply_repeated(f, rows, false);
  HWY_DYNAMIC_DISPATCH(binary)(f, rows);
}

}  // namespace parallax
#endif  // HWY_ONCE
