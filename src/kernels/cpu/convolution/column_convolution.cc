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
#include "kernels/cpu/convolution/filters.h"
#include "kernels/cpu/convolution/window_convolution.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Rows of the copied columns that are multiplied in one step: the fewest; the most for filters so
/// deep that fewer fit; the fewest for weights that stay in the cache, so that a small node can
/// have small tiles.
constexpr std::int64_t kFewestRows = 12, kMaxDeepRows = 48, kFewestCachedRows = 36;
/// Pixels that are multiplied in the time in which the weights are read.
constexpr std::int64_t kFewPixels = 10;
/// Deepest filter; deeper ones are left to other kernels.
constexpr std::int64_t kMaxDepth = 196608;

bool pixels_are_rows(const ConvolutionShape& s) {
  using Pair = std::array<std::int64_t, 2>;
  return s.kernel == Pair{1, 1} && s.stride == Pair{1, 1} && s.in == s.out &&
         s.pad_begin == Pair{0, 0};
}

/// Tiles of the node: runs of output pixels times groups of panels.
struct ColumnCut {
  std::int64_t pixels = 0, runs = 0, groups = 0;
  std::int64_t block_rows = 0;  ///< pixels of a run that are multiplied in one step
  std::int64_t depth = 0;       ///< steps of the weights that are used in one step

  /// `copied`: each group of panels copies its inputs into rows of scratch.
  ColumnCut(const ConvolutionShape& shape, const PackedMatrix& weights, const Machine& machine,
            bool copied) {
    depth = machine.block_depth();
    const std::int64_t speed = weights.type->elements;
    pixels = shape.batch * shape.out[0] * shape.out[1];
    block_rows = fitting_rows(machine.columns(), weights.depth, kFewestRows);
    if (weights.depth * kFewestRows > machine.columns())
      block_rows = std::clamp<std::int64_t>(machine.most_window() / weights.depth, 1, kMaxDeepRows);
    // Padding of the columns is multiplied as well.
    const auto vector = static_cast<std::int64_t>(weights.widths.vector);
    const std::int64_t pixel_macs = weights.depth * tile_count(weights.columns, vector) * vector;
    runs = tile_count(pixels, std::max(kMinTileMacs * speed / pixel_macs, block_rows));
    const std::int64_t wanted = count_tiles(pixels, pixel_macs, kMinTileMacs * speed);
    if (pixel_macs <= machine.kept_weights())
      runs = std::max(runs, std::min(wanted, tile_count(pixels, kFewestCachedRows)));
    const double macs =
        static_cast<double>(tile_count(pixels, runs)) * static_cast<double>(pixel_macs);
    const double most = static_cast<double>(speed * (copied ? kMaxCopyingTileMacs : kMaxTileMacs));
    groups = static_cast<std::int64_t>(macs / most);
    // Few pixels take as long as reading the weights.
    const std::int64_t rows = std::max(pixels, kFewPixels);
    const std::int64_t parts =
        count_tiles(rows * weights.panels(), pixel_macs / weights.panels(), kMinTileMacs * speed);
    groups = std::max(groups, copied ? copying_groups(parts, runs, weights.columns) : parts / runs);
    groups = std::clamp(groups, std::int64_t{1}, weights.panels());
    if (groups % 2 == 1) runs = even_tiles(runs, tile_count(pixels, kBlockRowGranule));
  }
};

class ColumnConvolution final : public Kernel {
 public:
  ColumnConvolution(const ConvolutionShape& shape, PackedMatrix weights, const Unary& activation,
                    const Machine& machine)
      : shape_(shape),
        in_place_(pixels_are_rows(shape)),
        weights_(std::move(weights)),
        activation_(activation),
        cut_(shape, weights_, machine, !in_place_ || weights_.type->converts()) {}

  std::int64_t tiles() const override { return cut_.runs * cut_.groups; }
  std::int64_t scratch_bytes() const override {
    // Rows are converted in place after they were copied.
    if (in_place_)
      return weights_.type->converts() ? cut_.block_rows * weights_.steps() * kStepBytes : 0;
    return (cut_.block_rows * weights_.depth + static_cast<std::int64_t>(kColumnSlack)) *
           kFloatBytes;
  }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  /// A residual is read where its sum is written; but not if parts of the sum are written before.
  bool overwrites(std::size_t input) const override {
    return input == kConvResidual && weights_.type->finishes && depth_blocks() == 1;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const auto run = tile_range(cut_.pixels, cut_.runs, tile / cut_.groups, kBlockRowGranule);
    const auto panels = tile_range(weights_.panels(), cut_.groups, tile % cut_.groups);
    const float* residual =
        args.inputs.size() > kConvResidual ? args.in<float>(kConvResidual) : nullptr;
    for (std::int64_t begin = run.begin; begin < run.end; begin += cut_.block_rows) {
      const TileRange pixels{begin, std::min(begin + cut_.block_rows, run.end)};
      const float* rows = args.in<float>(0) + begin * weights_.depth;
      if (!in_place_) {
        auto* const matrix = reinterpret_cast<float*>(args.scratch.data());
        write_matrix(pixels, args.in<float>(0), matrix);
        rows = matrix;
      }
      const std::int64_t count = pixels.end - pixels.begin;
      const MatMulRows a{rows_of_steps(weights_, rows, count, args.scratch.data()),
                         count,
                         args.out<float>() + pixels.begin * weights_.columns,
                         args.inputs.size() > 2 ? args.in<float>(2) : nullptr,
                         residual == nullptr ? nullptr : residual + pixels.begin * weights_.columns,
                         activation_,
                         depth_blocks()};
      multiply(a, weights_, panels, false);
    }
    return {};
  }

 private:
  std::int64_t depth_blocks() const { return tile_count(weights_.steps(), cut_.depth); }

  /// Copies the pixels that `pixels` of the output read, segment by segment: a segment ends with
  /// its row of the output.
  void write_matrix(const TileRange& pixels, const float* images, float* to) const {
    const std::int64_t width = shape_.out[1];
    for (std::int64_t begin = pixels.begin; begin < pixels.end;) {
      const std::int64_t end = std::min(pixels.end, begin / width * width + width);
      write_segment(begin / width, begin % width, end - begin, images,
                    to + (begin - pixels.begin) * weights_.depth);
      begin = end;
    }
  }

  /// Copies the inputs of `outputs` pixels from column `x` of output row `row`, rows of all images
  /// counted. Taps that are not adjacent are copied one by one.
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
    // In the order of outputs: the end of one may overwrite the beginning of the next.
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

  ConvolutionShape shape_;
  bool in_place_;
  PackedMatrix weights_;
  Unary activation_;
  ColumnCut cut_;
};

/// The position of tap (i, j) of channel c in a row of the matrix.
struct RowOrder {
  const ConvolutionShape& shape;

  std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t c) const {
    const bool together = taps_lie_together(shape);
    const std::int64_t tap = together ? i * shape.kernel[1] + j : j * shape.kernel[0] + i;
    return tap * shape.in_channels + c;
  }
};

/// Channels whose rows of a panel stay in the first-level cache.
constexpr std::int64_t kRowsTogether = 32;

void pack_panel(const ConvolutionShape& shape, const PackedMatrix& matrix, std::int64_t p,
                const Filters& filters, float* to) {
  const RowOrder order{shape};
  const std::int64_t stride = matrix.stride(p), first = matrix.column(p), width = matrix.width(p);
  std::fill_n(to, matrix.depth * stride, 0.0F);
  const auto copy = [&](std::int64_t k, std::int64_t c, std::int64_t i, std::int64_t j) {
    std::memcpy(to + order(i, j, c) * stride + k, filters.at(first + k, c, i * shape.kernel[1] + j),
                sizeof(float));
  };
  const auto for_taps = [&shape](const auto& body) {
    for (std::int64_t i = 0; i < shape.kernel[0]; ++i)
      for (std::int64_t j = 0; j < shape.kernel[1]; ++j) body(i, j);
  };
  // In the order in which the elements lie.
  if (filters.tap < filters.channel) {
    for (std::int64_t k = 0; k < width; ++k)
      for (std::int64_t c = 0; c < shape.in_channels; ++c)
        for_taps([&](std::int64_t i, std::int64_t j) { copy(k, c, i, j); });
    return;
  }
  for (std::int64_t begin = 0; begin < shape.in_channels; begin += kRowsTogether) {
    const std::int64_t end = std::min(begin + kRowsTogether, shape.in_channels);
    for_taps([&](std::int64_t i, std::int64_t j) {
      for (std::int64_t k = 0; k < width; ++k)
        for (std::int64_t c = begin; c < end; ++c) copy(k, c, i, j);
    });
  }
}

/// The packed weights of a convolution, and the activation of its sums.
struct ColumnWeights {
  PackedMatrix matrix;
  Unary activation;
};

/// Packs the weights. Returns nullopt if columns do not cover the request.
Result<std::optional<ColumnWeights>> column_weights(const KernelRequest& request,
                                                    const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  const TensorDesc& w = request.inputs[1];
  const std::int64_t depth = w.elements() / shape.out_channels;
  if (!activation || shape.kernel[0] > static_cast<std::int64_t>(kMaxFilterRows) ||
      depth > kMaxDepth)
    return std::nullopt;
  const std::string layout =
      fmt::format("columns {}x{}x{}x{} {}", shape.out_channels, shape.in_channels, shape.kernel[0],
                  shape.kernel[1], shape.dilation[1] == 1);
  // Captures by value: packing may wait until all kernels of a model are made.
  const auto fill = [shape, filters = filters_of(w)](const PackedMatrix& matrix, std::int64_t p,
                                                     float* to) {
    pack_panel(shape, matrix, p, filters, to);
  };
  PX_ASSIGN(PackedMatrix matrix,
            pack_matrix(PackedMatrix(gemm_type(request.precision), depth, shape.out_channels),
                        w.data, layout, fill, request.packed, filters_of(w).instead()));
  return ColumnWeights{std::move(matrix), *activation};
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_windows(const KernelRequest& request,
                                             const ConvolutionShape& shape) {
  if (pixels_are_rows(shape)) return not_covered();
  PX_ASSIGN(const auto weights, column_weights(request, shape));
  return weights ? make_window_convolution(shape, weights->matrix, weights->activation,
                                           *request.machine)
                 : not_covered();
}

Result<std::unique_ptr<Kernel>> make_columns(const KernelRequest& request,
                                             const ConvolutionShape& shape) {
  PX_ASSIGN(auto weights, column_weights(request, shape));
  if (!weights) return not_covered();
  return std::make_unique<ColumnConvolution>(shape, std::move(weights->matrix), weights->activation,
                                             *request.machine);
}

}  // namespace parallax
