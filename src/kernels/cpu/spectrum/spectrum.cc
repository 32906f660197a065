// DFT and STFT of f32 by fast transforms in double, if lengths, axis and step are known: what
// should cancel out then does, as in the reference. A tile is some of the signals.
#include "ops/spectrum.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/saturating.h"
#include "base/status.h"
#include "kernels/cpu/spectrum/fft.h"
#include "kernels/cpu/tiles.h"
#include "kernels/reference/common.h"
#include "ops/params/spectrum.h"

namespace parallax {
namespace {

/// Layout of the signals, counted in numbers, and the kind of the transform.
struct SpectrumShape {
  std::int64_t outer = 0, middle = 1, inner = 1;  ///< signals: frames, or neighbours in memory
  std::int64_t count = 0;                         ///< elements of a signal that are read
  std::int64_t parts = 1, stride = 1;             ///< numbers of an element, from one to the next
  std::int64_t from_outer = 0, from_middle = 0, from_inner = 0;
  std::int64_t bins = 0, bin_parts = 2;  ///< elements of a result, and numbers of each
  bool inverse = false, to_real = false;
  bool windowed = false;

  std::int64_t signals() const { return outer * middle * inner; }
};

class Spectrum final : public Kernel {
 public:
  Spectrum(const SpectrumShape& shape, std::int64_t length)
      : s_(shape),
        plan_(length),
        tiles_(count_tiles(shape.signals(),
                           4 * length * std::bit_width(static_cast<std::uint64_t>(length)),
                           kBlockTileMacs)) {}

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return (2 * plan_.length() + plan_.scratch_numbers()) *
           static_cast<std::int64_t>(sizeof(double));
  }
  std::int64_t table_bytes() const override { return plan_.table_bytes(); }
  InputUse input_use(std::size_t i) const override {
    const bool read = i == 0 || (s_.windowed && i == kStftWindow);
    return read ? InputUse::kAligned : InputUse::kNone;
  }
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    auto* const re = reinterpret_cast<double*>(args.scratch.data());
    double* const im = re + plan_.length();
    const float* const window = s_.windowed ? args.in<float>(kStftWindow) : nullptr;
    const TileRange range = tile_range(s_.signals(), tiles_, tile);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const std::int64_t inner = i % s_.inner, frame = i / s_.inner;
      load(args.in<float>(0) + frame / s_.middle * s_.from_outer +
               frame % s_.middle * s_.from_middle + inner * s_.from_inner,
           window, re, im);
      transform(re, im, im + plan_.length());
      store(re, im, args.out<float>() + (frame * s_.bins * s_.inner + inner) * s_.bin_parts);
    }
    return {};
  }

 private:
  void load(const float* from, const float* window, double* re, double* im) const {
    const std::int64_t n = plan_.length();
    for (std::int64_t j = 0; j < s_.count; ++j) {
      const float* const element = from + j * s_.stride;
      const auto weight = window == nullptr ? 1.0 : static_cast<double>(window[j]);
      re[j] = static_cast<double>(element[0]) * weight;
      im[j] = s_.parts == 2 ? static_cast<double>(element[1]) * weight : 0;
    }
    std::fill(re + s_.count, re + n, 0.0);
    std::fill(im + s_.count, im + n, 0.0);
    if (!s_.to_real) return;
    // The conjugate half; elements that are their own conjugates are real.
    im[0] = 0;
    if (n % 2 == 0) im[n / 2] = 0;
    for (std::int64_t j = n / 2 + 1; j < n; ++j) {
      re[j] = re[n - j];
      im[j] = -im[n - j];
    }
  }
  void transform(double* re, double* im, double* scratch) const {
    if (!s_.inverse) return plan_.transform(re, im, scratch);
    plan_.transform(im, re, scratch);
    const double scale = 1 / static_cast<double>(plan_.length());
    for (std::int64_t j = 0; j < 2 * plan_.length(); ++j) re[j] *= scale;
  }
  void store(const double* re, const double* im, float* to) const {
    for (std::int64_t k = 0; k < s_.bins; ++k, to += s_.inner * s_.bin_parts) {
      to[0] = static_cast<float>(re[k]);
      if (s_.bin_parts == 2) to[1] = static_cast<float>(im[k]);
    }
  }

  SpectrumShape s_;
  FftPlan plan_;
  std::int64_t tiles_;
};

/// Returns input i, a number: `fallback` if it is left out, nullopt if it is not known at plan
/// time.
std::optional<std::int64_t> known_number(const KernelRequest& request, std::size_t i,
                                         std::int64_t fallback) {
  if (!request.has(i)) return fallback;
  const TensorDesc& input = request.inputs[i];
  if (input.data == nullptr || input.elements() != 1) return std::nullopt;
  return load_index(input.data, input.dtype, 0);
}

bool transforms(const KernelRequest& request, std::optional<std::int64_t> length) {
  return length && *length >= 1 && *length <= kMaxTransform && request.inputs[0].elements() > 0 &&
         request.outputs[0].elements() > 0;
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_dft(const KernelRequest& request) {
  const Dims& in = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  const auto stated = known_number(request, kDftAxis, -2);
  if (!stated) return not_covered();
  const int axis = positive_axis(*stated, in.rank());
  if (axis < 0 || axis >= in.rank() - 1) return not_covered();
  SpectrumShape s;
  const auto params = params_of<DftParams>(request.node);
  s.inverse = params.inverse;
  s.to_real = params.to_real();
  const auto length = known_number(request, kDftLength, s.to_real ? 2 * (in[axis] - 1) : in[axis]);
  if (!transforms(request, length)) return not_covered();
  s.outer = count_of(in, 0, axis);
  s.inner = count_of(in, axis + 1, in.rank() - 1);
  s.parts = in[in.rank() - 1];
  s.stride = s.inner * s.parts;
  s.count = std::min(in[axis], s.to_real ? *length / 2 + 1 : *length);
  s.from_outer = in[axis] * s.stride;
  s.from_inner = s.parts;
  s.bins = out[axis];
  s.bin_parts = out[out.rank() - 1];
  return std::make_unique<Spectrum>(s, *length);
}

Result<std::unique_ptr<Kernel>> cpu_stft(const KernelRequest& request) {
  const Dims& in = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  SpectrumShape s;
  s.windowed = request.has(kStftWindow);
  const std::int64_t fallback = s.windowed ? request.inputs[kStftWindow].elements() : in[1];
  const auto step = known_number(request, kStftStep, 1);
  const auto length = known_number(request, kStftLength, fallback);
  if (!step || !transforms(request, length)) return not_covered();
  s.outer = in[0];
  s.middle = out[1];
  s.count = *length;
  s.parts = s.stride = in[2];
  s.from_outer = in[1] * in[2];
  s.from_middle = *step * in[2];
  s.bins = out[2];
  return std::make_unique<Spectrum>(s, *length);
}

}  // namespace parallax
