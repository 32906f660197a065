#include "kernels/cpu/convolution/small_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/small_group_loops.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Weights of one vector of filters: with more, products of blocks of them are better.
constexpr std::int64_t kMaxBlockElements = 65536;
/// How filters are assigned to vectors: those of `groups` groups fill one vector, which is a block.
struct SmallGroups {
  std::int64_t filters = 0, channels = 0, taps = 0;  ///< sizes of one group
  std::int64_t lanes = 0, groups = 0, blocks = 0;
  std::int64_t side_taps = 0;  ///< taps of a row that are multiplied with the same inputs

  std::int64_t block_filters() const { return groups * filters; }
  std::int64_t block_elements() const { return taps * channels * lanes; }
};

/// Returns false if a vector does not hold the filters of a group, or cannot be read from a pixel.
bool choose_groups(const ConvolutionShape& s, SmallGroups& g) {
  g.filters = s.out_channels / s.groups;
  g.channels = s.in_channels / s.groups;
  g.taps = s.kernel[0] * s.kernel[1];
  if (s.stride[1] == 1 && s.dilation[1] == 1)
    g.side_taps = s.kernel[1] / kSmallGroupTaps * kSmallGroupTaps;
  g.lanes = static_cast<std::int64_t>(small_group_lanes());
  if (g.filters > g.lanes) return false;
  const auto elements = checked_mul(g.taps, g.channels * g.lanes);
  if (!elements || *elements > kMaxBlockElements) return false;
  g.groups = std::clamp<std::int64_t>(g.lanes / std::max(g.filters, g.channels), 1, s.groups);
  g.blocks = tile_count(s.groups, g.groups);
  return g.groups == 1 || s.in_channels >= g.lanes;
}

/// Packs filters of the source, [filter, channel, kernel row, kernel column], into blocks whose
/// rows are as SmallGroupRow says.
void pack(const ConvolutionShape& s, const SmallGroups& g, const std::byte* source, std::byte* to) {
  std::memset(to, 0, to_size(g.blocks * g.block_elements() * kFloatBytes));
  for (std::int64_t m = 0; m < s.out_channels; ++m) {
    const std::int64_t block = m / g.block_filters(), lane = m % g.block_filters();
    for (std::int64_t c = 0; c < g.channels; ++c)
      for (std::int64_t i = 0; i < s.kernel[0]; ++i)
        for (std::int64_t j = 0; j < s.kernel[1]; ++j, source += kFloatBytes) {
          const std::int64_t begin = j < g.side_taps ? j / kSmallGroupTaps * kSmallGroupTaps : j;
          const std::int64_t together = j < g.side_taps ? kSmallGroupTaps : 1;
          const std::int64_t row =
              (i * s.kernel[1] + begin) * g.channels + c * together + j - begin;
          std::memcpy(to + (block * g.block_elements() + row * g.lanes + lane) * kFloatBytes,
                      source, sizeof(float));
        }
  }
}

class SmallGroupConvolution final : public Kernel {
 public:
  SmallGroupConvolution(const ConvolutionShape& shape, const SmallGroups& groups,
                        const Unary& activation, std::shared_ptr<const AlignedBytes> weights,
                        const Machine& machine)
      : shape_(shape), groups_(groups), activation_(activation), weights_(std::move(weights)) {
    rows_ = shape.batch * shape.out[0];
    const std::int64_t row_macs = shape.out[1] * groups.blocks * groups.block_elements();
    tiles_ = count_tiles(rows_, row_macs, kSmallGroupTileMacs);
    near_ = std::max<std::int64_t>(machine.near_weights() / groups.block_elements(), 1);
    for (std::int64_t l = 0; groups.groups > 1 && l < groups.lanes; ++l)
      lanes_.push_back(static_cast<std::int32_t>(std::min(l / groups.filters, groups.groups - 1) *
                                                 groups.channels));
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t table_bytes() const override {
    return static_cast<std::int64_t>(lanes_.capacity() * sizeof(std::int32_t));
  }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const TileRange rows = tile_range(rows_, tiles_, tile);
    for (std::int64_t block = 0; block < groups_.blocks; block += near_) {
      const std::int64_t end = std::min(block + near_, groups_.blocks);
      for (std::int64_t row = rows.begin; row < rows.end; ++row)
        for (std::int64_t b = block; b < end; ++b) run_row(row, b, args);
    }
    const std::int64_t size = shape_.out[1] * shape_.out_channels;
    float* const out = args.out<float>() + rows.begin * size;
    if (!is_bounds(activation_))
      apply_unary(activation_, out, out, to_size((rows.end - rows.begin) * size));
    return {};
  }

 private:
  /// Computes block `block` of row `at` of the output, counted over all images.
  void run_row(std::int64_t at, std::int64_t block, const KernelArgs& args) const {
    const ConvolutionShape& s = shape_;
    const std::int64_t filter = block * groups_.block_filters(), y = at % s.out[0];
    SmallGroupRow row;
    row.filters = to_size(std::min(groups_.block_filters(), s.out_channels - filter));
    if (args.inputs.size() > 2) row.bias = args.in<float>(2) + filter;
    row.bounds = bounds_of(activation_);
    row.out = args.out<float>() + at * s.out[1] * s.out_channels + filter;
    row.out_step = to_size(s.out_channels);
    row.columns = to_size(s.out[1]);
    // A vector of channels must end inside the pixel.
    const std::int64_t channel = block * groups_.groups * groups_.channels;
    std::int64_t from = channel;
    if (!lanes_.empty()) {
      from = std::min(channel, s.in_channels - groups_.lanes);
      row.lanes = lanes_.data();
      row.shift = static_cast<std::int32_t>(channel - from);
    }
    const TileRange taps = s.taps_inside(0, y);
    const std::int64_t first = y * s.stride[0] - s.pad_begin[0] + taps.begin * s.dilation[0];
    const std::int64_t pixels = s.in[1] * s.in_channels;
    row.row_count = to_size(taps.end - taps.begin);
    row.row_step = to_size(s.dilation[0] * pixels);
    row.x = args.in<float>(0) + from;
    if (row.row_count > 0) row.x += (at / s.out[0] * s.in[0] + first) * pixels;
    row.weights_step = to_size(groups_.channels * s.kernel[1] * groups_.lanes);
    row.weights = reinterpret_cast<const float*>(weights_->data()) +
                  block * groups_.block_elements() +
                  taps.begin * static_cast<std::int64_t>(row.weights_step);
    row.depth = to_size(groups_.channels);
    row.taps = to_size(s.kernel[1]);
    row.side_taps = to_size(groups_.side_taps);
    row.channels = to_size(s.in_channels);
    row.first = -s.pad_begin[1];
    row.width = s.in[1];
    row.stride = s.stride[1];
    row.dilation = s.dilation[1];
    small_group_row(row);
  }

  ConvolutionShape shape_;
  SmallGroups groups_;
  Unary activation_;
  std::shared_ptr<const AlignedBytes> weights_;
  std::vector<std::int32_t> lanes_;  ///< first channel of each lane's group; empty: one group
  std::int64_t rows_ = 0, tiles_ = 0;
  std::int64_t near_ = 1;  ///< blocks that are used for all rows of a tile before others
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_small_groups(const KernelRequest& request,
                                                  const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  SmallGroups groups;
  if (!activation || !shape.nhwc || !choose_groups(shape, groups)) return not_covered();
  const auto elements = checked_mul(groups.blocks, groups.block_elements());
  const auto bytes = elements ? checked_mul(*elements, kFloatBytes) : std::nullopt;
  if (!bytes) return not_covered();
  const std::string layout =
      fmt::format("small groups {}x{}x{}x{}x{} side {} lanes {} of {}", shape.groups,
                  groups.filters, groups.channels, shape.kernel[0], shape.kernel[1],
                  groups.side_taps, groups.block_filters(), groups.lanes);
  // Captures by value: packing may wait until all kernels of a model are made.
  const auto fill = [shape, groups, source = request.inputs[1].data](std::byte* to) {
    pack(shape, groups, source, to);
  };
  PX_ASSIGN(auto weights, request.packed.get(request.inputs[1].data, layout, *bytes, fill));
  return std::make_unique<SmallGroupConvolution>(shape, groups, *activation, std::move(weights),
                                                 *request.machine);
}

}  // namespace parallax
