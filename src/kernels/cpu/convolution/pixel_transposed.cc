// ConvTranspose of f32 NHWC images with constant weights and one group: pixels times all taps of
// all filters, block by block in scratch; the products of a tap are added to the output pixel
// that they contribute to.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/transposed_shape.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Packs weights as [channels, taps, filters].
Result<PackedMatrix> pixel_weights(const KernelRequest& request, const TransposedShape& s) {
  const std::int64_t filters = s.filters, taps = s.taps();
  const std::byte* const source = request.inputs[1].data;
  const auto fill = [filters, taps, source](const PackedMatrix& matrix, std::int64_t panel,
                                            float* to) {
    const std::int64_t stride = matrix.stride(panel);
    std::fill_n(to, matrix.depth * stride, 0.0F);
    for (std::int64_t c = 0; c < matrix.depth; ++c, to += stride) {
      for (std::int64_t i = 0; i < matrix.width(panel); ++i) {
        const std::int64_t column = matrix.column(panel) + i;
        const std::int64_t at = (c * filters + column % filters) * taps + column / filters;
        std::memcpy(to + i, source + at * kFloatBytes, sizeof(float));
      }
    }
  };
  return pack_matrix(PackedMatrix(gemm_type(Precision::kF32), s.channels, taps * filters), source,
                     fmt::format("transposed pixels {}x{}x{}", s.channels, filters, taps), fill,
                     request.packed);
}

struct PixelBlock {
  std::int64_t image = 0;
  TileRange rows{0, 0}, columns{0, 0};
};

/// Runs of floats that are added to others: one for each of `count` pixels.
struct Runs {
  const float* from;
  std::int64_t from_step;
  float* to;
  std::int64_t to_step, count;

  /// A length that is known at compile time costs no loop.
  template <class Length>
  void add(Length length) const {
    const float* x = from;
    float* __restrict y = to;
    for (std::int64_t i = 0; i < count; ++i, x += from_step, y += to_step)
      for (std::int64_t m = 0; m < length; ++m) y[m] += x[m];
  }
};

class PixelTransposed final : public Kernel {
 public:
  PixelTransposed(const TransposedShape& shape, PackedMatrix weights, const Unary& activation,
                  const Machine& machine)
      : shape_(shape),
        weights_(std::move(weights)),
        activation_(activation),
        cut_(cut_transposed(shape, weights_.columns, weights_.columns * weights_.depth, machine)),
        depth_blocks_(tile_count(weights_.steps(), machine.block_depth())) {}

  std::int64_t tiles() const override {
    return shape_.batch * cut_.row_blocks * cut_.column_blocks;
  }
  std::int64_t scratch_bytes() const override {
    return cut_.pixels * weights_.columns * kFloatBytes;
  }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const TransposedAxis &rows = shape_.rows(), &columns = shape_.columns();
    const std::int64_t x = tile % cut_.column_blocks, y = tile / cut_.column_blocks;
    PixelBlock block;
    block.columns = {x * cut_.columns, std::min((x + 1) * cut_.columns, columns.out)};
    const std::int64_t row = y % cut_.row_blocks * cut_.rows;
    block.rows = {row, std::min(row + cut_.rows, rows.out)};
    block.image = y / cut_.row_blocks;
    const PixelBlock from{block.image, rows.reached_by(block.rows),
                          columns.reached_by(block.columns)};
    begin_block(block, args.inputs.size() > 2 ? args.in<float>(2) : nullptr, args.out<float>());
    if (from.columns.begin < from.columns.end) {
      auto* const products = reinterpret_cast<float*>(args.scratch.data());
      multiply_pixels(from, args.in<float>(0), products);
      for (std::int64_t line = from.rows.begin; line < from.rows.end; ++line)
        add_line(block, from, line, products, args.out<float>());
    }
    finish_block(block, args.out<float>());
    return {};
  }

 private:
  std::int64_t pixel(const PixelBlock& block, std::int64_t row, std::int64_t column) const {
    return (block.image * shape_.rows().out + row) * shape_.columns().out + column;
  }

  void begin_block(const PixelBlock& block, const float* bias, float* y) const {
    const std::int64_t count = (block.columns.end - block.columns.begin) * shape_.filters;
    float* const first = y + pixel(block, block.rows.begin, block.columns.begin) * shape_.filters;
    if (bias == nullptr) {
      std::fill_n(first, count, 0.0F);
    } else {
      for (std::int64_t i = 0; i < count; i += shape_.filters)
        for (std::int64_t m = 0; m < shape_.filters; ++m) first[i + m] = bias[m];
    }
    for (std::int64_t row = block.rows.begin + 1; row < block.rows.end; ++row) {
      std::copy_n(first, count, y + pixel(block, row, block.columns.begin) * shape_.filters);
    }
  }

  void multiply_pixels(const PixelBlock& from, const float* x, float* products) const {
    const std::int64_t width = shape_.columns().in;
    const std::int64_t columns = from.columns.end - from.columns.begin;
    const std::int64_t lines = from.rows.end - from.rows.begin;
    const bool whole = columns == width;
    for (std::int64_t line = 0; line < (whole ? std::min<std::int64_t>(lines, 1) : lines); ++line) {
      const std::int64_t row = from.image * shape_.rows().in + from.rows.begin + line;
      MatMulRows a;
      a.a = x + (row * width + from.columns.begin) * weights_.depth;
      a.rows = whole ? lines * width : columns;
      a.c = products + line * columns * weights_.columns;
      a.depth_blocks = depth_blocks_;
      multiply(a, weights_, {0, weights_.panels()}, false);
    }
  }

  /// Adds the products of line `line` of the image to the block.
  void add_line(const PixelBlock& block, const PixelBlock& from, std::int64_t line,
                const float* products, float* y) const {
    const TransposedAxis &rows = shape_.rows(), &columns = shape_.columns();
    const std::int64_t pixels = from.columns.end - from.columns.begin;
    products += (line - from.rows.begin) * pixels * weights_.columns;
    for (std::int64_t k = 0; k < rows.kernel; ++k) {
      const std::int64_t row = line * rows.stride + rows.offset(k);
      if (row < block.rows.begin || row >= block.rows.end) continue;
      const float* const x = products + k * columns.kernel * shape_.filters;
      float* const to = y + pixel(block, row, 0) * shape_.filters;
      const auto [begin, end] = whole_pixels(block, from);
      for (std::int64_t i = 0; i < begin; ++i) add_taps(block, from.columns.begin + i, i, x, to);
      add_runs(from.columns.begin + begin, end - begin, x + begin * weights_.columns, to);
      for (std::int64_t i = end; i < pixels; ++i) add_taps(block, from.columns.begin + i, i, x, to);
    }
  }

  /// Returns the output column of a pixel's first tap; a negative one lies outside the output.
  std::int64_t first_column(std::int64_t column) const {
    return column * shape_.columns().stride + shape_.columns().offset(0);
  }

  /// Returns which of the pixels of `from` have taps that lie together, all of them in the block.
  TileRange whole_pixels(const PixelBlock& block, const PixelBlock& from) const {
    const std::int64_t pixels = from.columns.end - from.columns.begin;
    if (shape_.columns().dilation != 1) return {pixels, pixels};
    TileRange whole{0, pixels};
    const auto column = [&](std::int64_t i) { return first_column(from.columns.begin + i); };
    while (whole.begin < pixels && column(whole.begin) < block.columns.begin) ++whole.begin;
    while (whole.end > whole.begin &&
           column(whole.end - 1) + shape_.columns().kernel > block.columns.end)
      --whole.end;
    return whole;
  }

  /// Adds the products of one row of taps to row `to` of the output: those of pixel `column`, the
  /// i-th of `products`, that lie in the block.
  void add_taps(const PixelBlock& block, std::int64_t column, std::int64_t i, const float* products,
                float* to) const {
    const std::int64_t filters = shape_.filters;
    const float* x = products + i * weights_.columns;
    std::int64_t at = first_column(column);
    for (std::int64_t j = 0; j < shape_.columns().kernel; ++j, x += filters) {
      if (at >= block.columns.begin && at < block.columns.end)
        for (std::int64_t m = 0; m < filters; ++m) to[at * filters + m] += x[m];
      at += shape_.columns().dilation;
    }
  }

  /// Adds the products of one row of taps of `count` pixels from `column` on, which lie together.
  void add_runs(std::int64_t column, std::int64_t count, const float* products, float* to) const {
    if (count <= 0) return;
    const std::int64_t filters = shape_.filters;
    const Runs runs{products, weights_.columns, to + first_column(column) * filters,
                    shape_.columns().stride * filters, count};
    switch (const std::int64_t length = shape_.columns().kernel * filters; length) {
      case 2:
        return runs.add(std::integral_constant<std::int64_t, 2>());
      case 4:
        return runs.add(std::integral_constant<std::int64_t, 4>());
      case 6:
        return runs.add(std::integral_constant<std::int64_t, 6>());
      case 8:
        return runs.add(std::integral_constant<std::int64_t, 8>());
      case 12:
        return runs.add(std::integral_constant<std::int64_t, 12>());
      default:
        return runs.add(length);
    }
  }

  void finish_block(const PixelBlock& block, float* y) const {
    if (activation_.f == UnaryFunction::kNone) return;
    const std::int64_t count = (block.columns.end - block.columns.begin) * shape_.filters;
    for (std::int64_t row = block.rows.begin; row < block.rows.end; ++row) {
      float* const to = y + pixel(block, row, block.columns.begin) * shape_.filters;
      apply_unary(activation_, to, to, to_size(count));
    }
  }

  TransposedShape shape_;
  PackedMatrix weights_;
  Unary activation_;
  TransposedCut cut_;
  std::int64_t depth_blocks_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> pixel_transposed_convolution(const KernelRequest& request) {
  const auto shape = transposed_shape(request);
  const auto activation = fused_activation(request.node);
  if (!shape || !shape->nhwc || shape->groups != 1 || shape->planes().out != 1 ||
      shape->planes().in != 1 || shape->planes().kernel != 1 || !activation)
    return not_covered();
  PX_ASSIGN(PackedMatrix weights, pixel_weights(request, *shape));
  return std::make_unique<PixelTransposed>(*shape, std::move(weights), *activation,
                                           *request.machine);
}

}  // namespace parallax
