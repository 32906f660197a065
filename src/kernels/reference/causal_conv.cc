// CausalConvWithState: a filter for each channel over what came before.
#include "kernels/reference/common.h"
#include "ops/params/attention.h"

namespace parallax {
namespace {

struct CausalShape {
  std::int64_t batch = 0, channels = 0, length = 0, taps = 1;
  bool silu = false;
};

/// One channel as its filter reads it: `state`, the taps - 1 elements before `x` (null: zeros),
/// then `x`.
template <class T>
struct CausalRow {
  const CausalShape& s;
  const T *x, *state;

  double element(std::int64_t i) const {
    if (i >= s.taps - 1) return static_cast<double>(x[i - (s.taps - 1)]);
    return state == nullptr ? 0 : static_cast<double>(state[i]);
  }
};

template <class T>
void run_causal_row(const CausalShape& s, std::int64_t row, const KernelArgs& args) {
  const auto optional = [&](std::size_t i) {
    return i < args.inputs.size() && args.inputs[i] != nullptr ? args.in<T>(i) : nullptr;
  };
  const std::int64_t channel = row % s.channels, kept = s.taps - 1;
  const T* const past = optional(3);
  const T* const x = optional(0);
  const CausalRow<T> from{s, x == nullptr ? nullptr : x + row * s.length,
                          past == nullptr ? nullptr : past + row * kept};
  const T* const weights = args.in<T>(1) + channel * s.taps;
  const double bias = optional(2) == nullptr ? 0 : static_cast<double>(optional(2)[channel]);
  for (std::int64_t i = 0; args.outputs[0] != nullptr && i < s.length; ++i) {
    double sum = bias;
    for (std::int64_t tap = 0; tap < s.taps; ++tap)
      sum += from.element(i + tap) * static_cast<double>(weights[tap]);
    args.out<T>()[row * s.length + i] = static_cast<T>(s.silu ? sum / (1 + std::exp(-sum)) : sum);
  }
  if (args.outputs.size() < 2 || args.outputs[1] == nullptr) return;
  for (std::int64_t i = 0; i < kept; ++i)
    args.out<T>(1)[row * kept + i] = static_cast<T>(from.element(s.length + i));
}

}  // namespace

KernelResult reference_causal_conv(const KernelRequest& request) {
  const Dims& x = request.inputs[0].dims;
  CausalShape s{x[0], x[1], x[2], request.inputs[1].dims[2]};
  s.silu = params_of<CausalConvParams>(request.node).activation != ConvActivation::kNone;
  const std::int64_t rows = s.batch * s.channels;
  const std::int64_t work = std::max<std::int64_t>(s.length, 1) * s.taps;
  const std::int64_t tiles =
      tile_count(rows, std::max<std::int64_t>(kMacsPerTile / std::max<std::int64_t>(work, 1), 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(rows, tiles, tile);
                                for (std::int64_t row = range.begin; row < range.end; ++row)
                                  run_causal_row<T>(s, row, args);
                                return {};
                              });
  });
}

}  // namespace parallax
