#include "kernels/cpu/convolution/window_convolution.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/epilogue.h"
#include "kernels/cpu/gemm/f32_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Fewest outputs of a row, which are multiplied together; with fewer, copying columns is faster.
/// Weights that do not stay in a second-level cache need more: 20x20 outputs of 256x128x3x3 took
/// 1.05 of the time of copied columns, 40x40 of 128x64x3x3 the same.
constexpr std::int64_t kFewestColumns = 8, kFewestStreamedColumns = 24;
/// Fewest outputs of a tile: for each tile weights are read from the second-level cache or memory.
constexpr std::int64_t kFewestWindowPixels = 48;

/// Tiles of the node: rectangles of output pixels of one image times groups of panels.
struct WindowCut {
  std::int64_t row_tiles = 0, column_tiles = 0, groups = 0;
  std::int64_t height = 0, width = 0;  ///< pixels of the largest window
  std::int64_t depth = 0;              ///< rows of the weights that are used in one step
  bool taps_only = false;              ///< windows have no rows between those of the taps
  bool streamed = false;               ///< the weights do not stay in the cache
};

/// Returns the pixels that `outputs` outputs read along an axis.
std::int64_t window_size(const ConvolutionShape& s, int axis, std::int64_t outputs) {
  return (outputs - 1) * s.stride[to_size(axis)] + s.extent(axis);
}

/// Returns the elements that a window of `columns` outputs of a row has without rows between taps.
double taps_elements(const ConvolutionShape& s, std::int64_t columns) {
  return static_cast<double>(s.kernel[0]) * static_cast<double>(window_size(s, 1, columns)) *
         static_cast<double>(s.in_channels);
}

/// Cuts the node into tiles of some `pixels` outputs, each row of which has a window of its own,
/// with the rows of taps only; returns false if weights were read too often, or if windows were
/// larger than the matrix of copied columns. One thread, 256x256x24 to 24 3x3, dilations 16 to 64:
/// 6.0 instead of 8.3 ms.
bool cut_rows_of_taps(const ConvolutionShape& s, const PackedMatrix& weights,
                      const Machine& machine, std::int64_t pixels, WindowCut& cut) {
  std::int64_t columns = s.out[1];
  while (columns > kFewestWindowPixels &&
         taps_elements(s, columns) > static_cast<double>(machine.window()))
    columns = (columns + 1) / 2;
  cut.column_tiles = tile_count(s.out[1], columns);
  columns = tile_count(s.out[1], cut.column_tiles);
  cut.row_tiles = tile_count(s.out[0], std::clamp<std::int64_t>(pixels / columns, 1, s.out[0]));
  cut.taps_only = true;
  return !cut.streamed && taps_elements(s, columns) <= static_cast<double>(columns * weights.depth);
}

/// Returns how the node is cut; nullopt if windows do not suit it. `any_size`: a window may be
/// larger than a cache.
std::optional<WindowCut> cut_windows(const ConvolutionShape& s, const PackedMatrix& weights,
                                     const Machine& machine, bool any_size) {
  WindowCut cut;
  cut.depth = machine.block_depth();
  cut.streamed = weights.depth * weights.columns > machine.kept_weights();
  const std::int64_t pixel_macs = s.groups * weights.depth * weights.columns;
  const auto elements = [&](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(window_size(s, 0, rows)) *
           static_cast<double>(window_size(s, 1, columns)) * static_cast<double>(s.in_channels);
  };
  const auto window = static_cast<double>(machine.window());
  const double fewest = any_size ? elements(1, kFewestColumns) : taps_elements(s, kFewestColumns);
  const bool fits = s.out[1] >= (cut.streamed ? kFewestStreamedColumns : kFewestColumns) &&
                    fewest <= static_cast<double>(machine.most_window());
  if (!fits && (!any_size || fewest > kMaxScratchElements)) return std::nullopt;
  const std::int64_t outputs = s.batch * s.out[0] * s.out[1];
  const std::int64_t pixels = tile_count(outputs, count_tiles(outputs, pixel_macs, kMinTileMacs));
  std::int64_t columns = std::clamp(pixels, std::min(kFewestWindowPixels, s.out[1]), s.out[1]);
  while (columns > kFewestColumns && elements(1, columns) > window)
    columns = std::max(columns / 2, kFewestColumns);
  cut.column_tiles = tile_count(s.out[1], columns);
  columns = tile_count(s.out[1], cut.column_tiles);
  std::int64_t rows = std::clamp<std::int64_t>(
      tile_count(std::max(pixels, kFewestWindowPixels), columns), 1, s.out[0]);
  while (rows > 1 && elements(rows, columns) > window) rows = (rows + 1) / 2;
  cut.row_tiles = tile_count(s.out[0], rows);
  if (s.batch * cut.column_tiles == 1) cut.row_tiles = even_tiles(cut.row_tiles, s.out[0]);
  rows = tile_count(s.out[0], cut.row_tiles);
  // If taps are far apart, most of the pixels between them are copied in vain.
  const bool apart = std::max(s.dilation[0], s.dilation[1]) > 1;
  if (apart && !any_size &&
      elements(rows, columns) > static_cast<double>(rows * columns * weights.depth)) {
    if (!cut_rows_of_taps(s, weights, machine, pixels, cut)) return std::nullopt;
    rows = tile_count(s.out[0], cut.row_tiles);
    columns = tile_count(s.out[1], cut.column_tiles);
  }
  cut.groups = std::clamp<std::int64_t>(rows * columns * pixel_macs / kMaxTileMacs, 1,
                                        s.groups * weights.panels());
  cut.height = cut.taps_only ? s.kernel[0] : window_size(s, 0, rows);
  cut.width = window_size(s, 1, columns);
  return cut;
}

/// Segments of a row of A that are multiplied in one step, from row `begin` of the weights on.
struct DepthBlock {
  std::size_t first = 0, count = 0;
  std::int64_t begin = 0, depth = 0;
};

class WindowConvolution final : public Kernel {
 public:
  WindowConvolution(const ConvolutionShape& shape, PackedMatrix weights, const Unary& activation,
                    const WindowCut& cut, bool by_columns)
      : shape_(shape),
        weights_(std::move(weights)),
        activation_(activation),
        cut_(cut),
        by_columns_(by_columns) {
    skips_taps_ = cut.taps_only && (shape.kernel[1] == 1 || taps_lie_together(shape));
    const auto unpadded = [&shape](int axis) {
      return shape.pad_begin[to_size(axis)] == 0 &&
             window_size(shape, axis, shape.out[to_size(axis)]) <= shape.in[to_size(axis)];
    };
    in_place_ = unpadded(1) && (cut.taps_only ? skips_taps_ : unpadded(0));
    row_step_ = (in_place_ ? shape.in[1] : cut.width) * shape.in_channels;
    add_segments();
  }

  std::int64_t tiles() const override {
    return shape_.batch * cut_.row_tiles * cut_.column_tiles * cut_.groups;
  }
  std::int64_t scratch_bytes() const override {
    return in_place_ ? 0 : cut_.height * row_step_ * kFloatBytes;
  }
  std::int64_t table_bytes() const override {
    return static_cast<std::int64_t>(segments_.capacity() * sizeof(MatMulSegment) +
                                     blocks_.capacity() * sizeof(DepthBlock));
  }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const auto panels =
        tile_range(shape_.groups * weights_.panels(), cut_.groups, tile % cut_.groups);
    tile /= cut_.groups;
    Outputs outputs;
    outputs.columns = tile_range(shape_.out[1], cut_.column_tiles, tile % cut_.column_tiles);
    tile /= cut_.column_tiles;
    outputs.rows = tile_range(shape_.out[0], cut_.row_tiles, tile % cut_.row_tiles);
    outputs.image = tile / cut_.row_tiles;
    const TileRange rows = outputs.rows;
    const std::int64_t step = cut_.taps_only ? 1 : rows.end - rows.begin;
    for (std::int64_t y = rows.begin; y < rows.end; y += step) {
      outputs.rows = {y, y + step};
      outputs.taps = skips_taps_ ? shape_.taps_inside(0, y) : TileRange{0, shape_.kernel[0]};
      const float* const window = window_of(outputs, args);
      for (std::int64_t p = panels.begin; p < panels.end; ++p)
        multiply(outputs, window, p, p + 1 < panels.end, args);
    }
    return {};
  }

 private:
  struct Outputs {
    std::int64_t image = 0;
    TileRange rows, columns;
    TileRange taps;  ///< the rows of taps that are multiplied
  };

  /// Returns the first row of the image that the outputs read; a negative one lies in the padding.
  std::int64_t top(const Outputs& outputs) const {
    return outputs.rows.begin * shape_.stride[0] - shape_.pad_begin[0] +
           outputs.taps.begin * shape_.dilation[0];
  }

  /// Returns the window of the outputs: a place in the image, or a copy in scratch.
  const float* window_of(const Outputs& outputs, const KernelArgs& args) const {
    const float* const image =
        args.in<float>(0) + outputs.image * shape_.in[0] * shape_.in[1] * shape_.in_channels;
    if (outputs.taps.begin == outputs.taps.end) return image;  // not read
    if (in_place_ || lies_inside(outputs)) {
      return image + top(outputs) * row_step_ +
             (outputs.columns.begin * shape_.stride[1] - shape_.pad_begin[1]) * shape_.in_channels;
    }
    auto* const copy = reinterpret_cast<float*>(args.scratch.data());
    copy_window(outputs, image, copy);
    return copy;
  }

  /// Returns true if a tile reads no padding. The step from one row to the next does not matter
  /// then.
  bool lies_inside(const Outputs& outputs) const {
    const std::int64_t first = outputs.columns.begin * shape_.stride[1] - shape_.pad_begin[1];
    const std::int64_t width = window_size(shape_, 1, outputs.columns.end - outputs.columns.begin);
    return shape_.kernel[0] == 1 && shape_.out[0] == 1 && first >= 0 &&
           first + width <= shape_.in[1];
  }

  /// Returns how many rows of a window are from one tap to the next below it.
  std::int64_t tap_step() const { return cut_.taps_only && !in_place_ ? 1 : shape_.dilation[0]; }

  /// Lists the segments of a row of A, and groups them into blocks that are multiplied in one step.
  void add_segments() {
    const bool together = shape_.groups == 1 && !by_columns_ && taps_lie_together(shape_);
    const std::int64_t channels = shape_.in_channels;
    const std::int64_t length = together ? shape_.kernel[1] * channels : channels / shape_.groups;
    const std::int64_t pieces = tile_count(length, cut_.depth);
    std::int64_t k = 0;
    for (std::int64_t j = 0; j < (together ? 1 : shape_.kernel[1]); ++j) {
      for (std::int64_t i = 0; i < shape_.kernel[0]; ++i) {
        const std::int64_t offset = i * tap_step() * row_step_ + j * shape_.dilation[1] * channels;
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
          const auto range = tile_range(length, pieces, piece, 4);
          const std::int64_t depth = range.end - range.begin;
          if (blocks_.empty() || blocks_.back().depth + depth > cut_.depth)
            blocks_.push_back({segments_.size(), 0, k, 0});
          segments_.push_back({static_cast<std::ptrdiff_t>(offset + range.begin), to_size(depth)});
          ++blocks_.back().count;
          blocks_.back().depth += depth;
          k += depth;
        }
      }
    }
  }

  /// Copies the pixels that the outputs read, with zeros outside the image.
  void copy_window(const Outputs& outputs, const float* image, float* to) const {
    const std::int64_t channels = shape_.in_channels;
    const std::int64_t height = cut_.taps_only
                                    ? outputs.taps.end - outputs.taps.begin
                                    : window_size(shape_, 0, outputs.rows.end - outputs.rows.begin);
    const std::int64_t step = cut_.taps_only ? shape_.dilation[0] : 1;
    const std::int64_t width = window_size(shape_, 1, outputs.columns.end - outputs.columns.begin);
    const std::int64_t first = top(outputs);
    const std::int64_t left = outputs.columns.begin * shape_.stride[1] - shape_.pad_begin[1];
    const std::int64_t begin = std::clamp<std::int64_t>(-left, 0, width);
    const std::int64_t end = std::clamp<std::int64_t>(shape_.in[1] - left, begin, width);
    for (std::int64_t y = first; y < first + height * step; y += step, to += row_step_) {
      if (y < 0 || y >= shape_.in[0] || begin == end) {
        std::fill_n(to, width * channels, 0.0F);
        continue;
      }
      std::fill_n(to, begin * channels, 0.0F);
      std::memcpy(to + begin * channels, image + (y * shape_.in[1] + left + begin) * channels,
                  to_size((end - begin) * channels * kFloatBytes));
      std::fill(to + end * channels, to + width * channels, 0.0F);
    }
  }

  /// Returns row `k` of panel `p`, counted over all groups.
  const std::byte* weights_row(std::int64_t p, std::int64_t k) const {
    const std::int64_t panels = weights_.panels();
    return weights_.row(p % panels, k) + p / panels * *weights_.size();
  }

  void multiply(const Outputs& outputs, const float* window, std::int64_t all, bool more,
                const KernelArgs& args) const {
    const PackedMatrix& b = weights_;
    const std::int64_t group = all / b.panels(), p = all % b.panels();
    const std::int64_t filter = group * b.columns + b.column(p);
    const float* bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    MatMulPanel panel;
    panel.lda = to_size(shape_.stride[1] * shape_.in_channels);
    panel.ldb = to_size(b.stride(p));
    panel.ldc = to_size(shape_.out_channels);
    panel.rows = to_size(outputs.columns.end - outputs.columns.begin);
    panel.columns = to_size(b.width(p));
    panel.bias = bias == nullptr ? nullptr : bias + filter;
    const std::int64_t taps = outputs.taps.end - outputs.taps.begin;
    const std::int64_t depth = b.depth / shape_.kernel[0] * taps;
    const std::int64_t start = b.depth / shape_.kernel[0] * outputs.taps.begin;
    const std::size_t count = segments_.size() / to_size(shape_.kernel[0]) * to_size(taps);
    panel.a = window + group * (shape_.in_channels / shape_.groups);
    panel.c = args.out<float>() + filter +
              ((outputs.image * shape_.out[0] + outputs.rows.begin) * shape_.out[1] +
               outputs.columns.begin) *
                  shape_.out_channels;
    PanelSteps rows;
    rows.count = to_size(outputs.rows.end - outputs.rows.begin);
    rows.a = to_size(shape_.stride[0] * row_step_);
    rows.c = to_size(shape_.out[1] * shape_.out_channels);
    for (const DepthBlock& block : blocks_) {
      const bool last = block.begin + block.depth >= depth;
      panel.b = weights_row(all, start + block.begin);
      panel.segments = segments_.data() + block.first;
      panel.segment_count = std::min(block.count, count - block.first);
      panel.depth = to_size(std::min(block.depth, depth - block.begin));
      panel.accumulate = block.begin > 0;
      if (last) begin_epilogue(*b.type, activation_, panel);
      const std::byte* next = !last  ? weights_row(all, block.begin + block.depth)
                              : more ? weights_row(all + 1, 0)
                                     : nullptr;
      panel.next_b = cut_.streamed ? next : nullptr;
      matmul_panels(panel, rows);
      for (std::size_t y = 0; last && y < rows.count; ++y) {
        finish_epilogue(panel, activation_);
        panel.c = static_cast<float*>(panel.c) + rows.c;
      }
      if (last) break;
    }
  }

  ConvolutionShape shape_;
  PackedMatrix weights_;
  Unary activation_;
  WindowCut cut_;
  bool by_columns_ = false;    ///< rows of the weights are by kernel columns first
  bool skips_taps_ = false;    ///< rows of taps outside the image are not multiplied
  bool in_place_ = false;      ///< windows are not copied
  std::int64_t row_step_ = 0;  ///< elements from one row of the window to the next
  std::vector<MatMulSegment> segments_;
  std::vector<DepthBlock> blocks_;
};

}  // namespace

std::unique_ptr<Kernel> make_window_convolution(const ConvolutionShape& shape,
                                                const PackedMatrix& weights,
                                                const Unary& activation, const Machine& machine) {
  const auto cut = cut_windows(shape, weights, machine, false);
  if (!cut) return nullptr;
  return std::make_unique<WindowConvolution>(shape, weights, activation, *cut, false);
}

std::unique_ptr<Kernel> make_grouped_windows(const ConvolutionShape& shape,
                                             const PackedMatrix& weights, const Unary& activation,
                                             const Machine& machine) {
  const auto cut = cut_windows(shape, weights, machine, true);
  if (!cut) return nullptr;
  return std::make_unique<WindowConvolution>(shape, weights, activation, *cut, true);
}

}  // namespace parallax
