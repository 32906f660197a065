#include "kernels/cpu/reduce/softmax_loops.h"

#include <cmath>
#include <cstring>

#include "kernels/cpu/targets.h"
#include "kernels/reference/moments.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/softmax_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/power_of_two_inl.h"
#include "kernels/cpu/reduce/row_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Writes e^(x[i] - largest) to y[i]; returns the sum. If a number is NaN, others may be wrong: the
/// sum is NaN.
HWY_INLINE float exponentials(const float* x, float* y, std::size_t n, float largest) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, largest);
  const PowerOfTwo<true> power(1.44269504F);
  const auto exponential = [&](FloatVec v) HWY_ATTR { return power(hn::Sub(v, shift)); };
  auto a = hn::Zero(d), b = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto u = exponential(hn::LoadU(d, x + i));
    const auto v = exponential(hn::LoadU(d, x + i + lanes));
    hn::StoreU(u, d, y + i);
    hn::StoreU(v, d, y + i + lanes);
    a = hn::Add(a, u);
    b = hn::Add(b, v);
  }
  for (; i < n; i += lanes) {
    const std::size_t left = n - i;
    const auto u = exponential(left < lanes ? load_n(d, x + i, left) : hn::LoadU(d, x + i));
    if (left < lanes) {
      store_n(u, d, y + i, left);
      b = hn::Add(b, hn::IfThenElseZero(hn::FirstN(d, left), u));
    } else {
      hn::StoreU(u, d, y + i);
      a = hn::Add(a, u);
    }
  }
  return sum_of(hn::Add(a, b));
}

/// Returns the largest element of a row; any number if one is NaN, whose exponential makes the sum
/// NaN. max_row() compares lanes with branches, which took a third of rows of 100 elements.
HWY_INLINE float largest_of(const float* x, std::size_t n) {
  const FloatTag d;
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  const auto most = [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Max(a, b); };
  return hn::GetLane(hn::MaxOfLanes(d, fold_row(x, n, lowest, same, most)));
}

HWY_INLINE void scale_row(float* y, std::size_t n, float factor) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), f), d, y + i);
  if (i < n) store_n(hn::Mul(load_n(d, y + i, n - i), f), d, y + i, n - i);
}

/// Rows of at most V vectors, the last of them partly filled, stay in registers.
template <std::size_t V>
HWY_INLINE void softmax_short_rows(const float* x, float* y, std::size_t rows, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), last = (V - 1) * lanes, tail = n - last;
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto filled = hn::FirstN(d, tail);
  for (std::size_t r = 0; r < rows; ++r, x += n, y += n) {
    FloatVec v[V];
    for (std::size_t j = 0; j + 1 < V; ++j) v[j] = hn::LoadU(d, x + j * lanes);
    v[V - 1] = tail == lanes ? hn::LoadU(d, x + last)
                             : hn::IfThenElse(filled, load_n(d, x + last, tail), lowest);
    FloatVec most = v[0];
    for (std::size_t j = 1; j < V; ++j) most = hn::Max(most, v[j]);
    most = hn::MaxOfLanes(d, most);
    FloatVec sum = hn::Zero(d);
    for (std::size_t j = 0; j < V; ++j) {
      v[j] = exp_f32(d, hn::Sub(v[j], most));
      if (j + 1 == V) v[j] = hn::IfThenElseZero(filled, v[j]);
      sum = hn::Add(sum, v[j]);
    }
    const auto factor = hn::Div(hn::Set(d, 1.0F), hn::SumOfLanes(d, sum));
    for (std::size_t j = 0; j + 1 < V; ++j) hn::StoreU(hn::Mul(v[j], factor), d, y + j * lanes);
    if (tail == lanes) {
      hn::StoreU(hn::Mul(v[V - 1], factor), d, y + last);
    } else {
      store_n(hn::Mul(v[V - 1], factor), d, y + last, tail);
    }
  }
}

/// N vectors, element j of as many rows as there are lanes in vector j.
template <std::size_t N>
HWY_INLINE void load_rows(const float* x, FloatVec* HWY_RESTRICT v) {
  const FloatTag d;
  if constexpr (N == 2) {
    hn::LoadInterleaved2(d, x, v[0], v[1]);
  } else if constexpr (N == 3) {
    hn::LoadInterleaved3(d, x, v[0], v[1], v[2]);
  } else {
    hn::LoadInterleaved4(d, x, v[0], v[1], v[2], v[3]);
  }
}
template <std::size_t N>
HWY_INLINE void store_rows(const FloatVec* HWY_RESTRICT v, float* y) {
  const FloatTag d;
  if constexpr (N == 2) {
    hn::StoreInterleaved2(v[0], v[1], d, y);
  } else if constexpr (N == 3) {
    hn::StoreInterleaved3(v[0], v[1], v[2], d, y);
  } else {
    hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, y);
  }
}

template <std::size_t N>
HWY_INLINE void softmax_across(const float* x, float* y) {
  const FloatTag d;
  FloatVec v[N];
  load_rows<N>(x, v);
  FloatVec most = v[0];
  for (std::size_t j = 1; j < N; ++j) most = larger(most, v[j]);
  FloatVec sum = hn::Zero(d);
  for (std::size_t j = 0; j < N; ++j) {
    v[j] = exp_f32(d, hn::Sub(v[j], most));
    sum = hn::Add(sum, v[j]);
  }
  const auto factor = hn::Div(hn::Set(d, 1.0F), sum);
  for (std::size_t j = 0; j < N; ++j) v[j] = hn::Mul(v[j], factor);
  store_rows<N>(v, y);
}

/// Rows of N elements, a vector of rows at a time.
template <std::size_t N>
HWY_INLINE void softmax_narrow_rows(const float* x, float* y, std::size_t rows) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  for (; rows >= lanes; rows -= lanes, x += N * lanes, y += N * lanes) softmax_across<N>(x, y);
  if (rows == 0) return;
  float buffer[N * hn::MaxLanes(FloatTag())] = {};
  std::memcpy(buffer, x, rows * N * sizeof(float));
  softmax_across<N>(buffer, buffer);
  std::memcpy(y, buffer, rows * N * sizeof(float));
}

/// Computes the softmax of one vector of columns; `load` and `store` handle the number of lanes.
template <class Load, class Store>
HWY_INLINE void softmax_down(std::size_t n, Load load, Store store) {
  const FloatTag d;
  auto largest = load(0, false);
  for (std::size_t i = 1; i < n; ++i) largest = larger(largest, load(i, false));
  auto sum = hn::Zero(d);
  for (std::size_t i = 0; i < n; ++i) {
    const auto e = exp_f32(d, hn::Sub(load(i, false), largest));
    store(e, i);
    sum = hn::Add(sum, e);
  }
  const auto factor = hn::Div(hn::Set(d, 1.0F), sum);
  for (std::size_t i = 0; i < n; ++i) store(hn::Mul(load(i, true), factor), i);
}

HWY_INLINE void normalize_row(const LayerNormRows& rows, const float* x, const float* residual,
                              float* y, float mean, float inverse) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), n = rows.n;
  const auto center = hn::Set(d, mean), factor = hn::Set(d, inverse);
  const auto none = hn::Set(d, -0.0F);  // changes no sum, not even that of -0
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), center), factor);
    const auto bias = rows.bias == nullptr ? none : hn::LoadU(d, rows.bias + i);
    auto sum = hn::MulAdd(v, hn::LoadU(d, rows.scale + i), bias);
    if (residual != nullptr) sum = hn::Add(sum, hn::LoadU(d, residual + i));
    hn::StoreU(sum, d, y + i);
  }
  if (i < n) {
    const auto v = hn::Mul(hn::Sub(load_n(d, x + i, n - i), center), factor);
    const auto bias = rows.bias == nullptr ? none : load_n(d, rows.bias + i, n - i);
    auto sum = hn::MulAdd(v, load_n(d, rows.scale + i, n - i), bias);
    if (residual != nullptr) sum = hn::Add(sum, load_n(d, residual + i, n - i));
    store_n(sum, d, y + i, n - i);
  }
}

/// Normalises a row whose sums overflow f32 in double, as the reference does: elements near the
/// largest float are finite, their squares are not.
void normalize_in_double(const LayerNormRows& rows, std::size_t r) {
  const float* const x = rows.x + r * rows.n;
  const auto [mean, inverse] = moments_of(x, static_cast<std::int64_t>(rows.n),
                                          static_cast<double>(rows.epsilon), rows.centered);
  for (std::size_t i = 0; i < rows.n; ++i) {
    const auto v = static_cast<float>((static_cast<double>(x[i]) - mean) * inverse);
    const float bias = rows.bias == nullptr ? -0.0F : rows.bias[i];
    const float residual = rows.residual == nullptr ? -0.0F : rows.residual[r * rows.n + i];
    rows.y[r * rows.n + i] = v * rows.scale[i] + bias + residual;
  }
  if (rows.mean != nullptr) rows.mean[r] = static_cast<float>(mean);
  if (rows.inverse_deviation != nullptr) rows.inverse_deviation[r] = static_cast<float>(inverse);
}

}  // namespace

void softmax_by_rows(const float* x, float* y, std::size_t rows, std::size_t n) {
  if (n == 2) return softmax_narrow_rows<2>(x, y, rows);
  if (n == 3) return softmax_narrow_rows<3>(x, y, rows);
  if (n == 4) return softmax_narrow_rows<4>(x, y, rows);
  switch ((n + hn::Lanes(FloatTag()) - 1) / hn::Lanes(FloatTag())) {
    case 1:
      return softmax_short_rows<1>(x, y, rows, n);
    case 2:
      return softmax_short_rows<2>(x, y, rows, n);
    case 3:
      return softmax_short_rows<3>(x, y, rows, n);
    case 4:
      return softmax_short_rows<4>(x, y, rows, n);
    default:
      break;
  }
  for (std::size_t r = 0; r < rows; ++r, x += n, y += n)
    scale_row(y, n, 1.0F / exponentials(x, y, n, largest_of(x, n)));
}

/// Computes log-softmax of each row; y first holds exponentials, which are then overwritten.
void log_softmax_by_rows(const float* x, float* y, std::size_t rows, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t r = 0; r < rows; ++r, x += n, y += n) {
    const float largest = largest_of(x, n);
    const auto shift = hn::Set(d, largest);
    const auto logarithm = hn::Set(d, std::log(exponentials(x, y, n, largest)));
    const auto result = [&](FloatVec v) HWY_ATTR { return hn::Sub(hn::Sub(v, shift), logarithm); };
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(result(hn::LoadU(d, x + i)), d, y + i);
    if (i < n) store_n(result(load_n(d, x + i, n - i)), d, y + i, n - i);
  }
}

void softmax_by_columns(const float* x, float* y, std::size_t columns, std::size_t n,
                        std::size_t stride) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t c = 0;
  for (; c + lanes <= columns; c += lanes) {
    softmax_down(
        n,
        [&](std::size_t i, bool result)
            HWY_ATTR { return hn::LoadU(d, (result ? y : x) + c + i * stride); },
        [&](FloatVec v, std::size_t i) HWY_ATTR { hn::StoreU(v, d, y + c + i * stride); });
  }
  if (c == columns) return;
  const std::size_t left = columns - c;
  softmax_down(
      n,
      [&](std::size_t i, bool result)
          HWY_ATTR { return load_n(d, (result ? y : x) + c + i * stride, left); },
      [&](FloatVec v, std::size_t i) HWY_ATTR { store_n(v, d, y + c + i * stride, left); });
}

void layer_norm(const LayerNormRows& rows) {
  const FloatTag d;
  const auto count = static_cast<float>(rows.n);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    const float* x = rows.x + r * rows.n;
    const float mean =
        rows.centered ? sum_row(x, rows.n, [](FloatVec v) HWY_ATTR { return v; }) / count : 0.0F;
    const auto center = hn::Set(d, mean);
    const float squares = sum_row(x, rows.n, [center](FloatVec v) HWY_ATTR {
      const auto off = hn::Sub(v, center);
      return hn::Mul(off, off);
    });
    if (!std::isfinite(squares)) {
      normalize_in_double(rows, r);
      continue;
    }
    const float inverse = 1.0F / std::sqrt(squares / count + rows.epsilon);
    const float* residual = rows.residual == nullptr ? nullptr : rows.residual + r * rows.n;
    normalize_row(rows, x, residual, rows.y + r * rows.n, mean, inverse);
    if (rows.mean != nullptr) rows.mean[r] = mean;
    if (rows.inverse_deviation != nullptr) rows.inverse_deviation[r] = inverse;
  }
}

/// Sums of some thousand elements are added up in double precision: rows may be whole images.
template <class Map>
HWY_INLINE double sum_of_long_row(const float* x, std::size_t n, Map map) {
  constexpr std::size_t kChunk = 4096;
  double sum = 0;
  for (; n > kChunk; n -= kChunk, x += kChunk) sum += static_cast<double>(sum_row(x, kChunk, map));
  return sum + static_cast<double>(sum_row(x, n, map));
}

void moments(const float* x, std::size_t n, float epsilon, RowMoments& result) {
  const auto count = static_cast<double>(n);
  const double sum = sum_of_long_row(x, n, [](FloatVec v) HWY_ATTR { return v; });
  result.mean = static_cast<float>(sum / count);
  const auto center = hn::Set(FloatTag(), result.mean);
  const double squares = sum_of_long_row(x, n, [center](FloatVec v) HWY_ATTR {
    const auto off = hn::Sub(v, center);
    return hn::Mul(off, off);
  });
  const double variance = squares / count + static_cast<double>(epsilon);
  result.inverse_deviation = static_cast<float>(1.0 / std::sqrt(variance));
  if (std::isfinite(squares)) return;
  const auto exact =
      moments_of(x, static_cast<std::int64_t>(n), static_cast<double>(epsilon), true);
  result = {static_cast<float>(exact.mean), static_cast<float>(exact.inverse_deviation)};
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(softmax_by_rows);
HWY_EXPORT(log_softmax_by_rows);
HWY_EXPORT(softmax_by_columns);
HWY_EXPORT(layer_norm);
HWY_EXPORT(moments);

void softmax_rows(const float* x, float* y, std::size_t rows, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(softmax_by_rows)(x, y, rows, n);
}

void log_softmax_rows(const float* x, float* y, std::size_t rows, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(log_softmax_by_rows)(x, y, rows, n);
}

void softmax_columns(const float* x, float* y, std::size_t columns, std::size_t n,
                     std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(softmax_by_columns)(x, y, columns, n, stride);
}

void layer_norm_rows(const LayerNormRows& rows) { HWY_DYNAMIC_DISPATCH(layer_norm)(rows); }

RowMoments row_moments(const float* x, std::size_t n, float epsilon) {
  RowMoments result;
  HWY_DYNAMIC_DISPATCH(moments)(x, n, epsilon, result);
  return result;
}

}  // namespace parallax
#endif  // HWY_ONCE
