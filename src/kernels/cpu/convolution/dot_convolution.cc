#include "kernels/cpu/convolution/dot_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/dot_loops.h"
#include "kernels/cpu/convolution/filters.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

class DotConvolution final : public Kernel {
 public:
  DotConvolution(const ConvolutionShape& shape, const Unary& activation,
                 std::shared_ptr<const AlignedBytes> weights)
      : shape_(shape), activation_(activation), weights_(std::move(weights)) {
    pixels_ = shape.batch * shape.out[0] * shape.out[1];
    // Outputs whose windows do not reach into the padding of a row.
    const std::int64_t last = shape.in[1] + shape.pad_begin[1] - shape.kernel[1];
    whole_.begin = std::min(tile_count(shape.pad_begin[1], shape.stride[1]), shape.out[1]);
    whole_.end = last < 0 ? 0 : std::min(last / shape.stride[1] + 1, shape.out[1]);
    whole_.end = std::max(whole_.begin, whole_.end);
    tiles_ = count_tiles(pixels_, shape.out_channels * filter_size(), kMinTileMacs / 2);
  }

  std::int64_t tiles() const override { return tiles_; }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const TileRange pixels = tile_range(pixels_, tiles_, tile);
    for (std::int64_t begin = pixels.begin; begin < pixels.end;) {
      const std::int64_t row = begin / shape_.out[1], first = row * shape_.out[1];
      const std::int64_t end = std::min(pixels.end, first + shape_.out[1]);
      run_columns(row, {begin - first, end - first}, args);
      begin = end;
    }
    float* const out = args.out<float>() + pixels.begin * shape_.out_channels;
    if (activation_.f != UnaryFunction::kNone)
      apply_unary(activation_, out, out,
                  to_size((pixels.end - pixels.begin) * shape_.out_channels));
    return {};
  }

 private:
  std::int64_t filter_size() const {
    return shape_.kernel[0] * shape_.kernel[1] * shape_.in_channels;
  }

  /// Computes some outputs of row `at` of the result, counted over all images.
  void run_columns(std::int64_t at, TileRange columns, const KernelArgs& args) const {
    const std::int64_t begin = std::clamp(whole_.begin, columns.begin, columns.end);
    const std::int64_t end = std::clamp(whole_.end, begin, columns.end);
    const std::int64_t taps = shape_.kernel[1];
    for (std::int64_t x = columns.begin; x < begin; ++x)
      run_windows(at, {x, x + 1}, shape_.taps_inside(1, x), args);
    if (begin < end) run_windows(at, {begin, end}, {0, taps}, args);
    for (std::int64_t x = end; x < columns.end; ++x)
      run_windows(at, {x, x + 1}, shape_.taps_inside(1, x), args);
  }

  /// Computes outputs whose windows have columns `taps` of the filter on the image.
  void run_windows(std::int64_t at, TileRange columns, TileRange taps,
                   const KernelArgs& args) const {
    const ConvolutionShape& s = shape_;
    const std::int64_t image = at / s.out[0], y = at % s.out[0], channels = s.in_channels;
    const TileRange rows = s.taps_inside(0, y);
    const std::int64_t top = y * s.stride[0] - s.pad_begin[0] + rows.begin * s.dilation[0];
    const std::int64_t left = columns.begin * s.stride[1] - s.pad_begin[1] + taps.begin;
    DotRow row;
    row.x = args.in<float>(0);
    row.weights = reinterpret_cast<const float*>(weights_->data());
    if (rows.begin < rows.end && taps.begin < taps.end) {
      row.row_count = to_size(rows.end - rows.begin);
      row.x += ((image * s.in[0] + top) * s.in[1] + left) * channels;
      row.weights += (rows.begin * s.kernel[1] + taps.begin) * channels;
    }
    row.row_step = to_size(s.dilation[0] * s.in[1] * channels);
    row.weights_step = to_size(s.kernel[1] * channels);
    row.filter_step = to_size(filter_size());
    row.length = to_size((taps.end - taps.begin) * channels);
    row.filters = to_size(s.out_channels);
    row.columns = to_size(columns.end - columns.begin);
    row.column_step = to_size(s.stride[1] * channels);
    row.bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    row.out = args.out<float>() + (at * s.out[1] + columns.begin) * s.out_channels;
    dot_row(row);
  }

  ConvolutionShape shape_;
  Unary activation_;
  std::shared_ptr<const AlignedBytes>
      weights_;  ///< [filters, kernel rows, kernel columns, channels]
  TileRange whole_{0, 0};
  std::int64_t pixels_ = 0, tiles_ = 0;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_dot_convolution(const KernelRequest& request,
                                                     const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  const std::int64_t filters = shape.out_channels, channels = shape.in_channels;
  const bool together = shape.dilation[1] == 1 || shape.kernel[1] == 1;
  if (!activation || !shape.nhwc || shape.groups != 1 || !together ||
      filters > static_cast<std::int64_t>(kMostDotFilters) ||
      shape.kernel[1] * channels < static_cast<std::int64_t>(dot_lanes()))
    return not_covered();
  const std::int64_t taps = shape.kernel[0] * shape.kernel[1];
  const std::string layout = fmt::format("dots {}x{}x{}", filters, taps, channels);
  // Captures by value: packing may wait until all kernels of a model are made.
  const auto pack = [filters, taps, channels,
                     source = filters_of(request.inputs[1])](std::byte* to) {
    for (std::int64_t m = 0; m < filters; ++m)
      for (std::int64_t t = 0; t < taps; ++t)
        for (std::int64_t c = 0; c < channels; ++c, to += kFloatBytes)
          std::memcpy(to, source.at(m, c, t), sizeof(float));
  };
  PX_ASSIGN(auto weights, request.packed.get(request.inputs[1].data, layout,
                                             request.inputs[1].elements() * kFloatBytes, pack,
                                             filters_of(request.inputs[1]).instead()));
  return std::make_unique<DotConvolution>(shape, *activation, std::move(weights));
}

}  // namespace parallax
