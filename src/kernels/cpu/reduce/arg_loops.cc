#include "kernels/cpu/reduce/arg_loops.h"

#include <algorithm>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/arg_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/reduce/row_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the largest element, or the smallest with its sign inverted.
HWY_INLINE float extreme_of_row(bool smallest, const float* x, std::size_t n) {
  if (!smallest) return max_row(x, n);
  const FloatTag d;
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto turned = [](FloatVec v) HWY_ATTR { return hn::Neg(v); };
  const auto most = [](FloatVec a, FloatVec b) HWY_ATTR { return larger(a, b); };
  HWY_ALIGN float lane[hn::MaxLanes(FloatTag())];
  hn::Store(fold_row(x, n, lowest, turned, most), d, lane);
  return max_row(lane, hn::Lanes(d));
}

/// Returns the first or last index of `value`, which must exist; of any NaN if `value` is NaN.
HWY_INLINE std::size_t place_of(const float* x, std::size_t n, float value, bool last) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto wanted = hn::Set(d, value);
  const bool nan = value != value;
  const auto hits = [&](FloatVec v) HWY_ATTR { return nan ? hn::IsNaN(v) : hn::Eq(v, wanted); };
  std::size_t place = 0;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto hit = hits(hn::LoadU(d, x + i));
    if (hn::AllFalse(d, hit)) continue;
    if (!last) return i + hn::FindKnownFirstTrue(d, hit);
    for (std::size_t k = 0; k < lanes; ++k)
      if (x[i + k] == value || (nan && x[i + k] != x[i + k])) place = i + k;
  }
  for (; i < n; ++i) {
    if (x[i] != value && !(nan && x[i] != x[i])) continue;
    if (!last) return i;
    place = i;
  }
  return place;
}

}  // namespace

void arg_by_rows(ArgSearch search, const float* x, std::int64_t* y, std::size_t rows,
                 std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, x += n) {
    const float extreme = extreme_of_row(search.smallest, x, n);
    y[r] = static_cast<std::int64_t>(
        place_of(x, n, search.smallest ? -extreme : extreme, search.last));
  }
}

/// Searches columns, a vector of them at a time.
void arg_by_columns(ArgSearch search, const float* x, std::int64_t* y, std::size_t columns,
                    std::size_t n, std::size_t stride) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t c = 0; c < columns; c += lanes) {
    const std::size_t left = std::min(lanes, columns - c);
    const auto load = [&](std::size_t i) HWY_ATTR {
      const float* from = x + c + i * stride;
      const auto v = left == lanes ? hn::LoadU(d, from) : load_n(d, from, left);
      return search.smallest ? hn::Neg(v) : v;
    };
    auto best = load(0);
    auto place = hn::Zero(di);
    for (std::size_t i = 1; i < n; ++i) {
      const auto v = load(i);
      const auto ties = search.last
                            ? hn::Or(hn::Ge(v, best), hn::And(hn::IsNaN(v), hn::IsNaN(best)))
                            : hn::Gt(v, best);
      const auto wins = hn::Or(ties, hn::AndNot(hn::IsNaN(best), hn::IsNaN(v)));
      best = hn::IfThenElse(wins, v, best);
      place = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, static_cast<std::int32_t>(i)),
                             place);
    }
    HWY_ALIGN std::int32_t places[hn::MaxLanes(FloatTag())];
    hn::Store(place, di, places);
    std::copy_n(places, left, y + c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(arg_by_rows);
HWY_EXPORT(arg_by_columns);

void arg_rows(ArgSearch search, const float* x, std::int64_t* y, std::size_t rows, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(arg_by_rows)(search, x, y, rows, n);
}

void arg_columns(ArgSearch search, const float* x, std::int64_t* y, std::size_t columns,
                 std::size_t n, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(arg_by_columns)(search, x, y, columns, n, stride);
}

}  // namespace parallax
#endif  // HWY_ONCE
