#include "kernels/cpu/convolution/winograd_loops.h"

#include <cstring>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/winograd_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The points of F(4, 3) are 0, a, -a, b, -b and infinity. With a = 3/4, b = 3/2 the greatest error
// of 64 channels of normal numbers is 1.3e-6 of the greatest result (direct sums: 0.9e-6); with the
// usual 1 and 2 it is 7e-6. All the constants are exact in binary. F(2, 3) has 0, 1, -1, infinity:
// 0.3e-6. F(4, 2) has 0, a, -a, b, infinity.
constexpr float kA = 0.75F, kB = 1.5F;
constexpr float kA2 = kA * kA, kB2 = kB * kB;

/// Transforms along one axis, by the number of inputs; 1: none. kStep: inputs to the next square.
template <std::size_t N>
struct Axis;

template <>
struct Axis<1> {
  static constexpr std::size_t kIn = 1, kOut = 1, kTaps = 1, kMatrices = 1, kStep = 1;
  static HWY_INLINE void input(FloatTag, const FloatVec* HWY_RESTRICT x, FloatVec* HWY_RESTRICT y) {
    y[0] = x[0];
  }
  static HWY_INLINE void output(FloatTag, const FloatVec* HWY_RESTRICT x,
                                FloatVec* HWY_RESTRICT y) {
    y[0] = x[0];
  }
  static constexpr double kWeights[1][1] = {{1}};
};

template <>
struct Axis<4> {
  static constexpr std::size_t kIn = 4, kOut = 2, kTaps = 3, kMatrices = 4, kStep = 2;
  static HWY_INLINE void input(FloatTag, const FloatVec* HWY_RESTRICT x, FloatVec* HWY_RESTRICT y) {
    y[0] = hn::Sub(x[0], x[2]);
    y[1] = hn::Add(x[1], x[2]);
    y[2] = hn::Sub(x[2], x[1]);
    y[3] = hn::Sub(x[3], x[1]);
  }
  static HWY_INLINE void output(FloatTag, const FloatVec* HWY_RESTRICT x,
                                FloatVec* HWY_RESTRICT y) {
    y[0] = hn::Add(hn::Add(x[1], x[2]), x[0]);
    y[1] = hn::Add(hn::Sub(x[1], x[2]), x[3]);
  }
  static constexpr double kWeights[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
};

template <>
struct Axis<6> {
  static constexpr std::size_t kIn = 6, kOut = 4, kTaps = 3, kMatrices = 6, kStep = 4;
  static HWY_INLINE void input(FloatTag d, const FloatVec* HWY_RESTRICT x,
                               FloatVec* HWY_RESTRICT y) {
    const auto a = hn::Set(d, kA), b = hn::Set(d, kB), a2 = hn::Set(d, kA2), b2 = hn::Set(d, kB2);
    const auto sum = hn::Set(d, kA2 + kB2), product = hn::Set(d, kA2 * kB2);
    y[0] = hn::MulAdd(product, x[0], hn::NegMulAdd(sum, x[2], x[4]));
    y[5] = hn::MulAdd(product, x[1], hn::NegMulAdd(sum, x[3], x[5]));
    const auto even_a = hn::NegMulAdd(b2, x[2], x[4]), odd_a = hn::NegMulAdd(b2, x[1], x[3]);
    y[1] = hn::MulAdd(a, odd_a, even_a);
    y[2] = hn::NegMulAdd(a, odd_a, even_a);
    const auto even_b = hn::NegMulAdd(a2, x[2], x[4]), odd_b = hn::NegMulAdd(a2, x[1], x[3]);
    y[3] = hn::MulAdd(b, odd_b, even_b);
    y[4] = hn::NegMulAdd(b, odd_b, even_b);
  }
  static HWY_INLINE void output(FloatTag d, const FloatVec* HWY_RESTRICT x,
                                FloatVec* HWY_RESTRICT y) {
    const auto a = hn::Set(d, kA), b = hn::Set(d, kB), a2 = hn::Set(d, kA2), b2 = hn::Set(d, kB2);
    const auto sum_a = hn::Add(x[1], x[2]), sum_b = hn::Add(x[3], x[4]);
    const auto difference_a = hn::Mul(a, hn::Sub(x[1], x[2]));
    const auto difference_b = hn::Mul(b, hn::Sub(x[3], x[4]));
    y[0] = hn::Add(hn::Add(sum_a, sum_b), x[0]);
    y[1] = hn::Add(difference_a, difference_b);
    y[2] = hn::MulAdd(a2, sum_a, hn::Mul(b2, sum_b));
    y[3] = hn::MulAdd(a2, difference_a, hn::MulAdd(b2, difference_b, x[5]));
  }
  static constexpr double kAtA = 1 / (2.0 * kA2 * (kA2 - kB2)),
                          kAtB = 1 / (2.0 * kB2 * (kB2 - kA2));
  static constexpr double kWeights[6][3] = {
      {1 / (1.0 * kA2 * kB2), 0, 0}, {kAtA, kAtA* kA, kAtA* kA2},  {kAtA, -kAtA* kA, kAtA* kA2},
      {kAtB, kAtB* kB, kAtB* kB2},   {kAtB, -kAtB* kB, kAtB* kB2}, {0, 0, 1}};
};

/// Stride 2: even inputs are multiplied with the first and the last tap, which is F(4, 2), odd ones
/// with the middle one.
template <>
struct Axis<9> {
  static constexpr std::size_t kIn = 9, kOut = 4, kTaps = 3, kMatrices = 6, kStep = 8;
  static HWY_INLINE void input(FloatTag d, const FloatVec* HWY_RESTRICT x,
                               FloatVec* HWY_RESTRICT y) {
    const auto a2 = hn::Set(d, kA2), b = hn::Set(d, kB);
    const auto low = hn::NegMulAdd(a2, x[2], x[6]), high = hn::NegMulAdd(a2, x[4], x[8]);
    const auto middle = hn::NegMulAdd(b, x[4], x[6]), first = hn::NegMulAdd(b, x[2], x[4]);
    y[0] = hn::NegMulAdd(a2, hn::NegMulAdd(b, x[0], x[2]), middle);
    y[1] = hn::MulAdd(hn::Set(d, kA), first, middle);
    y[2] = hn::NegMulAdd(hn::Set(d, kA), first, middle);
    y[3] = low;
    y[4] = hn::NegMulAdd(b, low, high);
    for (std::size_t i = 0; i < kOut; ++i) y[5 + i] = x[1 + 2 * i];
  }
  static HWY_INLINE void output(FloatTag d, const FloatVec* HWY_RESTRICT x,
                                FloatVec* HWY_RESTRICT y) {
    const auto sum = hn::Add(x[1], x[2]), difference = hn::Mul(hn::Set(d, kA), hn::Sub(x[1], x[2]));
    y[0] = hn::Add(hn::Add(sum, x[3]), hn::Add(x[0], x[5]));
    y[1] = hn::MulAdd(hn::Set(d, kB), x[3], hn::Add(difference, x[6]));
    y[2] = hn::MulAdd(hn::Set(d, kB2), x[3], hn::MulAdd(hn::Set(d, kA2), sum, x[7]));
    y[3] = hn::MulAdd(hn::Set(d, kB2 * kB), x[3],
                      hn::MulAdd(hn::Set(d, kA2), difference, hn::Add(x[4], x[8])));
  }
  static constexpr double kAtA = 1 / (2.0 * kA2 * (kA - kB)),
                          kAtMinusA = 1 / (-2.0 * kA2 * (kA + kB)),
                          kAtB = 1 / (1.0 * kB * (kB2 - kA2));
  static constexpr double kWeights[6][3] = {
      {1 / (1.0 * kA2 * kB), 0, 0}, {kAtA, 0, kAtA* kA}, {kAtMinusA, 0, -kAtMinusA* kA},
      {kAtB, 0, kAtB* kB},          {0, 0, 1},           {0, 1, 0}};
};

template <class H, class W>
HWY_NOINLINE void transform_input(const float* const* HWY_RESTRICT from, std::size_t channels,
                                  float* HWY_RESTRICT to, std::size_t stride) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t c = 0; c < channels; c += lanes) {
    FloatVec rows[H::kIn][W::kIn];
    for (std::size_t j = 0; j < W::kIn; ++j) {
      FloatVec x[H::kIn], y[H::kIn];
      for (std::size_t i = 0; i < H::kIn; ++i) {
        const float* pixel = from[i * W::kIn + j] + c;
        x[i] = c + lanes <= channels ? hn::LoadU(d, pixel) : load_n(d, pixel, channels - c);
        if (j >= W::kIn - W::kStep) __builtin_prefetch(pixel + W::kStep * channels, 0, 3);
      }
      H::input(d, x, y);
      for (std::size_t i = 0; i < H::kIn; ++i) rows[i][j] = y[i];
    }
    for (std::size_t i = 0; i < H::kIn; ++i) {
      FloatVec y[W::kIn];
      W::input(d, rows[i], y);
      for (std::size_t j = 0; j < W::kIn; ++j)
        hn::StoreU(y[j], d, to + (i * W::kIn + j) * stride + c);
    }
  }
}

template <class H, class W>
HWY_NOINLINE void transform_output(const float* HWY_RESTRICT from, std::size_t stride,
                                   std::size_t columns, const float* HWY_RESTRICT bias,
                                   float* HWY_RESTRICT to) {
  const FloatTag d;
  for (std::size_t k = 0; k < columns; k += hn::Lanes(d)) {
    FloatVec rows[H::kOut][W::kIn];
    for (std::size_t j = 0; j < W::kIn; ++j) {
      FloatVec x[H::kIn], y[H::kOut];
      for (std::size_t i = 0; i < H::kIn; ++i)
        x[i] = hn::LoadU(d, from + (i * W::kIn + j) * stride + k);
      H::output(d, x, y);
      for (std::size_t i = 0; i < H::kOut; ++i) rows[i][j] = y[i];
    }
    const FloatVec shift = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + k);
    for (std::size_t i = 0; i < H::kOut; ++i) {
      FloatVec y[W::kOut];
      W::output(d, rows[i], y);
      for (std::size_t j = 0; j < W::kOut; ++j)
        hn::StoreU(hn::Add(y[j], shift), d, to + (i * W::kOut + j) * columns + k);
    }
  }
}

/// Filters that are transformed together, in plain loops that the compiler vectorizes.
constexpr std::size_t kFilters = 16;

/// Transforms one axis: y[i] = sum of weights[i][t] x[t], where x[t] and y[i] are kFilters numbers
/// each, given `x_step` and `y_step` numbers apart.
template <class A>
HWY_INLINE void transform_taps(const double* HWY_RESTRICT x, std::size_t x_step,
                               double* HWY_RESTRICT y, std::size_t y_step) {
  for (std::size_t i = 0; i < A::kMatrices; ++i) {
    for (std::size_t k = 0; k < kFilters; ++k) {
      double sum = 0;
      for (std::size_t t = 0; t < A::kTaps; ++t) sum += A::kWeights[i][t] * x[t * x_step + k];
      y[i * y_step + k] = sum;
    }
  }
}

template <class H, class W>
HWY_NOINLINE void transform_weights(const ChannelFilters& from, float* HWY_RESTRICT to,
                                    std::size_t stride) {
  constexpr std::size_t kTaps = H::kTaps * W::kTaps;
  const auto filters = static_cast<std::size_t>(from.count);
  for (std::size_t begin = 0; begin < filters; begin += kFilters) {
    const std::size_t count = HWY_MIN(kFilters, filters - begin);
    double taps[kTaps * kFilters] = {};
    for (std::size_t k = 0; k < count; ++k) {
      const std::byte* tap = from.data + static_cast<std::int64_t>(begin + k) * from.filter;
      for (std::size_t t = 0; t < kTaps; ++t, tap += from.tap) {
        float number;
        std::memcpy(&number, tap, sizeof(number));
        taps[t * kFilters + k] = static_cast<double>(number);
      }
    }
    double rows[H::kMatrices * W::kTaps * kFilters], points[H::kMatrices * W::kMatrices * kFilters];
    for (std::size_t t = 0; t < W::kTaps; ++t)
      transform_taps<H>(taps + t * kFilters, W::kTaps * kFilters, rows + t * kFilters,
                        W::kTaps * kFilters);
    for (std::size_t i = 0; i < H::kMatrices; ++i)
      transform_taps<W>(rows + i * W::kTaps * kFilters, kFilters,
                        points + i * W::kMatrices * kFilters, kFilters);
    for (std::size_t p = 0; p < H::kMatrices * W::kMatrices; ++p)
      for (std::size_t k = 0; k < count; ++k)
        to[p * stride + begin + k] = static_cast<float>(points[p * kFilters + k]);
  }
}

/// Calls f(H, W) with the axes of `form`.
template <class F>
HWY_INLINE void with_axes(WinogradForm form, const F& f) {
  switch (form) {
    case WinogradForm::k2x2:
      return f(Axis<4>(), Axis<4>());
    case WinogradForm::k4x4:
      return f(Axis<6>(), Axis<6>());
    case WinogradForm::k1x4:
      return f(Axis<1>(), Axis<6>());
    case WinogradForm::k4x1:
      return f(Axis<6>(), Axis<1>());
    case WinogradForm::k1x4Stride2:
      return f(Axis<1>(), Axis<9>());
  }
}

}  // namespace

void winograd_input_loop(WinogradForm form, const float* const* from, std::size_t channels,
                         float* to, std::size_t stride) {
  with_axes(form, [&](auto h, auto w) {
    transform_input<decltype(h), decltype(w)>(from, channels, to, stride);
  });
}

void winograd_output_loop(WinogradForm form, const float* from, std::size_t stride,
                          std::size_t columns, const float* bias, float* to) {
  with_axes(form, [&](auto h, auto w) {
    transform_output<decltype(h), decltype(w)>(from, stride, columns, bias, to);
  });
}

void winograd_weights_loop(WinogradForm form, const ChannelFilters& from, float* to,
                           std::size_t stride) {
  with_axes(form,
            [&](auto h, auto w) { transform_weights<decltype(h), decltype(w)>(from, to, stride); });
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(winograd_input_loop);
HWY_EXPORT(winograd_output_loop);
HWY_EXPORT(winograd_weights_loop);

WinogradSizes winograd_sizes(WinogradForm form) {
  switch (form) {
    case WinogradForm::k2x2:
      return {2, 2, 4, 4, 16};
    case WinogradForm::k4x4:
      return {4, 4, 6, 6, 36};
    case WinogradForm::k1x4:
      return {1, 4, 1, 6, 6};
    case WinogradForm::k4x1:
      return {4, 1, 6, 1, 6};
    case WinogradForm::k1x4Stride2:
      return {1, 4, 1, 9, 6};
  }
  return {};
}

void winograd_input(WinogradForm form, const float* const* from, std::size_t channels, float* to,
                    std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(winograd_input_loop)(form, from, channels, to, stride);
}

void winograd_output(WinogradForm form, const float* from, std::size_t stride, std::size_t columns,
                     const float* bias, float* to) {
  HWY_DYNAMIC_DISPATCH(winograd_output_loop)(form, from, stride, columns, bias, to);
}

void winograd_weights(WinogradForm form, const ChannelFilters& from, float* to,
                      std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(winograd_weights_loop)(form, from, to, stride);
}

}  // namespace parallax
#endif  // HWY_ONCE
