#include "kernels/cpu/convolution/depthwise_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/depthwise_loops.h"
#include "kernels/cpu/convolution/filters.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Multiply-accumulates that take as long as storing a result.
constexpr std::int64_t kStoreMacs = 8;
/// Fewest outputs of a piece of a row.
constexpr std::int64_t kFewestPieceColumns = 16;

class DepthwiseConvolution final : public Kernel {
 public:
  DepthwiseConvolution(const ConvolutionShape& shape, const Unary& activation,
                       std::shared_ptr<const AlignedBytes> weights)
      : shape_(shape), activation_(activation), weights_(std::move(weights)) {
    const std::int64_t rows = shape.batch * shape.out[0];
    const std::int64_t taps = shape.kernel[0] * shape.kernel[1];
    const std::int64_t pixel_macs = shape.in_channels * (taps + kStoreMacs);
    const std::int64_t wanted = count_tiles(rows * shape.out[1], pixel_macs, kDepthwiseTileMacs);
    pieces_ =
        std::clamp<std::int64_t>(shape.out[1] / kFewestPieceColumns, 1, tile_count(wanted, rows));
    runs_ = rows * pieces_;
    tiles_ = count_tiles(runs_, tile_count(shape.out[1], pieces_) * pixel_macs, kDepthwiseTileMacs);
  }

  std::int64_t tiles() const override { return tiles_; }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const auto range = tile_range(runs_, tiles_, tile);
    for (std::int64_t run = range.begin; run < range.end; ++run) {
      const auto columns = tile_range(shape_.out[1], pieces_, run % pieces_);
      const std::int64_t row = run / pieces_;
      float* const out =
          args.out<float>() + (row * shape_.out[1] + columns.begin) * shape_.in_channels;
      run_row(row, columns, out, args);
      const std::int64_t size = (columns.end - columns.begin) * shape_.in_channels;
      if (!is_bounds(activation_)) apply_unary(activation_, out, out, to_size(size));
    }
    return {};
  }

 private:
  /// Computes some columns of row `row` of the output, counted over all images.
  void run_row(std::int64_t row, TileRange columns, float* out, const KernelArgs& args) const {
    DepthwiseRow filter;
    filter.channels = to_size(shape_.in_channels);
    filter.bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    filter.bounds = bounds_of(activation_);
    filter.out = out;
    filter.x =
        args.in<float>(0) + row / shape_.out[0] * shape_.in[0] * shape_.in[1] * shape_.in_channels;
    filter.weights = reinterpret_cast<const float*>(weights_->data());
    choose_depthwise_rows(shape_, row % shape_.out[0], 0, filter);
    filter.first += columns.begin * shape_.stride[1];
    filter.columns = to_size(columns.end - columns.begin);
    depthwise_row(filter);
  }

  ConvolutionShape shape_;
  Unary activation_;
  std::shared_ptr<const AlignedBytes> weights_;  ///< [kernel rows, kernel columns, channels]
  /// Rows are cut into pieces if they are few. Runs are pieces of all rows.
  std::int64_t pieces_ = 1, runs_ = 0, tiles_ = 0;
};

}  // namespace

void choose_depthwise_rows(const ConvolutionShape& s, std::int64_t y, std::int64_t image_row,
                           DepthwiseRow& row) {
  const TileRange taps = s.taps_inside(0, y);
  const std::size_t pixels = to_size(s.in[1]) * row.channels;
  row.row_count = to_size(taps.end - taps.begin);
  row.row_step = to_size(s.dilation[0]) * pixels;
  row.weights_step = to_size(s.kernel[1]) * row.channels;
  row.weights += to_size(taps.begin) * row.weights_step;
  const std::int64_t first = y * s.stride[0] - s.pad_begin[0] + taps.begin * s.dilation[0];
  if (row.row_count > 0) row.x += to_size(first - image_row) * pixels;
  row.taps = to_size(s.kernel[1]);
  row.columns = to_size(s.out[1]);
  row.first = -s.pad_begin[1];
  row.width = s.in[1];
  row.stride = s.stride[1];
  row.dilation = s.dilation[1];
}

Result<std::unique_ptr<Kernel>> make_depthwise_convolution(const KernelRequest& request,
                                                           const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  const std::int64_t channels = shape.in_channels;
  if (!activation || !shape.nhwc || shape.groups != channels || shape.out_channels != channels ||
      channels < static_cast<std::int64_t>(depthwise_fewest_channels()))
    return not_covered();
  const std::int64_t taps = shape.kernel[0] * shape.kernel[1];
  const std::string layout = fmt::format("depthwise {}x{}", taps, channels);
  // Captures by value: packing may wait until all kernels of a model are made.
  const auto pack = [taps, channels, filters = filters_of(request.inputs[1])](std::byte* to) {
    for (std::int64_t t = 0; t < taps; ++t)
      for (std::int64_t c = 0; c < channels; ++c, to += kFloatBytes)
        std::memcpy(to, filters.at(c, 0, t), sizeof(float));
  };
  PX_ASSIGN(auto weights, request.packed.get(request.inputs[1].data, layout,
                                             request.inputs[1].elements() * kFloatBytes, pack,
                                             filters_of(request.inputs[1]).instead()));
  return std::make_unique<DepthwiseConvolution>(shape, *activation, std::move(weights));
}

}  // namespace parallax
