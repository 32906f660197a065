// MelWeightMatrix: triangles over the bins of a transform, evenly spaced on the mel scale.
#include "kernels/reference/common.h"

namespace parallax {
namespace {

struct MelShape {
  std::int64_t bins = 0, bands = 0;
  std::array<DType, 3> counts{};  ///< types of the inputs 0 to 2
};

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// Frequency bins at which the triangular filters begin, peak and end.
struct MelScale {
  double low = 0, step = 0;  ///< in mel
  double length = 0, rate = 1;

  /// Returns the bin of point `i` of the bands + 2 that divide the scale evenly.
  std::int64_t point(std::int64_t i) const {
    const double hertz = hertz_of(low + static_cast<double>(i) * step);
    return saturate<std::int32_t>(std::floor((length + 1) * hertz / rate));
  }
};

/// Returns the weight in bin `j` of the triangle with these three points.
double weight_of(std::int64_t low, std::int64_t center, std::int64_t high, std::int64_t j) {
  if (j >= center && j < high)
    return static_cast<double>(high - j) / static_cast<double>(high - center);
  if (j == center) return 1;
  if (j < low || j > center) return 0;
  return static_cast<double>(j - low) / static_cast<double>(center - low);
}

template <class Edge>
Result<MelScale> mel_scale(const MelShape& s, const KernelArgs& args) {
  const std::int64_t length = load_index(args.inputs[1], s.counts[1], 0);
  const std::int64_t rate = load_index(args.inputs[2], s.counts[2], 0);
  const auto low = static_cast<double>(load_element<Edge>(args.inputs[3], 0));
  const auto high = static_cast<double>(load_element<Edge>(args.inputs[4], 0));
  if (rate < 1 || length < 0) return run_error(ErrorCode::kInvalidInput, "no rate of samples");
  MelScale scale;
  scale.low = mel_of(low);
  scale.step = (mel_of(high) - scale.low) / (static_cast<double>(s.bands) + 2);
  scale.length = static_cast<double>(length);
  scale.rate = static_cast<double>(rate);
  if (!std::isfinite(scale.low) || !std::isfinite(scale.step) || low < 0 || high < low)
    return run_error(ErrorCode::kInvalidInput, "the edges are not a range of frequencies");
  return scale;
}

template <class T, class Edge>
Status run_mel(const MelShape& s, const KernelArgs& args) {
  PX_ASSIGN(const MelScale scale, mel_scale<Edge>(s, args));
  T* const y = args.out<T>();
  for (std::int64_t band = 0; band < s.bands; ++band) {
    const std::int64_t low = scale.point(band), center = scale.point(band + 1);
    const std::int64_t high = scale.point(band + 2);
    for (std::int64_t j = 0; j < s.bins; ++j)
      y[j * s.bands + band] = convert<T>(weight_of(low, center, high, j));
  }
  return {};
}

}  // namespace

KernelResult reference_mel_weight_matrix(const KernelRequest& request) {
  const Dims& out = request.outputs[0].dims;
  MelShape s{out[0], out[1], {}};
  for (std::size_t i = 0; i < s.counts.size(); ++i) s.counts[i] = request.inputs[i].dtype;
  if (request.inputs[4].dtype != request.inputs[3].dtype)
    return make_error(ErrorCode::kInvalidModel, "edges of two types");
  return make_for<kNumericTypes>(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_for<kFloatTypes>(request.inputs[3].dtype, [&](auto edge) -> KernelResult {
      using Edge = typename decltype(edge)::type;
      return make_lambda_kernel(
          {.tiles = out.elements() == 0 ? 0 : 1, .byte_inputs = 0b11111},
          [=](std::int64_t, const KernelArgs& args) { return run_mel<T, Edge>(s, args); });
    });
  });
}

}  // namespace parallax
