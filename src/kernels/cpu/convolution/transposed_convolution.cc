// ConvTranspose of f32 planes with constant weights. The image's pixels are multiplied with the
// taps of all filters, block by block in scratch, and the products are added to the outputs that
// they contribute to. Products at the ends of a block that its neighbours also need are repeated.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/transposed_shape.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Packs weights as [group, plane of the filter, filter, tap, channel].
Result<std::shared_ptr<const AlignedBytes>> pack_transposed(const KernelRequest& request,
                                                            const TransposedShape& s) {
  const std::string layout = fmt::format("transposed {}x{}x{}x{}x{}", s.groups, s.channels,
                                         s.filters, s.planes().kernel, s.taps());
  const TensorDesc& w = request.inputs[1];
  const auto fill = [s, source = w.data](std::byte* to) {
    for (std::int64_t g = 0; g < s.groups; ++g)
      for (std::int64_t z = 0; z < s.planes().kernel; ++z)
        for (std::int64_t m = 0; m < s.filters; ++m)
          for (std::int64_t tap = 0; tap < s.taps(); ++tap)
            for (std::int64_t c = 0; c < s.channels; ++c, to += kFloatBytes) {
              const std::int64_t filter = (g * s.channels + c) * s.filters + m;
              const std::int64_t at = (filter * s.planes().kernel + z) * s.taps() + tap;
              std::memcpy(to, source + at * kFloatBytes, sizeof(float));
            }
  };
  return request.packed.get(w.data, layout, w.elements() * kFloatBytes, fill);
}

/// Adds x[i] to y[i].
void add_up(const float* x, float* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}

/// Copies x[p * length + i] to y[i * stride + p], for y of `n` elements.
void interleave(const float* x, std::int64_t stride, std::int64_t length, std::int64_t n,
                float* __restrict y) {
  if (stride == 1) {
    std::copy_n(x, n, y);
    return;
  }
  if (stride == 2) {
    const float* odd = x + length;
    for (std::int64_t i = 0; i < n / 2; ++i) {
      y[2 * i] = x[i];
      y[2 * i + 1] = odd[i];
    }
    if (n % 2 != 0) y[n - 1] = x[n / 2];
    return;
  }
  for (std::int64_t p = 0; p < stride; ++p)
    for (std::int64_t i = 0, o = p; o < n; ++i, o += stride) y[o] = x[p * length + i];
}

/// A tile's part of the result.
struct TransposedBlock {
  std::int64_t image = 0, group = 0, plane = 0;
  TileRange filters{0, 0}, rows{0, 0}, columns{0, 0};
};

/// Convolution of images that lie plane by plane. A unit is a block of a plane of the result, of
/// some filters. Columns of the result are summed by their remainder modulo the stride, so that
/// neighbours of the image stay neighbours.
class PlanarTransposed final : public Kernel {
 public:
  PlanarTransposed(const TransposedShape& shape, std::shared_ptr<const AlignedBytes> weights,
                   const Unary& activation, const Machine& machine)
      : shape_(shape), weights_(std::move(weights)), activation_(activation) {
    const std::int64_t taps = shape_.taps();
    filter_block_ = std::clamp<std::int64_t>(kMaxBlockRows / taps, 1, shape_.filters);
    filter_blocks_ = tile_count(shape_.filters, filter_block_);
    const std::int64_t rows = filter_block_ * taps;
    cut_ = cut_transposed(shape_, rows, rows * shape_.channels, machine);
    length_ = tile_count(cut_.columns, shape_.columns().stride);
    products_ = rounded_up(rows * cut_.pixels, kLineFloats);
    sums_ = rounded_up(filter_block_ * cut_.rows * shape_.columns().stride * length_, kLineFloats);
  }

  std::int64_t tiles() const override {
    return shape_.batch * shape_.groups * filter_blocks_ * shape_.planes().out * cut_.row_blocks *
           cut_.column_blocks;
  }
  std::int64_t scratch_bytes() const override {
    return (products_ + sums_) * kFloatBytes + matmul_block_scratch_bytes();
  }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const TransposedBlock block = block_of(tile);
    auto* const products = reinterpret_cast<float*>(args.scratch.data());
    float* const sums = products + products_;
    begin_sums(block, args.inputs.size() > 2 ? args.in<float>(2) : nullptr, sums);
    const TransposedAxis& planes = shape_.planes();
    const TransposedBlock from{
        .rows = shape_.rows().reached_by(block.rows),
        .columns = shape_.columns().reached_by(block.columns),
    };
    for (std::int64_t k = 0; k < planes.kernel; ++k) {
      const std::int64_t at = block.plane - planes.offset(k);
      if (at < 0 || at % planes.stride != 0 || at / planes.stride >= planes.in) continue;
      if (from.rows.begin == from.rows.end || from.columns.begin == from.columns.end) continue;
      multiply_block(block, from, k, at / planes.stride, args, products);
      add_products(block, from, products, sums);
    }
    finish(block, sums, args.out<float>());
    return {};
  }

 private:
  TransposedBlock block_of(std::int64_t tile) const {
    const auto take = [&tile](std::int64_t count) {
      const std::int64_t at = tile % count;
      tile /= count;
      return at;
    };
    const auto range = [](std::int64_t at, std::int64_t size, std::int64_t all) {
      return TileRange{at * size, std::min((at + 1) * size, all)};
    };
    TransposedBlock block;
    block.filters = range(take(filter_blocks_), filter_block_, shape_.filters);
    block.columns = range(take(cut_.column_blocks), cut_.columns, shape_.columns().out);
    block.rows = range(take(cut_.row_blocks), cut_.rows, shape_.rows().out);
    block.plane = take(shape_.planes().out);
    block.group = take(shape_.groups);
    block.image = tile;
    return block;
  }

  std::int64_t row_sums() const { return shape_.columns().stride * length_; }

  void begin_sums(const TransposedBlock& block, const float* bias, float* sums) const {
    const std::int64_t count = (block.rows.end - block.rows.begin) * row_sums();
    for (std::int64_t m = block.filters.begin; m < block.filters.end; ++m, sums += count)
      std::fill_n(sums, count, bias == nullptr ? 0.0F : bias[block.group * shape_.filters + m]);
  }

  /// Multiplies the block's filters, plane `k` of them, with the image's pixels `from` of plane
  /// `plane`.
  void multiply_block(const TransposedBlock& block, const TransposedBlock& from, std::int64_t k,
                      std::int64_t plane, const KernelArgs& args, float* products) const {
    const std::int64_t width = shape_.columns().in, height = shape_.rows().in;
    const std::int64_t image = shape_.planes().in * height * width;
    const std::int64_t columns = from.columns.end - from.columns.begin;
    const std::int64_t lines = from.rows.end - from.rows.begin;
    MatMulBlock product;
    product.a =
        reinterpret_cast<const float*>(weights_->data()) +
        ((block.group * shape_.planes().kernel + k) * shape_.filters + block.filters.begin) *
            shape_.taps() * shape_.channels;
    product.lda = product.depth = shape_.channels;
    product.rows = (block.filters.end - block.filters.begin) * shape_.taps();
    product.ldb = image;
    product.ldc = lines * columns;
    const bool whole = columns == width;
    product.columns = whole ? lines * width : columns;
    for (std::int64_t line = 0; line < (whole ? 1 : lines); ++line) {
      product.b = args.in<float>(0) +
                  (block.image * shape_.groups + block.group) * shape_.channels * image +
                  (plane * height + from.rows.begin + line) * width + from.columns.begin;
      product.c = products + line * columns;
      matmul_block(product, args.scratch.subspan(to_size((products_ + sums_) * kFloatBytes)));
    }
  }

  void add_products(const TransposedBlock& block, const TransposedBlock& from,
                    const float* products, float* sums) const {
    const TransposedAxis& rows = shape_.rows();
    const std::int64_t columns = from.columns.end - from.columns.begin;
    const std::int64_t lines = from.rows.end - from.rows.begin;
    const std::int64_t height = block.rows.end - block.rows.begin;
    for (std::int64_t m = 0; m < block.filters.end - block.filters.begin; ++m) {
      for (std::int64_t k = 0; k < rows.kernel; ++k) {
        for (std::int64_t line = 0; line < lines; ++line) {
          const std::int64_t y =
              (from.rows.begin + line) * rows.stride + rows.offset(k) - block.rows.begin;
          if (y < 0 || y >= height) continue;
          add_line(block, from, products + line * columns, lines * columns,
                   sums + (m * height + y) * row_sums());
        }
        products += shape_.columns().kernel * lines * columns;
      }
    }
  }

  /// Adds the products of all taps of a row with one line of the image; products of neighbouring
  /// taps are `stride` apart.
  void add_line(const TransposedBlock& block, const TransposedBlock& from, const float* products,
                std::int64_t stride, float* sums) const {
    const TransposedAxis& axis = shape_.columns();
    const std::int64_t width = block.columns.end - block.columns.begin;
    for (std::int64_t k = 0; k < axis.kernel; ++k, products += stride) {
      // Position in the block that the line's first pixel contributes to.
      const std::int64_t first =
          from.columns.begin * axis.stride + axis.offset(k) - block.columns.begin;
      const std::int64_t phase = (first % axis.stride + axis.stride) % axis.stride;
      const std::int64_t at = (first - phase) / axis.stride;
      const std::int64_t length = tile_count(width - phase, axis.stride);
      const std::int64_t begin = std::max<std::int64_t>(-at, 0);
      const std::int64_t end = std::min(from.columns.end - from.columns.begin, length - at);
      if (phase < width && begin < end)
        add_up(products + begin, sums + phase * length_ + at + begin, end - begin);
    }
  }

  void finish(const TransposedBlock& block, const float* sums, float* y) const {
    const std::int64_t columns = shape_.columns().out, rows = shape_.rows().out;
    const std::int64_t width = block.columns.end - block.columns.begin;
    for (std::int64_t m = block.filters.begin; m < block.filters.end; ++m) {
      const std::int64_t plane =
          ((block.image * shape_.groups + block.group) * shape_.filters + m) * shape_.planes().out +
          block.plane;
      for (std::int64_t row = block.rows.begin; row < block.rows.end; ++row, sums += row_sums()) {
        float* const to = y + (plane * rows + row) * columns + block.columns.begin;
        interleave(sums, shape_.columns().stride, length_, width, to);
        if (activation_.f != UnaryFunction::kNone) apply_unary(activation_, to, to, to_size(width));
      }
    }
  }

  TransposedShape shape_;
  std::shared_ptr<const AlignedBytes> weights_;
  Unary activation_;
  TransposedCut cut_;
  std::int64_t filter_block_ = 1, filter_blocks_ = 1;
  std::int64_t length_ = 0;  ///< length of a row's sums with one remainder
  std::int64_t products_ = 0, sums_ = 0;
};

}  // namespace

Result<std::unique_ptr<Kernel>> planar_transposed_convolution(const KernelRequest& request) {
  const auto shape = transposed_shape(request);
  const auto activation = fused_activation(request.node);
  if (!shape || shape->nhwc || !activation) return not_covered();
  PX_ASSIGN(auto weights, pack_transposed(request, *shape));
  return std::make_unique<PlanarTransposed>(*shape, std::move(weights), *activation,
                                            *request.machine);
}

}  // namespace parallax
