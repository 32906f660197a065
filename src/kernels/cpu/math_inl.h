// Vector functions that the kernels share: partial loads and stores, exp, log, tanh, erf and the
// activations made of them. Errors are a few ulp against libm, for Gelu relative to the larger of 1
// and |x|; NaN gives NaN, infinities give what libm gives unless said. Included once per target
// (the guard toggles).
//
// D is a Highway tag of f32 lanes and V its vector; functions work lane by lane, have no state, and
// give the same bits on every CPU of an instruction set. Polynomials are evaluated by Horner's
// rule, highest power first.
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#if defined(PX_KERNELS_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_MATH_INL_H_
#undef PX_KERNELS_CPU_MATH_INL_H_
#else
#define PX_KERNELS_CPU_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The widest vector of f32 of the target. Its number of lanes is 16 for AVX-512, 8 for AVX2, 4 for
/// SSE2, SSE4 and NEON.
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

/// Loads the first `n` < Lanes elements at `p`, zeros after them; does not read past them. Any
/// alignment of an element. AVX2 and AVX-512 mask the load; other targets copy element by element.
template <class D>
HWY_INLINE hn::Vec<D> load_n(D d, const hn::TFromD<D>* HWY_RESTRICT p, std::size_t n) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, n), d, p);
#else
  HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(D())] = {};
  for (std::size_t i = 0; i < n; ++i) buffer[i] = p[i];
  return hn::Load(d, buffer);
#endif
}

/// Stores the first `n` < Lanes elements; does not touch memory past them, since another thread may
/// be writing there. AVX2 and AVX-512 mask the store; other targets copy element by element.
template <class D>
HWY_INLINE void store_n(hn::Vec<D> v, D d, hn::TFromD<D>* HWY_RESTRICT p, std::size_t n) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#else
  HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(D())];
  hn::Store(v, d, buffer);
  for (std::size_t i = 0; i < n; ++i) p[i] = buffer[i];
#endif
}

/// Returns `x`, or `low` where that is more; NaN stays, and so does -0 if `low` is 0.
template <class V>
HWY_INLINE V at_least(V x, V low) {
  return hn::IfThenElse(hn::Lt(x, low), low, x);
}
/// Returns `x`, or `high` where that is less; NaN stays.
template <class V>
HWY_INLINE V at_most(V x, V high) {
  return hn::IfThenElse(hn::Lt(high, x), high, x);
}

/// Returns `x` limited to [lo, hi]; NaN stays. If lo > hi the result is hi, as of the reference's
/// Clip.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V clamp(D d, V x, float lo, float hi) {
  return at_most(at_least(x, hn::Set(d, lo)), hn::Set(d, hi));
}

/// Returns e^x = 2^n e^r with n the integer next to x / log 2, |r| <= log(2) / 2 and a polynomial
/// for e^r. The factor 2^n is applied in two halves, so that denormals and infinity come out right:
/// from 89 on the result is infinity, below -104 it is 0. The polynomial has degree 6. e^0 is
/// exactly 1; NaN stays.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  x = clamp(d, x, -104.0F, 89.0F);
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  const V magic = hn::Set(d, 12582912.0F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
  const V n = hn::Sub(shifted, magic);
  // log 2 in two parts, the first of few bits, so that its product with n is exact (Cody and
  // Waite).
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  V p = hn::Set(d, 1.381314476e-03F);
  p = hn::MulAdd(p, r, hn::Set(d, 8.369418792e-03F));
  p = hn::MulAdd(p, r, hn::Set(d, 4.166845605e-02F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.666651517e-01F));
  p = hn::MulAdd(p, r, hn::Set(d, 4.999999404e-01F));
  p = hn::MulAdd(hn::Mul(r, r), p, hn::Add(r, hn::Set(d, 1.0F)));
  // n as an integer, its halves as the exponents of two floats.
  const auto exponent = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(di, 127);
  const V a = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V b = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias)));
  return hn::Mul(hn::Mul(p, a), b);
}

/// Returns the natural logarithm: -inf for 0 and -0, NaN below 0. With x = m 2^e it is e log 2 +
/// log(m), where log(m) = 2 atanh(s) for s = (m - 1) / (m + 1). Denormals are scaled by 2^24 first.
/// The result of +inf is +inf; NaN stays. The logarithm of 1 is exactly 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V tiny = hn::Set(d, 1.17549435e-38F);
  const auto denormal = hn::Lt(x, tiny);
  const V scaled = hn::IfThenElse(denormal, hn::Mul(x, hn::Set(d, 16777216.0F)), x);
  // m in [sqrt(1/2), sqrt(2)), x = m * 2^e.
  const auto bits = hn::BitCast(di, scaled);
  const auto root_half = hn::Set(di, 0x3F3504F3);
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, root_half));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const V n = hn::Sub(hn::ConvertTo(d, e), hn::IfThenElseZero(denormal, hn::Set(d, 24.0F)));
  const V f = hn::Sub(m, hn::Set(d, 1.0F));
  const V s = hn::Div(f, hn::Add(m, hn::Set(d, 1.0F)));
  const V z = hn::Mul(s, s);
  // A minimax fit of (2 atanh(s) / s - 2) / s^2, near 2/3 + 2/5 s^2 + 2/7 s^4.
  V p = hn::Set(d, 2.989839911e-01F);
  p = hn::MulAdd(p, z, hn::Set(d, 3.997662663e-01F));
  p = hn::MulAdd(p, z, hn::Set(d, 6.666678190e-01F));
  // log(m) = 2s + s z p, written as f - s (f - z p) so that the leading term f is exact.
  const V log_m = hn::NegMulAdd(s, hn::NegMulAdd(z, p, f), f);
  V y = hn::MulAdd(n, hn::Set(d, 0.693359375F), hn::MulAdd(n, hn::Set(d, -2.12194440e-4F), log_m));
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  // A negative x and NaN fail the comparison.
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), y, nan);
}

/// Returns `y` limited to [-1, 1], but 1 with the sign of x if |x| >= limit. For odd functions that
/// approach 1, whose approximations may round to more than 1. `limit` is an x from which on the
/// function rounds to 1 in f32. A NaN of y stays unless |x| >= limit.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V saturate(D d, V x, V y, float limit) {
  const V one = hn::Set(d, 1.0F);
  y = hn::IfThenElse(hn::Lt(one, hn::Abs(y)), hn::CopySign(one, x), y);
  return hn::IfThenElse(hn::Ge(hn::Abs(x), hn::Set(d, limit)), hn::CopySign(one, x), y);
}

/// Returns tanh(x) as x P(x^2) / Q(x^2): a minimax fit of the relative error on [0, 9.02], past
/// which the result is 1. The degrees of P and Q are 4 in x^2. 0 and -0 stay, as the result is a
/// multiple of x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh_f32(D d, V x) {
  x = clamp(d, x, -9.02F, 9.02F);
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, 1.331928079e-08F);
  p = hn::MulAdd(p, z, hn::Set(d, 2.058364953e-05F));
  p = hn::MulAdd(p, z, hn::Set(d, 3.494045464e-03F));
  p = hn::MulAdd(p, z, hn::Set(d, 1.337972730e-01F));
  p = hn::MulAdd(p, z, hn::Set(d, 1.0F));
  V q = hn::Set(d, 7.762109817e-07F);
  q = hn::MulAdd(q, z, hn::Set(d, 3.283110273e-04F));
  q = hn::MulAdd(q, z, hn::Set(d, 2.587111667e-02F));
  q = hn::MulAdd(q, z, hn::Set(d, 4.671304226e-01F));
  q = hn::MulAdd(q, z, hn::Set(d, 1.0F));
  return saturate(d, x, hn::Div(hn::Mul(x, p), q), 9.02F);
}

/// Returns erf(x), also as x P(x^2) / Q(x^2): a fit on [0, 3.95]; from 3.92 on the result is 1. P
/// and Q have degree 5 in x^2. 0 and -0 stay.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_f32(D d, V x) {
  x = clamp(d, x, -3.95F, 3.95F);
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, 2.025923777e-06F);
  p = hn::MulAdd(p, z, hn::Set(d, 2.846857824e-04F));
  p = hn::MulAdd(p, z, hn::Set(d, 3.808075329e-03F));
  p = hn::MulAdd(p, z, hn::Set(d, 5.287518352e-02F));
  p = hn::MulAdd(p, z, hn::Set(d, 1.915483028e-01F));
  p = hn::MulAdd(p, z, hn::Set(d, 1.128379107e+00F));
  V q = hn::Set(d, 3.783186185e-05F);
  q = hn::MulAdd(q, z, hn::Set(d, 1.170704723e-03F));
  q = hn::MulAdd(q, z, hn::Set(d, 1.505491883e-02F));
  q = hn::MulAdd(q, z, hn::Set(d, 1.145587936e-01F));
  q = hn::MulAdd(q, z, hn::Set(d, 5.030879378e-01F));
  q = hn::MulAdd(q, z, hn::Set(d, 1.0F));
  return saturate(d, x, hn::Div(hn::Mul(x, p), q), 3.92F);
}

/// Returns 1 / (1 + e^-x). Below -88.7, where e^-x overflows, the result is 0. Two branches for the
/// sign of x are not needed: for large x the sum rounds to 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_f32(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp_f32(d, hn::Neg(x))));
}

/// Returns x * sigmoid(alpha * x); NaN for -inf with alpha > 0, as the product -inf * 0 is. One
/// quotient serves both the sigmoid and the product: x / (1 + e^(-alpha x)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu_f32(D d, V x, float alpha = 1) {
  const V e = exp_f32(d, hn::Mul(x, hn::Set(d, -alpha)));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0F), e));
}

/// Returns max(x, 0); NaN and -0 stay. Thus it has the bits of the reference kernel.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V relu_f32(D d, V x) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
}

/// Returns x * max(0, min(1, x / 6 + 1 / 2)), ONNX's HardSwish. Rounds as the reference kernel
/// does.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_swish_f32(D d, V x) {
  const V gate = hn::Add(hn::Mul(x, hn::Set(d, 1.0F / 6)), hn::Set(d, 0.5F));
  return hn::Mul(x, clamp(d, gate, 0.0F, 1.0F));
}

/// Returns e^x - 1. For |x| < 1/2, where the difference would lose digits, sums the Taylor series
/// up to x^8. The first term that is left out, x^9 / 9!, is below 2^-26 of x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1_f32(D d, V x) {
  V p = hn::Set(d, 1.0F / 40320);
  p = hn::MulAdd(p, x, hn::Set(d, 1.0F / 5040));
  p = hn::MulAdd(p, x, hn::Set(d, 1.0F / 720));
  p = hn::MulAdd(p, x, hn::Set(d, 1.0F / 120));
  p = hn::MulAdd(p, x, hn::Set(d, 1.0F / 24));
  p = hn::MulAdd(p, x, hn::Set(d, 1.0F / 6));
  p = hn::MulAdd(p, x, hn::Set(d, 0.5F));
  // x is added last, so that the leading term is exact.
  const V near = hn::MulAdd(hn::Mul(x, x), p, x);
  const V far = hn::Sub(exp_f32(d, x), hn::Set(d, 1.0F));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 0.5F)), near, far);
}

/// Returns x, or alpha x below zero. NaN and -0 stay; has the bits of the reference kernel.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V leaky_relu_f32(D d, V x, float alpha) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, alpha)), x);
}

/// Returns x, or alpha (e^x - 1) below zero. Both parts are computed in every lane and one of them
/// is selected.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V elu_f32(D d, V x, float alpha) {
  const V below = hn::Mul(expm1_f32(d, x), hn::Set(d, alpha));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, x);
}

/// Returns max(0, min(1, alpha x + beta)), with the roundings of the reference kernel. The product
/// and the sum are rounded one after the other, never fused.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_sigmoid_f32(D d, V x, float alpha, float beta) {
  return clamp(d, hn::Add(hn::Mul(x, hn::Set(d, alpha)), hn::Set(d, beta)), 0.0F, 1.0F);
}

/// Returns log(1 + e^x) as max(x, 0) + log(1 + e) with e = e^-|x| <= 1. The rounding error of 1 + e
/// is corrected by a quotient: log(1 + e) = log(s) e / (s - 1) for the rounded s = 1 + e (Goldberg,
/// What every computer scientist should know about floating-point arithmetic, theorem 4). -inf
/// gives 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus_f32(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  const V e = exp_f32(d, hn::Neg(hn::Abs(x)));
  const V sum = hn::Add(one, e), kept = hn::Sub(sum, one);
  // If 1 + e rounds to 1, log(1 + e) is e.
  const V exact = hn::Div(hn::Mul(log_f32(d, sum), e), kept);
  const V log = hn::IfThenElse(hn::Eq(kept, hn::Zero(d)), e, exact);
  return hn::Add(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x), log);
}

/// Returns x tanh(log(1 + e^x)) as x n / (n + 2) with n = e^x (e^x + 2). From x = 20 on the
/// quotient is 1 in f32, so e^x is computed for at most 20. tanh(log(1 + e)) is ((1 + e)^2 - 1) /
/// ((1 + e)^2 + 1), which is n / (n + 2) for e = e^x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V mish_f32(D d, V x) {
  const V two = hn::Set(d, 2.0F);
  const V e = exp_f32(d, clamp(d, x, -104.0F, 20.0F));
  const V n = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
}

/// Returns the sine of x + quarter * pi / 2 for |x| <= 8192; `quarter` 1 gives the cosine. x is
/// reduced to within pi / 4 of a multiple of pi / 2, which is subtracted in three parts, all exact
/// but the last (Cody and Waite); polynomials for sine and cosine are those of Cephes. Beyond that
/// n times the parts would no longer be exact, so callers use libm.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sine_f32(D d, V x, std::int32_t quarter) {
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, 12582912.0F);  // 1.5 * 2^23 rounds to an integer
  const V shifted = hn::MulAdd(x, hn::Set(d, 0.636619772F), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 1.5703125F), x);
  r = hn::NegMulAdd(n, hn::Set(d, 4.837512970e-4F), r);
  r = hn::NegMulAdd(n, hn::Set(d, 7.549789949e-8F), r);
  const V z = hn::Mul(r, r);
  // sin(r) and cos(r) for |r| <= pi / 4.
  V s = hn::Set(d, -1.9515295891e-4F);
  s = hn::MulAdd(s, z, hn::Set(d, 8.3321608736e-3F));
  s = hn::MulAdd(s, z, hn::Set(d, -1.6666654611e-1F));
  s = hn::CopySign(hn::MulAdd(hn::Mul(s, z), r, r), r);  // the sum of zeros would be +0
  V c = hn::Set(d, 2.443315711809948e-5F);
  c = hn::MulAdd(c, z, hn::Set(d, -1.388731625493765e-3F));
  c = hn::MulAdd(c, z, hn::Set(d, 4.166664568298827e-2F));
  c = hn::MulAdd(c, hn::Mul(z, z), hn::NegMulAdd(z, hn::Set(d, 0.5F), hn::Set(d, 1.0F)));
  // The quadrant: odd ones use the cosine, the third and fourth have the opposite sign.
  const auto place = hn::Add(hn::BitCast(di, shifted), hn::Set(di, quarter));
  const auto odd = hn::Ne(hn::And(place, hn::Set(di, 1)), hn::Zero(di));
  const V y = hn::IfThenElse(hn::RebindMask(d, odd), c, s);
  const auto sign = hn::ShiftLeft<30>(hn::And(place, hn::Set(di, 2)));
  return hn::Xor(y, hn::BitCast(d, sign));
}

#if HWY_TARGET == HWY_AVX3
/// Coefficients, by power and i, of polynomials in x - i/2 that approximate Phi(x) - 1/2 for
/// |x - i/2| <= 1/4, Phi being the normal distribution. A minimax fit of the error times min(x, 1)
/// in double precision (Lawson's iteration): at most 4.2e-8.
constexpr float kHalfPhi[6][16] = {
    {0, 1.9146244e-1F, 3.4134474e-1F, 4.331928e-1F, 4.772499e-1F, 4.9379033e-1F, 4.986501e-1F,
     4.9976736e-1F, 4.9996832e-1F, 4.999966e-1F, 4.999997e-1F, 5e-1F, 5e-1F, 5e-1F, 5e-1F, 5e-1F},
    {3.9894223e-1F, 3.520651e-1F, 2.4197072e-1F, 1.2951761e-1F, 5.399096e-2F, 1.7528288e-2F,
     4.4318447e-3F, 8.7268365e-4F, 1.3383139e-4F, 1.5984187e-5F, 1.4868208e-6F, 0, 0, 0, 0, 0},
    {2.1548872e-6F, -8.801025e-2F, -1.209811e-1F, -9.71396e-2F, -5.3993907e-2F, -2.1911507e-2F,
     -6.6475403e-3F, -1.5268003e-3F, -2.6747835e-4F, -3.591393e-5F, -3.7077564e-6F, 0, 0, 0, 0, 0},
    {-6.652114e-2F, -4.399193e-2F, -8.0943494e-7F, 2.6980275e-2F, 2.6996009e-2F, 1.5338471e-2F,
     5.9095235e-3F, 1.636184e-3F, 3.344576e-4F, 5.1235984e-5F, 5.9366366e-6F, 0, 0, 0, 0, 0},
    {1.9136067e-4F, 1.9894568e-2F, 1.9978216e-2F, 6.131454e-3F, -4.373522e-3F, -5.8857608e-3F,
     -3.3339502e-3F, -1.1940681e-3F, -2.9772805e-4F, -5.380243e-5F, -7.1979166e-6F, 0, 0, 0, 0, 0},
    {9.5020905e-3F, 4.3496382e-3F, -3.972868e-3F, -5.799498e-3F, -2.2639444e-3F, 6.338059e-4F,
     1.0973718e-3F, 5.812155e-4F, 1.8496752e-4F, 4.005084e-5F, 6.19691e-6F, 0, 0, 0, 0, 0},
};

/// Returns x/2 + |x| (Phi(|x|) - 1/2): a table with one register for each power halves the
/// multiplications of the polynomial below. In f32, over [-8, 8], errors are at most 1.2e-7
/// max(|x|, 1). -inf gives NaN, as the reference does.
HWY_INLINE FloatVec gelu_erf_f32(FloatTag d, FloatVec x) {
  const hn::RebindToSigned<FloatTag> di;
  const FloatVec size = hn::Abs(x);
  const FloatVec near = hn::Min(hn::Set(d, 5.5F), size);  // |x| if it is NaN
  // Adding 1.5 * 2^22 rounds to a half; four bits choose the polynomial.
  const FloatVec magic = hn::Set(d, 6291456.0F);
  const FloatVec shifted = hn::Add(near, magic);
  const FloatVec r = hn::Sub(near, hn::Sub(shifted, magic));
  const auto piece = hn::BitCast(di, shifted);
  const auto factor = [&](std::size_t power) HWY_ATTR {
    return FloatVec{_mm512_permutexvar_ps(piece.raw, hn::LoadU(d, kHalfPhi[power]).raw)};
  };
  FloatVec p = hn::MulAdd(factor(5), r, factor(4));
  for (std::size_t power = 4; power-- > 0;) p = hn::MulAdd(p, r, factor(power));
  return hn::MulAdd(size, p, hn::Mul(x, hn::Set(d, 0.5F)));
}
#else
/// Returns x/2 (1 + erf(x / sqrt 2)) = x/2 + z P(2 z / 5.1^2 - 1) with z = x^2: the even part is a
/// smooth function of z, so it needs neither division nor exp. P minimises the greatest error of x
/// P, an approximation of Phi(x) - 1/2, over [0, 5.1] (Lawson's iteration in double precision at
/// 4000 Chebyshev nodes of z; 4.5e-8). Past that the even part is |x|/2. In f32 with FMA, over [-8,
/// 8], errors are at most 1.7e-7 max(|x|, 1). -inf gives NaN, as the reference does.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_erf_f32(D d, V x) {
  const V z = hn::Mul(x, x);
  const V t = hn::MulAdd(z, hn::Set(d, 7.689350e-02F), hn::Set(d, -1.0F));
  V p = hn::Set(d, -3.512726398e-04F);
  p = hn::MulAdd(p, t, hn::Set(d, 9.545202483e-04F));
  p = hn::MulAdd(p, t, hn::Set(d, -1.022152021e-03F));
  p = hn::MulAdd(p, t, hn::Set(d, 1.632564701e-03F));
  p = hn::MulAdd(p, t, hn::Set(d, -4.163561389e-03F));
  p = hn::MulAdd(p, t, hn::Set(d, 7.593828719e-03F));
  p = hn::MulAdd(p, t, hn::Set(d, -1.158987451e-02F));
  p = hn::MulAdd(p, t, hn::Set(d, 1.714901067e-02F));
  p = hn::MulAdd(p, t, hn::Set(d, -2.411072329e-02F));
  p = hn::MulAdd(p, t, hn::Set(d, 3.177651390e-02F));
  p = hn::MulAdd(p, t, hn::Set(d, -4.021038860e-02F));
  p = hn::MulAdd(p, t, hn::Set(d, 5.077882856e-02F));
  p = hn::MulAdd(p, t, hn::Set(d, -6.900344789e-02F));
  p = hn::MulAdd(p, t, hn::Set(d, 1.386053264e-01F));
  const V half = hn::Set(d, 0.5F);
  const auto large = hn::Ge(z, hn::Set(d, 26.01F));
  return hn::MulAdd(x, half, hn::IfThenElse(large, hn::Mul(hn::Abs(x), half), hn::Mul(z, p)));
}
#endif

/// Returns x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), ONNX's Gelu with `approximate` "tanh"
/// (Hendrycks and Gimpel, Gaussian error linear units). -inf gives NaN, as the reference does.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_tanh_f32(D d, V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  const V inner = hn::Mul(hn::MulAdd(cube, hn::Set(d, 0.044715F), x), hn::Set(d, 0.79788456F));
  const V half = hn::Mul(x, hn::Set(d, 0.5F));
  return hn::MulAdd(half, tanh_f32(d, inner), half);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_MATH_INL_H_
