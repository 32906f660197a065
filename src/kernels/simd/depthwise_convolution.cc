#include "kernels/simd/depthwise_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "kernels/simd/activation.h"
#include "kernels/simd/depthwise_loops.h"
#include "kernels/simd/tiles.h"

namespace parallax {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
/// Multiply-accumulates of a tile, some 30 microseconds of an AVX-512 core.
constexpr std::int64_t kMacsPerTile = 1000000;

class DepthwiseConvolution final : public Kernel {
 public:
  DepthwiseConvolution(const ConvolutionShape& shape, const Unary& activation,
                       std::shared_ptr<const AlignedBytes> weights)
      : shape_(shape), activation_(activation), weights_(std::move(weights)) {
    rows_ = shape.batch * shape.out[0];
    const std::int64_t row_macs =
        shape.out[1] * shape.in_channels * shape.kernel[0] * shape.kernel[1];
    tiles_ = count_tiles(rows_, row_macs, kMacsPerTile);
    // Outputs whose taps are all inside a row of the image.
    const std::int64_t last = shape.in[1] + shape.pad_begin[1] - shape.extent(1);
    inside_.begin = std::min(tile_count(shape.pad_begin[1], shape.stride[1]), shape.out[1]);
    inside_.end = last < 0 ? 0 : std::min(last / shape.stride[1] + 1, shape.out[1]);
    inside_.end = std::max(inside_.begin, inside_.end);
  }

  std::int64_t tiles() const override { return tiles_; }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto range = tile_range(rows_, tiles_, tile);
    const std::int64_t size = shape_.out[1] * shape_.in_channels;
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      float* const out = args.out<float>() + row * size;
      run_row(row, out, args);
      if (activation_ != UnaryFunction::kNone && activation_ != UnaryFunction::kRelu)
        apply_unary(activation_, out, out, to_size(size));
    }
    return {};
  }

 private:
  /// Row `row` of the output, rows of all images counted.
  void run_row(std::int64_t row, float* out, const KernelArgs& args) const {
    const ConvolutionShape& s = shape_;
    DepthwiseRow filter;
    filter.channels = to_size(s.in_channels);
    filter.step = to_size(s.stride[1]) * filter.channels;
    filter.tap_step = to_size(s.dilation[1]) * filter.channels;
    filter.bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    filter.relu = activation_ == UnaryFunction::kRelu;
    const auto* weights = reinterpret_cast<const float*>(weights_->data());
    const std::int64_t top = row % s.out[0] * s.stride[0] - s.pad_begin[0];
    // Rows of the filter that are inside the image.
    const std::int64_t dilation = s.dilation[0];
    const std::int64_t begin = top >= 0 ? 0 : std::min(tile_count(-top, dilation), s.kernel[0]);
    const std::int64_t end = std::clamp(
        tile_count(std::max<std::int64_t>(s.in[0] - top, 0), dilation), begin, s.kernel[0]);
    filter.row_count = to_size(end - begin);
    filter.row_step = to_size(dilation * s.in[1] * s.in_channels);
    filter.weights_step = to_size(s.kernel[1] * s.in_channels);
    filter.weights = weights + begin * s.kernel[1] * s.in_channels;
    filter.x = args.in<float>(0);
    if (begin < end)
      filter.x += (row / s.out[0] * s.in[0] + top + begin * dilation) * s.in[1] * s.in_channels;
    for (std::int64_t x = 0; x < inside_.begin; ++x) run_edge(filter, x, out);
    for (std::int64_t x = inside_.end; x < s.out[1]; ++x) run_edge(filter, x, out);
    run_columns(filter, inside_, {0, s.kernel[1]}, out);
  }

  /// An output some of whose taps are outside the image.
  void run_edge(const DepthwiseRow& filter, std::int64_t x, float* out) const {
    const std::int64_t left = x * shape_.stride[1] - shape_.pad_begin[1];
    const std::int64_t dilation = shape_.dilation[1], taps = shape_.kernel[1];
    TileRange inside;
    inside.begin = left >= 0 ? 0 : std::min(tile_count(-left, dilation), taps);
    inside.end = std::clamp(tile_count(std::max<std::int64_t>(shape_.in[1] - left, 0), dilation),
                            inside.begin, taps);
    run_columns(filter, {x, x + 1}, inside, out);
  }

  void run_columns(DepthwiseRow filter, TileRange columns, TileRange taps, float* out) const {
    if (columns.begin == columns.end) return;
    filter.columns = to_size(columns.end - columns.begin);
    filter.taps = to_size(taps.end - taps.begin);
    filter.out = out + columns.begin * shape_.in_channels;
    if (filter.taps == 0) filter.row_count = 0;
    const std::int64_t first =
        columns.begin * shape_.stride[1] - shape_.pad_begin[1] + taps.begin * shape_.dilation[1];
    if (filter.row_count > 0) {
      filter.x += first * shape_.in_channels;
      filter.weights += taps.begin * shape_.in_channels;
    }
    depthwise_row(filter);
  }

  ConvolutionShape shape_;
  Unary activation_;
  std::shared_ptr<const AlignedBytes> weights_;  ///< [kernel rows, kernel columns, channels]
  std::int64_t rows_ = 0, tiles_ = 0;
  TileRange inside_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_depthwise_convolution(const KernelRequest& request,
                                                           const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  const std::int64_t channels = shape.in_channels;
  if (!activation || !shape.nhwc || shape.groups != channels || shape.out_channels != channels ||
      channels < static_cast<std::int64_t>(depthwise_fewest_channels()))
    return not_covered();
  const std::int64_t taps = shape.kernel[0] * shape.kernel[1];
  const std::string layout = fmt::format("depthwise {}x{}", taps, channels);
  // By value: packing may wait until all kernels of a model are made.
  const auto pack = [taps, channels, source = request.inputs[1].data](std::byte* to) {
    for (std::int64_t t = 0; t < taps; ++t)
      for (std::int64_t c = 0; c < channels; ++c, to += kFloat)
        std::memcpy(to, source + (c * taps + t) * kFloat, sizeof(float));
  };
  PX_ASSIGN(auto weights, request.packed.get(request.inputs[1].data, layout,
                                             request.inputs[1].elements() * kFloat, pack));
  return std::make_unique<DepthwiseConvolution>(shape, *activation, std::move(weights));
}

}  // namespace parallax
