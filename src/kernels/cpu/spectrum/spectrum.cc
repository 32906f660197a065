// DFT and STFT of f32 by fast transforms in double, if lengths, axis and step are known: what
// should cancel out then does, as in the reference. A tile is some of the signals.
#include "ops/spectrum.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "base/saturating.h"
#include "base/status.h"
#include "kernels/cpu/spectrum/fft.h"
#include "kernels/cpu/spectrum/fft_loops.h"
#include "kernels/cpu/tiles.h"
#include "kernels/reference/common.h"
#include "kernels/table_bytes.h"
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

/// Signals that are transformed side by side, up to a length whose scratch stays small.
constexpr std::int64_t kSides = 4, kMostSideElements = std::int64_t{1} << 14;

class Spectrum final : public Kernel {
 public:
  Spectrum(const SpectrumShape& shape, std::int64_t length)
      : s_(shape),
        // Neighbours of a real signal are the parts of one complex element.
        halved_(shape.parts == 1 && !shape.inverse && length % 2 == 0),
        n_(length),
        plan_(halved_ ? length / 2 : length),
        sides_(length <= kMostSideElements ? kSides : 1),
        tiles_(count_tiles(
            shape.signals(),
            (halved_ ? 1 : 2) * length * std::bit_width(static_cast<std::uint64_t>(length)),
            kBlockTileMacs)) {
    if (halved_) roots_ = roots_of_unity(length, length / 2);
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return (2 * numbers() + std::max(plan_.scratch_numbers(), 2 * (plan_.length() + 1))) * sides_ *
           static_cast<std::int64_t>(sizeof(double));
  }
  std::int64_t table_bytes() const override { return plan_.table_bytes() + bytes_of_table(roots_); }
  InputUse input_use(std::size_t i) const override {
    const bool read = i == 0 || (s_.windowed && i == kStftWindow);
    return read ? InputUse::kAligned : InputUse::kNone;
  }
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    auto* const re = reinterpret_cast<double*>(args.scratch.data());
    double* const im = re + numbers() * sides_;
    double* const scratch = im + numbers() * sides_;
    const float* const window = s_.windowed ? args.in<float>(kStftWindow) : nullptr;
    const TileRange range = tile_range(s_.signals(), tiles_, tile);
    for (std::int64_t begin = range.begin; begin < range.end; begin += sides_) {
      const std::int64_t count = std::min(sides_, range.end - begin);
      // Sides without a signal are computed as well.
      if (count < sides_) std::fill_n(re, 2 * numbers() * sides_, 0.0);
      for (std::int64_t i = 0; i < count; ++i)
        load(args.in<float>(0) + first_number(begin + i), window, re + i, im + i);
      const ConstComplexRows spectra = transform(re, im, scratch);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t inner = (begin + i) % s_.inner, frame = (begin + i) / s_.inner;
        store({spectra.re + i, spectra.im + i},
              args.out<float>() + (frame * s_.bins * s_.inner + inner) * s_.bin_parts);
      }
    }
    return {};
  }

 private:
  /// Elements of each signal's `re` and `im`.
  std::int64_t numbers() const { return plan_.length(); }

  std::int64_t first_number(std::int64_t signal) const {
    const std::int64_t inner = signal % s_.inner, frame = signal / s_.inner;
    return frame / s_.middle * s_.from_outer + frame % s_.middle * s_.from_middle +
           inner * s_.from_inner;
  }

  void load(const float* from, const float* window, double* re, double* im) const {
    const auto number = [&](std::int64_t j, std::int64_t part) {
      if (j >= s_.count) return 0.0;
      const auto x = static_cast<double>(from[j * s_.stride + part]);
      return window == nullptr ? x : x * static_cast<double>(window[j]);
    };
    if (halved_) {
      for (std::int64_t j = 0; j < numbers(); ++j) {
        re[j * sides_] = number(2 * j, 0);
        im[j * sides_] = number(2 * j + 1, 0);
      }
      return;
    }
    for (std::int64_t j = 0; j < n_; ++j) {
      re[j * sides_] = number(j, 0);
      im[j * sides_] = s_.parts == 2 ? number(j, 1) : 0;
    }
    if (!s_.to_real) return;
    // The conjugate half; elements that are their own conjugates are real.
    im[0] = 0;
    if (n_ % 2 == 0) im[n_ / 2 * sides_] = 0;
    for (std::int64_t j = n_ / 2 + 1; j < n_; ++j) {
      re[j * sides_] = re[(n_ - j) * sides_];
      im[j * sides_] = -im[(n_ - j) * sides_];
    }
  }

  /// Returns the spectra; of real signals of even length the first n / 2 + 1 elements.
  ConstComplexRows transform(double* re, double* im, double* scratch) const {
    if (!s_.inverse) {
      plan_.transform(re, im, scratch, sides_);
      if (!halved_) return {re, im};
      const ComplexRows to{scratch, scratch + (numbers() + 1) * sides_};
      split_real_spectra(numbers(), sides_, roots_.data(), {re, im}, to);
      return {to.re, to.im};
    }
    plan_.transform(im, re, scratch, sides_);
    const double scale = 1 / static_cast<double>(n_);
    for (std::int64_t j = 0; j < 2 * n_ * sides_; ++j) re[j] *= scale;
    return {re, im};
  }

  void store(ConstComplexRows x, float* to) const {
    const std::int64_t known = halved_ ? std::min(numbers() + 1, s_.bins) : s_.bins;
    const std::int64_t step = s_.inner * s_.bin_parts;
    for (std::int64_t k = 0; k < known; ++k, to += step) {
      to[0] = static_cast<float>(x.re[k * sides_]);
      if (s_.bin_parts == 2) to[1] = static_cast<float>(x.im[k * sides_]);
    }
    // The conjugates of the others.
    for (std::int64_t k = known; k < s_.bins; ++k, to += step) {
      to[0] = static_cast<float>(x.re[(n_ - k) * sides_]);
      if (s_.bin_parts == 2) to[1] = static_cast<float>(-x.im[(n_ - k) * sides_]);
    }
  }

  SpectrumShape s_;
  bool halved_;
  std::int64_t n_;
  FftPlan plan_;
  std::vector<double> roots_;  ///< if real signals have an even length
  std::int64_t sides_, tiles_;
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
