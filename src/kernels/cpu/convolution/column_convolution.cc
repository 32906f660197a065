#include "kernels/cpu/convolution/column_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/column_loops.h"
#include "kernels/cpu/convolution/window_convolution.h"
#include "kernels/cpu/gemm/bf16_matrix.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
/// Elements of the matrix that is multiplied at once (144 KiB), and its rows.
constexpr std::int64_t kBlockElements = 36864, kMostRows = 144, kFewestRows = 12, kRowGranule = 6;
/// The same of filters too large for that (768 KiB), whose weights would be read too often else.
constexpr std::int64_t kDeepElements = 196608, kMostDeepRows = 48;
/// Weights of at most kCachedElements stay in the second-level cache: a small node's tiles may then
/// have few rows.
constexpr std::int64_t kCachedElements = 65536, kFewestCachedRows = 36;
/// Rows of the weights that are used at once: two such blocks of a panel fit a second-level cache.
constexpr std::int64_t kDepth = 768;
/// Multiply-accumulates of a tile. At most kMostMacs where copying would be done for each group of
/// panels, about 200 microseconds of an AVX-512 core; at least kFewestMacs, about 50.
constexpr std::int64_t kMostMacs = 12000000, kFewestMacs = 2000000;
/// Products of bf16 do twice as many in that time.
constexpr std::int64_t kBf16Speed = 2;

bool pixels_are_rows(const ConvolutionShape& s) {
  using Pair = std::array<std::int64_t, 2>;
  return s.kernel == Pair{1, 1} && s.stride == Pair{1, 1} && s.in == s.out &&
         s.pad_begin == Pair{0, 0};
}

/// Tiles of the node: runs of output pixels times groups of panels.
struct ColumnCut {
  std::int64_t pixels = 0, runs = 0, groups = 0;
  std::int64_t block_rows = 0;  ///< pixels of a run that are multiplied at once

  /// `copied`: into rows of scratch, by each group of panels.
  ColumnCut(const ConvolutionShape& shape, const PackedMatrix& weights, bool copied,
            std::int64_t speed) {
    pixels = shape.batch * shape.out[0] * shape.out[1];
    block_rows = std::clamp(kBlockElements / weights.depth / kRowGranule * kRowGranule, kFewestRows,
                            kMostRows);
    if (weights.depth * kFewestRows > kBlockElements)
      block_rows = std::clamp<std::int64_t>(kDeepElements / weights.depth, 1, kMostDeepRows);
    const std::int64_t pixel_macs = weights.depth * weights.columns;
    runs = tile_count(pixels, std::max(kFewestMacs * speed / pixel_macs, block_rows));
    const std::int64_t wanted = count_tiles(pixels, pixel_macs, kFewestMacs * speed);
    if (pixel_macs <= kCachedElements)
      runs = std::max(runs, std::min(wanted, tile_count(pixels, kFewestCachedRows)));
    const double macs =
        static_cast<double>(tile_count(pixels, runs)) * static_cast<double>(pixel_macs);
    const double most = static_cast<double>(speed * (copied ? kMostMacs : 2 * kFewestMacs));
    groups = static_cast<std::int64_t>(macs / most);
    if (!copied) groups = std::max(groups, wanted / runs);
    groups = std::clamp(groups, std::int64_t{1}, weights.panels());
  }
};

class ColumnConvolution final : public Kernel {
 public:
  /// `bf16`: the weights of `weights` in that precision.
  ColumnConvolution(const ConvolutionShape& shape, PackedMatrix weights,
                    std::optional<Bf16Matrix> bf16, const Unary& activation)
      : shape_(shape),
        in_place_(pixels_are_rows(shape)),
        weights_(std::move(weights)),
        bf16_(std::move(bf16)),
        activation_(activation),
        cut_(shape, weights_, !in_place_ || bf16_, bf16_ ? kBf16Speed : 1) {}

  std::int64_t tiles() const override { return cut_.runs * cut_.groups; }
  std::int64_t scratch_bytes() const override {
    // Rows are rounded where they were copied to.
    if (in_place_)
      return bf16_ ? cut_.block_rows * bf16_->pairs() * static_cast<std::int64_t>(sizeof(Bf16Pair))
                   : 0;
    return (cut_.block_rows * weights_.depth + static_cast<std::int64_t>(kColumnSlack)) * kFloat;
  }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto run = tile_range(cut_.pixels, cut_.runs, tile / cut_.groups, kRowGranule);
    const auto panels = tile_range(weights_.panels(), cut_.groups, tile % cut_.groups);
    for (std::int64_t begin = run.begin; begin < run.end; begin += cut_.block_rows) {
      const TileRange pixels{begin, std::min(begin + cut_.block_rows, run.end)};
      const float* rows = args.in<float>(0) + begin * weights_.depth;
      if (!in_place_) {
        auto* const matrix = reinterpret_cast<float*>(args.scratch.data());
        write_matrix(pixels, args.in<float>(0), matrix);
        rows = matrix;
      }
      if (bf16_) {
        multiply_bf16(rows, pixels, panels, args);
        continue;
      }
      for (std::int64_t p = panels.begin; p < panels.end; ++p)
        multiply_panel(rows, pixels, p, p + 1 < panels.end, args);
    }
    return {};
  }

 private:
  /// What output pixels read, cut where a row of the output ends.
  void write_matrix(const TileRange& pixels, const float* images, float* to) const {
    const std::int64_t width = shape_.out[1];
    for (std::int64_t begin = pixels.begin; begin < pixels.end;) {
      const std::int64_t end = std::min(pixels.end, begin / width * width + width);
      write_segment(begin / width, begin % width, end - begin, images,
                    to + (begin - pixels.begin) * weights_.depth);
      begin = end;
    }
  }

  /// `outputs` pixels from column `x` of output row `row`, rows of all images counted. Taps that
  /// lie apart are copied one by one.
  void write_segment(std::int64_t row, std::int64_t x, std::int64_t outputs, const float* images,
                     float* to) const {
    const ConvolutionShape& s = shape_;
    const std::int64_t image = row / s.out[0];
    const std::int64_t top = row % s.out[0] * s.stride[0] - s.pad_begin[0];
    const bool together = taps_lie_together(s);
    ColumnSegment segment;
    segment.row_count = to_size(s.kernel[0]);
    segment.channels = to_size(s.in_channels);
    segment.width = s.in[1];
    segment.first = x * s.stride[1] - s.pad_begin[1];
    segment.step = s.stride[1];
    segment.taps = together ? s.kernel[1] : 1;
    segment.outputs = to_size(outputs);
    segment.stride = to_size(weights_.depth);
    for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
      const std::int64_t y = top + i * s.dilation[0];
      if (y < 0 || y >= s.in[0]) continue;
      segment.rows[to_size(i)] = images + (image * s.in[0] + y) * s.in[1] * s.in_channels;
    }
    if (together) return write_columns(segment, to);
    // Output after output: the end of one may spill into the beginning of the next.
    segment.outputs = 1;
    for (std::int64_t output = 0; output < outputs; ++output) {
      segment.first = (x + output) * s.stride[1] - s.pad_begin[1];
      for (std::int64_t tap = 0; tap < s.kernel[1]; ++tap) {
        write_columns(segment, to);
        to += s.kernel[0] * s.in_channels;
        segment.first += s.dilation[1];
      }
    }
  }

  void multiply_bf16(const float* rows, const TileRange& pixels, const TileRange& panels,
                     const KernelArgs& args) const {
    auto* const pairs = reinterpret_cast<Bf16Pair*>(args.scratch.data());
    const std::size_t depth = to_size(weights_.depth);
    const Bf16Rows a{pairs,
                     pixels.end - pixels.begin,
                     args.out<float>() + pixels.begin * weights_.columns,
                     args.inputs.size() > 2 ? args.in<float>(2) : nullptr,
                     activation_,
                     tile_count(bf16_->pairs(), kDepth)};
    round_to_bf16(rows, depth, to_size(a.rows), depth, pairs, to_size(bf16_->pairs()));
    for (std::int64_t p = panels.begin; p < panels.end; ++p)
      multiply(a, *bf16_, p, p + 1 < panels.end);
  }

  void multiply_panel(const float* rows, const TileRange& pixels, std::int64_t p, bool more,
                      const KernelArgs& args) const {
    const PackedMatrix& b = weights_;
    const float* bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    const std::int64_t depth_blocks = tile_count(b.depth, kDepth);
    MatMulPanel panel;
    panel.lda = to_size(b.depth);
    panel.ldb = to_size(b.stride(p));
    panel.ldc = to_size(b.columns);
    panel.c = args.out<float>() + pixels.begin * b.columns + b.column(p);
    panel.rows = to_size(pixels.end - pixels.begin);
    panel.columns = to_size(b.width(p));
    panel.bias = bias == nullptr ? nullptr : bias + b.column(p);
    for (std::int64_t block = 0; block < depth_blocks; ++block) {
      const auto k = tile_range(b.depth, depth_blocks, block, 4);
      panel.a = rows + k.begin;
      panel.b = b.row(p, k.begin);
      panel.depth = to_size(k.end - k.begin);
      panel.accumulate = block > 0;
      panel.relu = activation_ == UnaryFunction::kRelu && block + 1 == depth_blocks;
      panel.next_b = block + 1 < depth_blocks ? b.row(p, k.end) : more ? b.row(p + 1, 0) : nullptr;
      matmul_panel(panel);
    }
    if (activation_ == UnaryFunction::kNone || activation_ == UnaryFunction::kRelu) return;
    if (panel.columns == panel.ldc) {
      apply_unary(activation_, panel.c, panel.c, panel.rows * panel.columns);
    } else {
      apply_unary_rows(activation_, panel.c, panel.ldc, panel.rows, panel.columns);
    }
  }

  ConvolutionShape shape_;
  bool in_place_;
  PackedMatrix weights_;
  std::optional<Bf16Matrix> bf16_;
  Unary activation_;
  ColumnCut cut_;
};

/// Where tap (i, j) of channel c stands in a row of the matrix.
struct RowOrder {
  const ConvolutionShape& shape;

  std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t c) const {
    const bool together = taps_lie_together(shape);
    const std::int64_t tap = together ? i * shape.kernel[1] + j : j * shape.kernel[0] + i;
    return tap * shape.in_channels + c;
  }
};

void pack_panel(const ConvolutionShape& shape, const PackedMatrix& matrix, std::int64_t p,
                const std::byte* source, float* to) {
  const RowOrder order{shape};
  const std::int64_t stride = matrix.stride(p);
  source += matrix.column(p) * matrix.depth * kFloat;
  std::fill_n(to, matrix.depth * stride, 0.0F);
  for (std::int64_t k = 0; k < matrix.width(p); ++k)
    for (std::int64_t c = 0; c < shape.in_channels; ++c)
      for (std::int64_t i = 0; i < shape.kernel[0]; ++i)
        for (std::int64_t j = 0; j < shape.kernel[1]; ++j, source += kFloat)
          std::memcpy(to + order(i, j, c) * stride + k, source, sizeof(float));
}

/// The weights of a convolution as they will be packed.
struct ColumnWeights {
  PackedMatrix matrix;  ///< without bytes
  std::int64_t bytes = 0;
  std::string layout;
  FillPanel fill;
  Unary activation;
};

std::optional<ColumnWeights> column_weights(const KernelRequest& request,
                                            const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  if (!activation || shape.kernel[0] > static_cast<std::int64_t>(kMostFilterRows))
    return std::nullopt;
  const TensorDesc& w = request.inputs[1];
  PackedMatrix matrix;
  matrix.depth = w.elements() / shape.out_channels;
  matrix.columns = shape.out_channels;
  matrix.widths = matmul_widths();
  if (matrix.depth > kDeepElements) return std::nullopt;
  const std::int64_t last = matrix.panels() - 1;
  const auto bytes =
      checked_mul(matrix.depth * (matrix.column(last) + matrix.stride(last)), kFloat);
  if (!bytes) return std::nullopt;
  std::string layout =
      fmt::format("columns {}x{}x{}x{} {} panel {} vector {}", shape.out_channels,
                  shape.in_channels, shape.kernel[0], shape.kernel[1], shape.dilation[1] == 1,
                  matrix.widths.panel, matrix.widths.vector);
  // By value: packing may wait until all kernels of a model are made.
  FillPanel fill = [shape, source = w.data](const PackedMatrix& panels, std::int64_t p, float* to) {
    pack_panel(shape, panels, p, source, to);
  };
  return ColumnWeights{std::move(matrix), *bytes, std::move(layout), std::move(fill), *activation};
}

Result<PackedMatrix> pack_columns(const KernelRequest& request, ColumnWeights weights) {
  PackedMatrix matrix = std::move(weights.matrix);
  const auto pack = [matrix, fill = std::move(weights.fill)](std::byte* to) {
    for (std::int64_t p = 0; p < matrix.panels(); ++p)
      fill(matrix, p, reinterpret_cast<float*>(to) + matrix.column(p) * matrix.depth);
  };
  PX_ASSIGN(matrix.bytes,
            request.packed.get(request.inputs[1].data, weights.layout, weights.bytes, pack));
  return matrix;
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_bf16_columns(const KernelRequest& request,
                                                  const ConvolutionShape& shape) {
  const auto weights = column_weights(request, shape);
  if (!weights) return not_covered();
  PX_ASSIGN(Bf16Matrix bf16,
            pack_bf16(request.inputs[1].data, weights->layout, weights->matrix.depth,
                      weights->matrix.columns, weights->fill, request.packed));
  PackedMatrix panels = bf16.panels;
  return std::make_unique<ColumnConvolution>(shape, std::move(panels), std::move(bf16),
                                             weights->activation);
}

Result<std::unique_ptr<Kernel>> make_windows(const KernelRequest& request,
                                             const ConvolutionShape& shape) {
  const auto weights = column_weights(request, shape);
  if (!weights || pixels_are_rows(shape)) return not_covered();
  PX_ASSIGN(const PackedMatrix matrix, pack_columns(request, *weights));
  return make_window_convolution(shape, matrix, weights->activation);
}

Result<std::unique_ptr<Kernel>> make_columns(const KernelRequest& request,
                                             const ConvolutionShape& shape) {
  const auto weights = column_weights(request, shape);
  if (!weights) return not_covered();
  PX_ASSIGN(PackedMatrix matrix, pack_columns(request, *weights));
  return std::make_unique<ColumnConvolution>(shape, std::move(matrix), std::nullopt,
                                             weights->activation);
}

}  // namespace parallax
