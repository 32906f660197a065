#include "kernels/cpu/convolution/dot_loops.h"

#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/dot_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/reduce/row_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns how many outputs are computed together: with F filters their sums, the weights and an
/// input stay in 16 registers.
constexpr std::size_t outputs_of(std::size_t filters) {
  return filters == 1 ? 8 : filters == 4 ? 2 : 4;
}

/// Adds a vector of each filter's weights times one of each output's window, which `load` reads.
template <std::size_t F, std::size_t B, class Load>
HWY_INLINE void add_products(const DotRow& row, const float* x, const float* w, Load load,
                             FloatVec (&sum)[F][B]) {
  FloatVec weights[F];
  PX_UNROLL for (std::size_t f = 0; f < F; ++f) weights[f] = load(w + f * row.filter_step);
  PX_UNROLL for (std::size_t b = 0; b < B; ++b) {
    const FloatVec input = load(x + b * row.column_step);
    PX_UNROLL for (std::size_t f = 0; f < F; ++f) {
      sum[f][b] = hn::MulAdd(input, weights[f], sum[f][b]);
    }
  }
}

/// Computes B outputs from `column` on.
template <std::size_t F, std::size_t B>
HWY_INLINE void dot_columns(const DotRow& row, std::size_t column) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  FloatVec sum[F][B];
  PX_UNROLL for (std::size_t f = 0; f < F; ++f) {
    PX_UNROLL for (std::size_t b = 0; b < B; ++b) sum[f][b] = hn::Zero(d);
  }
  const std::size_t left = row.length % lanes, whole = row.length - left;
  const float* x = row.x + column * row.column_step;
  const float* w = row.weights;
  for (std::size_t i = 0; i < row.row_count; ++i, x += row.row_step, w += row.weights_step) {
    const auto load = [d](const float* from) HWY_ATTR { return hn::LoadU(d, from); };
    for (std::size_t k = 0; k < whole; k += lanes) add_products<F, B>(row, x + k, w + k, load, sum);
    const auto load_left = [=](const float* from) HWY_ATTR { return load_n(d, from, left); };
    if (left > 0) add_products<F, B>(row, x + whole, w + whole, load_left, sum);
  }
  float* out = row.out + column * F;
  PX_UNROLL for (std::size_t b = 0; b < B; ++b) {
    PX_UNROLL for (std::size_t f = 0; f < F; ++f) {
      *out++ = (row.bias == nullptr ? 0.0F : row.bias[f]) + sum_of(sum[f][b]);
    }
  }
}

template <std::size_t F>
HWY_NOINLINE void dot_filters(const DotRow& row) {
  constexpr std::size_t kOutputs = outputs_of(F);
  std::size_t column = 0;
  for (; column + kOutputs <= row.columns; column += kOutputs)
    dot_columns<F, kOutputs>(row, column);
  if (column == row.columns) return;
  // The last outputs overlap with others.
  if (row.columns > kOutputs) return dot_columns<F, kOutputs>(row, row.columns - kOutputs);
  for (; column < row.columns; ++column) dot_columns<F, 1>(row, column);
}

}  // namespace

void dot_products(const DotRow& row) {
  switch (row.filters) {
    case 1:
      return dot_filters<1>(row);
    case 2:
      return dot_filters<2>(row);
    case 3:
      return dot_filters<3>(row);
    default:
      return dot_filters<4>(row);
  }
}

std::size_t lanes_of_dots() { return hn::Lanes(FloatTag()); }

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(dot_products);
HWY_EXPORT(lanes_of_dots);

void dot_row(const DotRow& row) { HWY_DYNAMIC_DISPATCH(dot_products)(row); }

std::size_t dot_lanes() { return HWY_DYNAMIC_DISPATCH(lanes_of_dots)(); }

}  // namespace parallax
#endif  // HWY_ONCE
