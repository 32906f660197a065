// LinearAttention: updates the state of each head step by step.
#include "kernels/reference/common.h"
#include "ops/params/attention.h"

namespace parallax {
namespace {

constexpr std::size_t kPastState = 3, kDecay = 4, kBeta = 5;

struct LinearShape {
  std::int64_t batch = 0, steps = 0, heads = 0, group = 1;  ///< `heads` of keys and values
  std::int64_t depth = 0, width = 0;
  std::int64_t decays = 0, betas = 0;  ///< numbers of a step; 0 if there are none
  double scale = 1;
};

LinearShape linear_shape(const KernelRequest& request) {
  const auto params = params_of<LinearAttentionParams>(request.node);
  const Dims& q = request.inputs[0].dims;
  LinearShape s;
  s.batch = q[0];
  s.steps = q[1];
  s.heads = params.kv_heads;
  s.group = params.q_heads / s.heads;
  s.depth = q[2] / (s.heads * s.group);
  s.width = request.inputs[2].dims[2] / s.heads;
  if (request.has(kDecay)) s.decays = request.inputs[kDecay].dims[2];
  if (request.has(kBeta)) s.betas = request.inputs[kBeta].dims[2];
  s.scale = static_cast<double>(params.scale);
  if (s.scale == 0)
    s.scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(s.depth, 1)));
  return s;
}

/// One head of one sequence. `state` [depth, width]; `change` [width].
template <class T>
struct LinearHead {
  const LinearShape& s;
  const KernelArgs& args;
  std::int64_t b, head;
  double *state, *change;

  std::int64_t step_at(std::int64_t t) const { return b * s.steps + t; }
  const T* row(std::size_t input, std::int64_t t, std::int64_t size) const {
    return args.in<T>(input) + (step_at(t) * s.heads + head) * size;
  }
  double decay(std::int64_t t, std::int64_t i) const {
    const bool per_head = s.decays == s.heads;
    const std::int64_t at = step_at(t) * s.decays + (per_head ? head : head * s.depth + i);
    return std::exp(static_cast<double>(args.in<T>(kDecay)[at]));
  }
  void forget(std::int64_t t) {
    for (std::int64_t i = 0; s.decays > 0 && i < s.depth; ++i) {
      const double factor = decay(t, i);
      for (std::int64_t j = 0; j < s.width; ++j) state[i * s.width + j] *= factor;
    }
  }
  /// Computes the value that step `t` adds to the state: v, or by the delta rule beta (v - state
  /// k).
  void find_change(std::int64_t t, const T* k) {
    const T* const v = row(2, t, s.width);
    const std::int64_t rate = step_at(t) * s.betas + (s.betas == 1 ? 0 : head);
    for (std::int64_t j = 0; j < s.width; ++j) {
      change[j] = static_cast<double>(v[j]);
      if (s.betas == 0) continue;
      for (std::int64_t i = 0; i < s.depth; ++i)
        change[j] -= state[i * s.width + j] * static_cast<double>(k[i]);
      change[j] *= static_cast<double>(args.in<T>(kBeta)[rate]);
    }
  }
  void read(std::int64_t t) const {
    for (std::int64_t g = 0; g < s.group; ++g) {
      const std::int64_t q_head = step_at(t) * s.heads * s.group + head * s.group + g;
      for (std::int64_t j = 0; j < s.width; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < s.depth; ++i)
          sum += static_cast<double>(args.in<T>(0)[q_head * s.depth + i]) * state[i * s.width + j];
        args.out<T>()[q_head * s.width + j] = static_cast<T>(s.scale * sum);
      }
    }
  }
  void step(std::int64_t t) {
    if (s.depth > 0 && s.width > 0) {
      const T* const k = row(1, t, s.depth);
      forget(t);
      find_change(t, k);
      for (std::int64_t i = 0; i < s.depth; ++i)
        for (std::int64_t j = 0; j < s.width; ++j)
          state[i * s.width + j] += static_cast<double>(k[i]) * change[j];
    }
    if (args.outputs[0] != nullptr) read(t);
  }
};

template <class T, class S>
void run_linear_head(const LinearShape& s, std::int64_t tile, const KernelArgs& args) {
  const std::int64_t elements = s.depth * s.width;
  auto* const state = reinterpret_cast<double*>(args.scratch.data());
  const bool has_past = kPastState < args.inputs.size() && args.inputs[kPastState] != nullptr;
  for (std::int64_t i = 0; i < elements; ++i)
    state[i] = has_past ? static_cast<double>(args.in<S>(kPastState)[tile * elements + i]) : 0;
  LinearHead<T> head{s, args, tile / s.heads, tile % s.heads, state, state + elements};
  for (std::int64_t t = 0; t < s.steps; ++t) head.step(t);
  if (args.outputs.size() < 2 || args.outputs[1] == nullptr) return;
  for (std::int64_t i = 0; i < elements; ++i)
    args.out<S>(1)[tile * elements + i] = static_cast<S>(state[i]);
}

}  // namespace

/// One tile per head of keys and values of each sequence.
KernelResult reference_linear_attention(const KernelRequest& request) {
  const LinearShape s = linear_shape(request);
  const auto elements = checked_mul(s.depth, s.width);
  const auto numbers = elements ? checked_add(*elements, s.width) : std::nullopt;
  const auto bytes = numbers ? checked_mul(*numbers, sizeof(double)) : std::nullopt;
  const auto tiles = checked_mul(s.batch, s.heads);
  if (!bytes || !tiles) return make_error(ErrorCode::kOutOfMemory, "a state does not fit 63 bits");
  const DType state =
      request.has(kPastState) ? request.inputs[kPastState].dtype : request.inputs[0].dtype;
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_for<kFloatTypes>(state, [&](auto kept) -> KernelResult {
      using S = typename decltype(kept)::type;
      return make_lambda_kernel({.tiles = *tiles, .scratch_bytes = *bytes},
                                [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                  run_linear_head<T, S>(s, tile, args);
                                  return {};
                                });
    });
  });
}

}  // namespace parallax
