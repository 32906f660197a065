#include "kernels/cpu/spectrum/fft_loops.h"

#include <array>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spectrum/fft_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Numbers that are computed together: those of a few signals, or one.
using WideTag = hn::CappedTag<double, 4>;
using OneTag = hn::CappedTag<double, 1>;

/// One place of a stage: inputs `from` apart, results `to` apart, `width` numbers side by side.
struct Butterfly {
  std::int64_t radix, from, to, width;
  const double *twiddles, *roots;
};

template <class D>
struct Complex {
  hn::Vec<D> re, im;
};
template <class D>
HWY_INLINE Complex<D> load(D d, const ConstComplexRows& x, std::int64_t i) {
  return {hn::LoadU(d, x.re + i), hn::LoadU(d, x.im + i)};
}
template <class D>
HWY_INLINE void store(D d, const Complex<D>& v, const ComplexRows& y, std::int64_t i) {
  hn::StoreU(v.re, d, y.re + i);
  hn::StoreU(v.im, d, y.im + i);
}
template <class D>
HWY_INLINE Complex<D> add(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> sub(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// Returns a times the pair at `w`.
template <class D>
HWY_INLINE Complex<D> times(D d, const Complex<D>& a, const double* w) {
  const auto re = hn::Set(d, w[0]), im = hn::Set(d, w[1]);
  return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.re, im, hn::Mul(a.im, re))};
}

template <class D>
HWY_INLINE void butterfly_2(D d, const Butterfly& b, ConstComplexRows x, ComplexRows y,
                            std::int64_t q) {
  const auto x0 = load(d, x, q), x1 = load(d, x, q + b.from);
  store(d, add<D>(x0, x1), y, q);
  store(d, times(d, sub<D>(x0, x1), b.twiddles + 2), y, q + b.to);
}

template <class D>
HWY_INLINE void butterfly_4(D d, const Butterfly& b, ConstComplexRows x, ComplexRows y,
                            std::int64_t q) {
  const auto x0 = load(d, x, q), x1 = load(d, x, q + b.from);
  const auto x2 = load(d, x, q + 2 * b.from), x3 = load(d, x, q + 3 * b.from);
  const auto sum = add<D>(x0, x2), difference = sub<D>(x0, x2), others = add<D>(x1, x3);
  const Complex<D> turned{hn::Sub(x1.im, x3.im), hn::Sub(x3.re, x1.re)};  // -i (x1 - x3)
  store(d, add<D>(sum, others), y, q);
  store(d, times(d, add<D>(difference, turned), b.twiddles + 2), y, q + b.to);
  store(d, times(d, sub<D>(sum, others), b.twiddles + 4), y, q + 2 * b.to);
  store(d, times(d, sub<D>(difference, turned), b.twiddles + 6), y, q + 3 * b.to);
}

template <class D>
HWY_INLINE void butterfly_any(D d, const Butterfly& b, ConstComplexRows x, ComplexRows y,
                              const double* factors, std::int64_t q) {
  Complex<D> sum{hn::Zero(d), hn::Zero(d)};
  for (std::int64_t j = 0; j < b.radix; ++j)
    sum = add<D>(sum, times(d, load(d, x, q + j * b.from), factors + 2 * j));
  store(d, sum, y, q);
}

/// Calls `run` with a tag of several numbers, then of one, until `width` are done.
template <class Run>
HWY_INLINE void for_each_number(std::int64_t width, Run run) {
  const WideTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t q = 0;
  for (; q + lanes <= width; q += lanes) run(d, q);
  for (; q < width; ++q) run(OneTag(), q);
}

/// Multiplies each root of a result with its twiddle.
HWY_INLINE void run_any(const Butterfly& b, ConstComplexRows x, ComplexRows y) {
  for (std::int64_t k = 0; k < b.radix; ++k) {
    const double wr = b.twiddles[2 * k], wi = b.twiddles[2 * k + 1];
    std::array<double, 2 * kMaxRadix> factors;
    for (std::int64_t j = 0; j < b.radix; ++j) {
      const double* const root = b.roots + 2 * (j * k % b.radix);
      factors[static_cast<std::size_t>(2 * j)] = root[0] * wr - root[1] * wi;
      factors[static_cast<std::size_t>(2 * j + 1)] = root[0] * wi + root[1] * wr;
    }
    const ComplexRows to{y.re + k * b.to, y.im + k * b.to};
    for_each_number(b.width, [&](auto d, std::int64_t q)
                                 HWY_ATTR { butterfly_any(d, b, x, to, factors.data(), q); });
  }
}

}  // namespace

void run_places(const FftStage& stage, ConstComplexRows x, ComplexRows y) {
  for (std::int64_t p = 0; p < stage.count; ++p) {
    const Butterfly b{stage.radix,  stage.count * stage.stride,           stage.stride,
                      stage.stride, stage.twiddles + 2 * p * stage.radix, stage.roots};
    const ConstComplexRows from{x.re + p * stage.stride, x.im + p * stage.stride};
    const ComplexRows to{y.re + p * stage.radix * stage.stride,
                         y.im + p * stage.radix * stage.stride};
    if (stage.radix == 4) {
      for_each_number(b.width,
                      [&](auto d, std::int64_t q) HWY_ATTR { butterfly_4(d, b, from, to, q); });
    } else if (stage.radix == 2) {
      for_each_number(b.width,
                      [&](auto d, std::int64_t q) HWY_ATTR { butterfly_2(d, b, from, to, q); });
    } else {
      run_any(b, from, to);
    }
  }
}

void split_spectra(std::int64_t m, std::int64_t sides, const double* roots, ConstComplexRows x,
                   ComplexRows y) {
  // Elements 0 and m are real: the sums of the even elements plus and minus those of the odd ones.
  for_each_number(sides, [&](auto d, std::int64_t q) HWY_ATTR {
    using D = decltype(d);
    const auto x0 = load(d, x, q);
    store<D>(d, {hn::Add(x0.re, x0.im), hn::Zero(d)}, y, q);
    store<D>(d, {hn::Sub(x0.re, x0.im), hn::Zero(d)}, y, m * sides + q);
  });
  for (std::int64_t k = 1; k < m; ++k) {
    for_each_number(sides, [&](auto d, std::int64_t q) HWY_ATTR {
      using D = decltype(d);
      const auto half = hn::Set(d, 0.5);
      const auto a = load(d, x, k * sides + q), b = load(d, x, (m - k) * sides + q);
      const Complex<D> even{hn::Mul(half, hn::Add(a.re, b.re)), hn::Mul(half, hn::Sub(a.im, b.im))};
      const Complex<D> odd{hn::Mul(half, hn::Add(a.im, b.im)), hn::Mul(half, hn::Sub(b.re, a.re))};
      store(d, add<D>(even, times(d, odd, roots + 2 * k)), y, k * sides + q);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(run_places);
HWY_EXPORT(split_spectra);

void run_stage(const FftStage& stage, ConstComplexRows x, ComplexRows y) {
  HWY_DYNAMIC_DISPATCH(run_places)(stage, x, y);
}

void split_real_spectra(std::int64_t m, std::int64_t sides, const double* roots, ConstComplexRows x,
                        ComplexRows y) {
  HWY_DYNAMIC_DISPATCH(split_spectra)(m, sides, roots, x, y);
}

}  // namespace parallax
#endif  // HWY_ONCE
