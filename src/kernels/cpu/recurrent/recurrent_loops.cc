#include "kernels/cpu/recurrent/recurrent_loops.h"

#include <cmath>

#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/recurrent/recurrent_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Sequences that share a pass over the weights: sums of four gates for half of the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kSequences = 4;
#else
constexpr std::size_t kSequences = 2;
#endif

HWY_INLINE FloatVec softplus_f32(FloatTag d, FloatVec x) {
  const auto e = exp_f32(d, hn::Neg(hn::Abs(x)));
  const auto high = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  return hn::Add(high, log_f32(d, hn::Add(hn::Set(d, 1.0F), e)));
}

/// Returns the activations that few models have. A call, since each step has five gates.
HWY_NOINLINE FloatVec other_gate(FloatTag d, const GateActivation& activation, FloatVec x) {
  const auto alpha = hn::Set(d, activation.alpha), beta = hn::Set(d, activation.beta);
  const auto one = hn::Set(d, 1.0F);
  const auto negative = hn::Lt(x, hn::Zero(d));
  switch (activation.function) {
    case GateFunction::kAffine:
      return hn::MulAdd(alpha, x, beta);
    case GateFunction::kElu:
      return hn::IfThenElse(negative, hn::Mul(alpha, hn::Sub(exp_f32(d, x), one)), x);
    case GateFunction::kHardSigmoid:
      return clamp(d, hn::MulAdd(alpha, x, beta), 0.0F, 1.0F);
    case GateFunction::kLeakyRelu:
      return hn::IfThenElse(negative, hn::Mul(alpha, x), x);
    case GateFunction::kScaledTanh:
      return hn::Mul(alpha, tanh_f32(d, hn::Mul(beta, x)));
    case GateFunction::kSoftplus:
      return softplus_f32(d, x);
    case GateFunction::kSoftsign:
      return hn::Div(x, hn::Add(one, hn::Abs(x)));
    case GateFunction::kThresholdedRelu:
      return hn::IfThenElse(hn::Lt(x, alpha), hn::Zero(d), x);
    default:
      return relu_f32(d, x);
  }
}

/// Returns the activation of `x`, which is first limited to the clip.
HWY_INLINE FloatVec gate(FloatTag d, const GateActivation& activation, float clip, FloatVec x) {
  if (std::isfinite(clip)) x = clamp(d, x, -clip, clip);
  if (activation.function == GateFunction::kSigmoid) return sigmoid_f32(d, x);
  if (activation.function == GateFunction::kTanh) return tanh_f32(d, x);
  return other_gate(d, activation, x);
}

HWY_INLINE FloatVec load_weights(FloatTag d, const float* w) { return hn::LoadU(d, w); }
HWY_INLINE FloatVec load_weights(FloatTag d, const std::int8_t* w) {
  const hn::RebindToSigned<FloatTag> wide;
  return hn::ConvertTo(d, hn::PromoteTo(wide, hn::LoadU(hn::Rebind<std::int8_t, FloatTag>(), w)));
}
/// An element of a row, in units of the weights.
HWY_INLINE FloatVec factor(FloatTag d, float x, const float*, float) { return hn::Set(d, x); }
HWY_INLINE FloatVec factor(FloatTag d, float x, const std::int8_t*, float unit) {
  return hn::Set(d, x * unit);
}

/// Adds to sums[i][g] row i of `x` times gate g of a block of weights, which has `kAll` gates. Sums
/// of the last gate go to sums[i][kLast].
template <std::size_t R, std::size_t kAll, std::size_t kGates, std::size_t kLast, std::size_t S,
          class W>
HWY_INLINE void add_products(const RecurrentRows& x, std::size_t row, const W* HWY_RESTRICT w,
                             float unit, FloatVec (&sums)[R][S]) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto depth = static_cast<std::size_t>(x.depth);
  const auto stride = static_cast<std::size_t>(x.stride);
  const float* HWY_RESTRICT from = x.at + row * stride;
  FloatVec odd[kGates];  // a second chain hides the latency of additions
  if constexpr (R == 1) {
    PX_UNROLL for (std::size_t g = 0; g < kGates; ++g) odd[g] = hn::Zero(d);
  }
  std::size_t k = 0;
  if constexpr (R == 1) {
    for (; k + 2 <= depth; k += 2) {
      const auto a = factor(d, from[k], w, unit), b = factor(d, from[k + 1], w, unit);
      PX_UNROLL for (std::size_t g = 0; g < kGates; ++g) {
        FloatVec& sum = sums[0][g + 1 == kGates ? kLast : g];
        sum = hn::MulAdd(a, load_weights(d, w + g * lanes), sum);
        odd[g] = hn::MulAdd(b, load_weights(d, w + (kAll + g) * lanes), odd[g]);
      }
      w += 2 * kAll * lanes;
    }
  }
  for (; k < depth; ++k, w += kAll * lanes) {
    FloatVec weights[kGates];
    PX_UNROLL for (std::size_t g = 0; g < kGates; ++g) weights[g] = load_weights(d, w + g * lanes);
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const auto a = factor(d, from[i * stride + k], w, unit);
      PX_UNROLL for (std::size_t g = 0; g < kGates; ++g) {
        FloatVec& sum = sums[i][g + 1 == kGates ? kLast : g];
        sum = hn::MulAdd(a, weights[g], sum);
      }
    }
  }
  if constexpr (R == 1) {
    PX_UNROLL for (std::size_t g = 0; g < kGates; ++g) {
      FloatVec& sum = sums[0][g + 1 == kGates ? kLast : g];
      sum = hn::Add(sum, odd[g]);
    }
  }
}

/// sums = X W + bias, of block `block`: as computed before, or here.
template <class W, std::size_t R, std::size_t kGates, std::size_t S>
HWY_INLINE void start_sums(const RecurrentStep& s, std::size_t row, std::size_t block,
                           FloatVec (&sums)[R][S]) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), at = block * kGates * lanes;
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    const float* from =
        s.products == nullptr
            ? s.bias + at
            : s.products + (row + i) * static_cast<std::size_t>(s.products_stride) + at;
    PX_UNROLL for (std::size_t g = 0; g < kGates; ++g) sums[i][g] = hn::LoadU(d, from + g * lanes);
  }
  if (s.products == nullptr) {
    const auto depth = static_cast<std::size_t>(s.x.depth);
    add_products<R, kGates, kGates, kGates - 1>(
        s.x, row, static_cast<const W*>(s.w.at) + at * depth, s.w.unit, sums);
  }
}

template <class W>
HWY_INLINE const W* state_weights(const RecurrentStep& s, std::size_t block, std::size_t gates) {
  return static_cast<const W*>(s.r.at) +
         block * gates * hn::Lanes(FloatTag()) * static_cast<std::size_t>(s.hidden);
}

template <class W, std::size_t R>
HWY_INLINE void lstm_block(const RecurrentStep& s, std::size_t row, std::size_t block) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), at = block * lanes;
  const float clip = s.spec->clip, limit = s.spec->cell_clip;
  const GateActivation* const a = s.activations;
  FloatVec sums[R][4];
  start_sums<W, R, 4>(s, row, block, sums);
  add_products<R, 4, 4, 3>(s.h, row, state_weights<W>(s, block, 4), s.r.unit, sums);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    const std::size_t place = (row + i) * static_cast<std::size_t>(s.h.stride) + at;
    const auto before = hn::LoadU(d, s.c + place);
    const auto peep = [&](std::size_t gate_index, FloatVec cell, FloatVec sum) HWY_ATTR {
      if (s.peepholes == nullptr) return sum;
      return hn::MulAdd(hn::LoadU(d, s.peepholes + (block * 3 + gate_index) * lanes), cell, sum);
    };
    const auto in = gate(d, a[0], clip, peep(0, before, sums[i][0]));
    const auto forget = s.spec->input_forget ? hn::Sub(hn::Set(d, 1.0F), in)
                                             : gate(d, a[0], clip, peep(2, before, sums[i][2]));
    const auto candidate = gate(d, a[1], clip, sums[i][3]);
    auto cell = hn::MulAdd(forget, before, hn::Mul(in, candidate));
    if (std::isfinite(limit)) cell = clamp(d, cell, -limit, limit);
    const auto out = gate(d, a[0], clip, peep(1, cell, sums[i][1]));
    hn::StoreU(cell, d, s.c + place);
    hn::StoreU(hn::Mul(out, gate(d, a[2], clip, cell)), d, s.next + place);
  }
}

/// Returns the state after a step of GRU: (1 - z) candidate + z before.
HWY_INLINE FloatVec updated(FloatTag d, FloatVec z, FloatVec candidate, FloatVec before) {
  return hn::MulAdd(z, before, hn::Mul(hn::Sub(hn::Set(d, 1.0F), z), candidate));
}

template <std::size_t R>
HWY_INLINE void gru_linear_block(const RecurrentStep& s, std::size_t row, std::size_t block) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), at = block * lanes;
  const float clip = s.spec->clip;
  FloatVec sums[R][4];
  start_sums<float, R, 3>(s, row, block, sums);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) sums[i][3] = hn::LoadU(d, s.candidate_bias + at);
  add_products<R, 3, 3, 3>(s.h, row, state_weights<float>(s, block, 3), 1, sums);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    const std::size_t place = (row + i) * static_cast<std::size_t>(s.h.stride) + at;
    const auto z = gate(d, s.activations[0], clip, sums[i][0]);
    const auto reset = gate(d, s.activations[0], clip, sums[i][1]);
    const auto candidate =
        gate(d, s.activations[1], clip, hn::MulAdd(reset, sums[i][3], sums[i][2]));
    const auto before = hn::LoadU(d, s.h.at + place);
    hn::StoreU(updated(d, z, candidate, before), d, s.next + place);
  }
}

/// Computes a step of GRU without linear_before_reset: all resets come before the products of
/// candidates.
HWY_INLINE void gru_row(const RecurrentStep& s, std::size_t row) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const float clip = s.spec->clip;
  const auto blocks = static_cast<std::size_t>(s.end);
  const float* const h = s.h.at + row * static_cast<std::size_t>(s.h.stride);
  float* const next = s.next + row * static_cast<std::size_t>(s.h.stride);
  float* const z = s.spare;
  float* const candidates = z + blocks * lanes;
  float* const kept = candidates + blocks * lanes;
  for (std::size_t block = 0; block < blocks; ++block) {
    FloatVec sums[1][3];
    start_sums<float, 1, 3>(s, row, block, sums);
    add_products<1, 3, 2, 1>(s.h, row, state_weights<float>(s, block, 3), 1, sums);
    const std::size_t at = block * lanes;
    const auto reset = gate(d, s.activations[0], clip, sums[0][1]);
    hn::StoreU(gate(d, s.activations[0], clip, sums[0][0]), d, z + at);
    hn::StoreU(sums[0][2], d, candidates + at);
    hn::StoreU(hn::Mul(reset, hn::LoadU(d, h + at)), d, kept + at);
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t at = block * lanes;
    FloatVec sums[1][1] = {{hn::LoadU(d, candidates + at)}};
    const float* const weights = state_weights<float>(s, block, 3) + 2 * lanes;
    add_products<1, 3, 1, 0>({kept, 0, s.hidden}, 0, weights, 1, sums);
    const auto candidate = gate(d, s.activations[1], clip, sums[0][0]);
    hn::StoreU(updated(d, hn::LoadU(d, z + at), candidate, hn::LoadU(d, h + at)), d, next + at);
  }
}

template <std::size_t R>
HWY_INLINE void rnn_block(const RecurrentStep& s, std::size_t row, std::size_t block) {
  const FloatTag d;
  const std::size_t at = block * hn::Lanes(d);
  FloatVec sums[R][1];
  start_sums<float, R, 1>(s, row, block, sums);
  add_products<R, 1, 1, 0>(s.h, row, state_weights<float>(s, block, 1), 1, sums);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    const std::size_t place = (row + i) * static_cast<std::size_t>(s.h.stride) + at;
    hn::StoreU(gate(d, s.activations[0], s.spec->clip, sums[i][0]), d, s.next + place);
  }
}

template <std::size_t R>
HWY_INLINE void rows_block(const RecurrentStep& s, std::size_t row, std::size_t block) {
  if (s.r.bytes) return lstm_block<std::int8_t, R>(s, row, block);
  if (s.spec->gates == 4) return lstm_block<float, R>(s, row, block);
  if (s.spec->gates == 3) return gru_linear_block<R>(s, row, block);
  rnn_block<R>(s, row, block);
}

template <class W, std::size_t R, std::size_t kGates>
HWY_INLINE void products_block(const RecurrentProducts& p, std::size_t row, std::size_t block) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), at = block * kGates * lanes;
  FloatVec sums[R][kGates];
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t g = 0; g < kGates; ++g) sums[i][g] =
        hn::LoadU(d, p.bias + at + g * lanes);
  }
  const W* const weights = static_cast<const W*>(p.w.at) + at * static_cast<std::size_t>(p.x.depth);
  add_products<R, kGates, kGates, kGates - 1>(p.x, row, weights, p.w.unit, sums);
  const std::size_t stride = static_cast<std::size_t>(p.blocks) * kGates * lanes;
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t g = 0; g < kGates; ++g)
        hn::StoreU(sums[i][g], d, p.to + (row + i) * stride + at + g * lanes);
  }
}

template <class W, std::size_t kGates>
HWY_INLINE void all_products(const RecurrentProducts& p) {
  const auto rows = static_cast<std::size_t>(p.rows), blocks = static_cast<std::size_t>(p.blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    std::size_t row = 0;
    for (; row + kSequences <= rows; row += kSequences)
      products_block<W, kSequences, kGates>(p, row, block);
    for (; row < rows; ++row) products_block<W, 1, kGates>(p, row, block);
  }
}

void step_rows(const RecurrentStep& s) {
  const auto rows = static_cast<std::size_t>(s.rows);
  if (s.spec->gates == 3 && !s.spec->linear_before_reset) {
    for (std::size_t row = 0; row < rows; ++row) gru_row(s, row);
    return;
  }
  for (auto block = static_cast<std::size_t>(s.begin); block < static_cast<std::size_t>(s.end);
       ++block) {
    std::size_t row = 0;
    for (; row + kSequences <= rows; row += kSequences) rows_block<kSequences>(s, row, block);
    for (; row < rows; ++row) rows_block<1>(s, row, block);
  }
}

void products_of_rows(const RecurrentProducts& p) {
  if (p.w.bytes) return all_products<std::int8_t, 4>(p);
  if (p.gates == 4) return all_products<float, 4>(p);
  if (p.gates == 3) return all_products<float, 3>(p);
  all_products<float, 1>(p);
}

std::int64_t block_lanes() { return static_cast<std::int64_t>(hn::Lanes(FloatTag())); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(step_rows);
HWY_EXPORT(products_of_rows);
HWY_EXPORT(block_lanes);

std::int64_t recurrent_block() { return HWY_DYNAMIC_DISPATCH(block_lanes)(); }
void recurrent_step(const RecurrentStep& step) { HWY_DYNAMIC_DISPATCH(step_rows)(step); }
void recurrent_products(const RecurrentProducts& products) {
  HWY_DYNAMIC_DISPATCH(products_of_rows)(products);
}

}  // namespace parallax
#endif  // HWY_ONCE
