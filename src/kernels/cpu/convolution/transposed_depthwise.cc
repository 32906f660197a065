// Depthwise convolution of images channel by channel: tiles of some channels are transposed to
// NHWC, where the inputs of a filter are aligned vectors, and their results back.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/depthwise_convolution.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Channels of a tile, a cache line of them.
constexpr std::int64_t kChannels = kLineFloats;
/// Fewest taps for which transposing pays.
constexpr std::int64_t kFewestTaps = 25;
/// Most elements of a tile's window and results; larger convolutions are left to other kernels.
constexpr std::int64_t kMaxTurned = std::int64_t{1} << 20;

/// Tiles of the node: some rows of the outputs of kChannels channels of one image.
struct TurnedCut {
  std::int64_t blocks = 1, row_tiles = 1;
  std::int64_t window = 0, results = 0;  ///< elements of a tile
};

TurnedCut cut_turned(const ConvolutionShape& s, const Machine& machine) {
  TurnedCut cut;
  cut.blocks = tile_count(s.in_channels, kChannels);
  const auto window = [&s](std::int64_t rows) {
    return std::min((rows - 1) * s.stride[0] + s.extent(0), s.in[0]) * s.in[1] * kChannels;
  };
  const std::int64_t all = s.batch * cut.blocks * s.out[0];
  const std::int64_t row_macs = s.out[1] * kChannels * s.kernel[0] * s.kernel[1];
  std::int64_t rows =
      std::min(tile_count(all, count_tiles(all, row_macs, kTurnedTileMacs)), s.out[0]);
  while (rows > 1 && window(rows) > machine.turned_window()) rows = (rows + 1) / 2;
  cut.row_tiles = tile_count(s.out[0], rows);
  rows = tile_count(s.out[0], cut.row_tiles);
  cut.window = window(rows);
  cut.results = rows * s.out[1] * kChannels;
  return cut;
}

class TurnedDepthwise final : public Kernel {
 public:
  TurnedDepthwise(const ConvolutionShape& shape, const Unary& activation,
                  std::shared_ptr<const AlignedBytes> weights, const TurnedCut& cut)
      : shape_(shape), activation_(activation), weights_(std::move(weights)), cut_(cut) {}

  std::int64_t tiles() const override { return shape_.batch * cut_.blocks * cut_.row_tiles; }
  std::int64_t scratch_bytes() const override { return (cut_.window + cut_.results) * kFloatBytes; }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const TileRange rows = tile_range(shape_.out[0], cut_.row_tiles, tile % cut_.row_tiles);
    tile /= cut_.row_tiles;
    const std::int64_t block = tile % cut_.blocks, image = tile / cut_.blocks;
    const std::int64_t channels = std::min(kChannels, shape_.in_channels - block * kChannels);
    const std::int64_t channel = image * shape_.in_channels + block * kChannels;
    auto* const window = reinterpret_cast<float*>(args.scratch.data());
    float* const results = window + cut_.window;
    const TileRange read = shape_.rows_read(rows);
    turn_in(read, args.in<float>(0) + channel * shape_.in[0] * shape_.in[1], channels, window);

    std::array<float, kChannels> bias{};
    if (args.inputs.size() > 2)
      std::copy_n(args.in<float>(2) + block * kChannels, channels, bias.begin());
    DepthwiseRow row;
    row.channels = to_size(kChannels);
    row.bias = bias.data();
    row.bounds = bounds_of(activation_);
    for (std::int64_t y = rows.begin; y < rows.end; ++y) {
      row.x = window;
      row.weights = reinterpret_cast<const float*>(weights_->data()) +
                    block * shape_.kernel[0] * shape_.kernel[1] * kChannels;
      row.out = results + (y - rows.begin) * shape_.out[1] * kChannels;
      choose_depthwise_rows(shape_, y, read.begin, row);
      depthwise_row(row);
    }
    const std::int64_t pixels = (rows.end - rows.begin) * shape_.out[1];
    if (!is_bounds(activation_))
      apply_unary(activation_, results, results, to_size(pixels * kChannels));
    TransposeBlock back;
    back.x = reinterpret_cast<const std::byte*>(results);
    back.y = reinterpret_cast<std::byte*>(args.out<float>() +
                                          (channel * shape_.out[0] + rows.begin) * shape_.out[1]);
    back.x_stride = to_size(kChannels);
    back.y_stride = to_size(shape_.out[0] * shape_.out[1]);
    back.rows = to_size(channels);
    back.columns = to_size(pixels);
    transpose_block(back);
    return {};
  }

 private:
  /// Transposes rows `read` of `channels` planes, with zeros for missing channels.
  void turn_in(TileRange read, const float* planes, std::int64_t channels, float* window) const {
    const std::int64_t pixels = (read.end - read.begin) * shape_.in[1];
    if (channels < kChannels) std::fill_n(window, pixels * kChannels, 0.0F);
    TransposeBlock block;
    block.x = reinterpret_cast<const std::byte*>(planes + read.begin * shape_.in[1]);
    block.y = reinterpret_cast<std::byte*>(window);
    block.x_stride = to_size(shape_.in[0] * shape_.in[1]);
    block.y_stride = to_size(kChannels);
    block.rows = to_size(pixels);
    block.columns = to_size(channels);
    transpose_block(block);
  }

  ConvolutionShape shape_;
  Unary activation_;
  std::shared_ptr<const AlignedBytes> weights_;  ///< [block, kernel rows, kernel columns, channel]
  TurnedCut cut_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_transposed_depthwise(const KernelRequest& request,
                                                          const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  const std::int64_t channels = shape.in_channels, taps = shape.kernel[0] * shape.kernel[1];
  if (!activation || shape.nhwc || request.inputs[0].dims.rank() > 4 || taps < kFewestTaps ||
      shape.groups != channels || shape.out_channels != channels || 2 * channels < kChannels)
    return not_covered();
  const TurnedCut cut = cut_turned(shape, *request.machine);
  if (cut.window + cut.results > kMaxTurned) return not_covered();
  const std::string layout = fmt::format("depthwise blocks {}x{}", taps, channels);
  // Captures by value: packing may wait until all kernels of a model are made.
  const auto pack = [=, source = request.inputs[1].data](std::byte* to) {
    std::fill_n(to, cut.blocks * taps * kChannels * kFloatBytes, std::byte{0});
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t t = 0; t < taps; ++t)
        std::memcpy(to + ((c / kChannels * taps + t) * kChannels + c % kChannels) * kFloatBytes,
                    source + (c * taps + t) * kFloatBytes, sizeof(float));
  };
  PX_ASSIGN(auto weights, request.packed.get(request.inputs[1].data, layout,
                                             cut.blocks * taps * kChannels * kFloatBytes, pack));
  return std::make_unique<TurnedDepthwise>(shape, *activation, std::move(weights), cut);
}

}  // namespace parallax
