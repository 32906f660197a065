// DFT and STFT by their definition: each result is a sum over the signal.
#include "ops/spectrum.h"

#include <numbers>

#include "kernels/reference/common.h"
#include "ops/params/spectrum.h"

namespace parallax {
namespace {

/// Generates e^(i sign 2 pi k j / n) for j = 0, 1, ..: by multiplication, recomputed from the angle
/// periodically, so that rounding errors do not accumulate.
class Turn {
 public:
  Turn(std::int64_t k, std::int64_t n, double sign)
      : k_(n == 0 ? 0 : k % n), n_(n), sign_(sign), step_re_(cos_of(k_)), step_im_(sin_of(k_)) {}
  double re() const { return re_; }
  double im() const { return im_; }
  void next() {
    at_ = at_ >= n_ - k_ ? at_ - (n_ - k_) : at_ + k_;
    if (++count_ % kExactEach == 0) {
      re_ = cos_of(at_);
      im_ = sin_of(at_);
      return;
    }
    const double re = re_ * step_re_ - im_ * step_im_;
    im_ = re_ * step_im_ + im_ * step_re_;
    re_ = re;
  }

 private:
  static constexpr std::int64_t kExactEach = 64;
  double angle(std::int64_t at) const {
    return sign_ * 2 * std::numbers::pi * (static_cast<double>(at) / static_cast<double>(n_));
  }
  double cos_of(std::int64_t at) const { return std::cos(angle(at)); }
  double sin_of(std::int64_t at) const { return std::sin(angle(at)); }

  std::int64_t k_, n_, at_ = 0, count_ = 0;
  double sign_, step_re_, step_im_, re_ = 1, im_ = 0;
};

struct Complex {
  double re = 0, im = 0;
};

/// A signal of `count` elements of `parts` numbers, `stride` numbers apart, zeros behind them, as
/// long as `n`.
template <class T>
struct Signal {
  const T* at = nullptr;
  const T* window = nullptr;  ///< that elements are multiplied with, or null
  std::int64_t stride = 1, count = 0, parts = 1, n = 1;

  Complex element(std::int64_t j) const {
    const auto weight = window == nullptr ? 1.0 : static_cast<double>(window[j]);
    const T* const from = at + j * stride;
    return {static_cast<double>(from[0]) * weight,
            parts == 2 ? static_cast<double>(from[1]) * weight : 0};
  }
  /// Element k of the transform, or of its inverse.
  Complex transformed(std::int64_t k, bool inverse) const {
    Complex sum;
    Turn turn(k, n, inverse ? 1 : -1);
    for (std::int64_t j = 0; j < std::min(count, n); ++j, turn.next()) {
      const Complex x = element(j);
      sum.re += x.re * turn.re() - x.im * turn.im();
      sum.im += x.re * turn.im() + x.im * turn.re();
    }
    const double scale = inverse ? 1 / static_cast<double>(n) : 1;
    return {sum.re * scale, sum.im * scale};
  }
  /// Element k of the real signal of which this is one side.
  double real(std::int64_t k) const {
    double sum = 0;
    Turn turn(k, n, 1);
    for (std::int64_t j = 0; j < std::min(count, n / 2 + 1); ++j, turn.next()) {
      const Complex x = element(j);
      const bool mirrored = j > 0 && 2 * j != n;
      const double both = mirrored ? 2 * (x.re * turn.re() - x.im * turn.im()) : x.re * turn.re();
      sum += both;
    }
    return sum / static_cast<double>(n);
  }
};

/// Element `k` of each signal along an axis; results are `inner` apart.
struct DftShape {
  Dims in, out;
  DType axis_type = DType::kI64, length_type = DType::kI64;
  bool inverse = false, onesided = false;
  bool to_real() const { return inverse && onesided; }
};

/// Returns the axis of the transform as an index of dims; nullopt if the signal has no such axis.
std::optional<int> dft_axis(const DftShape& s, const KernelArgs& args) {
  const bool stated = kDftAxis < args.inputs.size() && args.inputs[kDftAxis] != nullptr;
  std::int64_t axis = stated ? load_index(args.inputs[kDftAxis], s.axis_type, 0) : -2;
  if (axis < 0) axis += s.in.rank();
  if (axis < 0 || axis >= s.in.rank() - 1) return std::nullopt;
  return static_cast<int>(axis);
}

/// Returns the length of the transform, which a one-sided spectrum does not determine.
std::int64_t dft_length(const DftShape& s, int axis, const KernelArgs& args) {
  if (kDftLength < args.inputs.size() && args.inputs[kDftLength] != nullptr)
    return load_index(args.inputs[kDftLength], s.length_type, 0);
  return s.to_real() ? 2 * (s.in[axis] - 1) : s.in[axis];
}

template <class T>
Status run_dft(const DftShape& s, const TileRange& range, const KernelArgs& args) {
  const auto axis = dft_axis(s, args);
  if (!axis) return run_error(ErrorCode::kInvalidInput, "no axis of the signal");
  const std::int64_t n = dft_length(s, *axis, args), bins = s.out[*axis];
  const std::int64_t wanted = s.onesided && !s.inverse ? n / 2 + 1 : n;
  if (n < 1 || wanted != bins) return run_error(ErrorCode::kInvalidInput, "the length has changed");
  const std::int64_t inner = count_of(s.in, *axis + 1, s.in.rank() - 1);
  Signal<T> signal;
  signal.parts = s.in[s.in.rank() - 1];
  signal.stride = inner * signal.parts;
  signal.count = args.inputs[0] == nullptr ? 0 : s.in[*axis];
  signal.n = n;
  for (std::int64_t u = range.begin; u < range.end; ++u) {
    const std::int64_t k = u / inner % bins, outer = u / inner / bins;
    if (signal.count > 0)
      signal.at = args.in<T>(0) + (outer * s.in[*axis] * inner + u % inner) * signal.parts;
    if (s.to_real()) {
      args.out<T>()[u] = static_cast<T>(signal.real(k));
      continue;
    }
    const Complex y = signal.transformed(k, s.inverse);
    args.out<T>()[2 * u] = static_cast<T>(y.re);
    args.out<T>()[2 * u + 1] = static_cast<T>(y.im);
  }
  return {};
}

std::int64_t transform_tiles(std::int64_t units, std::int64_t terms) {
  return tile_count(units,
                    std::max<std::int64_t>(kMacsPerTile / std::max<std::int64_t>(terms, 1), 1));
}

}  // namespace

KernelResult reference_dft(const KernelRequest& request) {
  DftShape s;
  s.in = request.inputs[0].dims;
  s.out = request.outputs[0].dims;
  const auto params = params_of<DftParams>(request.node);
  s.inverse = params.inverse;
  s.onesided = params.onesided;
  if (request.has(kDftLength)) s.length_type = request.inputs[kDftLength].dtype;
  if (request.has(kDftAxis)) s.axis_type = request.inputs[kDftAxis].dtype;
  std::int64_t longest = 1;
  for (const std::int64_t dim : s.in) longest = std::max(longest, dim);
  const std::int64_t units = s.out.elements() == 0 ? 0 : count_of(s.out, 0, s.out.rank() - 1);
  const std::int64_t tiles = transform_tiles(units, longest);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles, .byte_inputs = 1U << kDftLength | 1U << kDftAxis},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                return run_dft<T>(s, tile_range(units, tiles, tile), args);
                              });
  });
}

namespace {

struct StftShape {
  std::int64_t samples = 0, parts = 1, frames = 0, bins = 0;
  std::int64_t length = 0;  ///< samples of a frame according to the inputs' shapes
  DType step_type = DType::kI64, length_type = DType::kI64;
};

template <class T>
Status run_stft(const StftShape& s, const TileRange& range, const KernelArgs& args) {
  const auto given = [&](std::size_t i) {
    return i < args.inputs.size() && args.inputs[i] != nullptr;
  };
  const std::int64_t step = load_index(args.inputs[kStftStep], s.step_type, 0);
  const std::int64_t n =
      given(kStftLength) ? load_index(args.inputs[kStftLength], s.length_type, 0) : s.length;
  const auto last = checked_mul(step, s.frames - 1);
  if (step < 1 || n < 1 || n > s.samples || !last || *last > s.samples - n ||
      (given(kStftWindow) && n != s.length) || s.bins > n)
    return run_error(ErrorCode::kInvalidInput, "frames do not lie within the signal");
  Signal<T> signal;
  signal.window = given(kStftWindow) ? args.in<T>(kStftWindow) : nullptr;
  signal.stride = signal.parts = s.parts;
  signal.count = signal.n = n;
  for (std::int64_t u = range.begin; u < range.end; ++u) {
    const std::int64_t frame = u / s.bins % s.frames, batch = u / s.bins / s.frames;
    signal.at = args.in<T>(0) + (batch * s.samples + frame * step) * s.parts;
    const Complex y = signal.transformed(u % s.bins, false);
    args.out<T>()[2 * u] = static_cast<T>(y.re);
    args.out<T>()[2 * u + 1] = static_cast<T>(y.im);
  }
  return {};
}

}  // namespace

KernelResult reference_stft(const KernelRequest& request) {
  const Dims& in = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  StftShape s{in[1], in[2], out[1], out[2], in[1]};
  if (request.has(kStftWindow)) s.length = request.inputs[kStftWindow].elements();
  s.step_type = request.inputs[kStftStep].dtype;
  if (request.has(kStftLength)) s.length_type = request.inputs[kStftLength].dtype;
  const std::int64_t units = out.elements() / 2;
  const std::int64_t tiles = transform_tiles(units, s.bins);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles, .byte_inputs = 1U << kStftStep | 1U << kStftLength},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                return run_stft<T>(s, tile_range(units, tiles, tile), args);
                              });
  });
}

}  // namespace parallax
