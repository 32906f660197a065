#include "kernels/cpu/convolution/winograd.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/filters.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/f32_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Squares per tile: a multiple of the rows of the inner loop; the fewest and most in two axes.
constexpr std::int64_t kRowGranule = 6, kFewestSquares = 12, kMaxSquares = 48;
/// Fewest squares per tile of transforms along one axis.
constexpr std::int64_t kFewestLineSquares = 24;
/// Most points of a form.
constexpr std::size_t kMaxPoints = 36;
/// Elements between the matrices of two points beyond their size: otherwise all points of an
/// element would map to the same set of the first-level cache.
constexpr std::int64_t kSkew = kLineFloats;

/// How the columns of the products, the filters, are cut into panels of whole vectors, as evenly
/// as possible.
struct Panels {
  std::int64_t vector = 1, vectors = 0, count = 0;

  explicit Panels(std::int64_t filters) {
    const MatMulWidths widths = matmul_widths();
    vector = static_cast<std::int64_t>(widths.vector);
    vectors = tile_count(filters, vector);
    count = tile_count(vectors, static_cast<std::int64_t>(widths.panel / widths.vector));
  }
  std::int64_t begin(std::int64_t panel) const {
    return tile_range(vectors, count, panel).begin * vector;
  }
  std::int64_t width(std::int64_t panel) const { return begin(panel + 1) - begin(panel); }
  std::int64_t widest() const { return tile_count(vectors, count) * vector; }
};

/// Squares along one axis of an image. With a dilation d, pixels whose positions have the same
/// remainder modulo d are convolved apart from all others: a square has outputs d apart, and those
/// of neighbouring remainders follow each other.
struct SquareAxis {
  std::int64_t count = 0;     ///< squares that have an output
  std::int64_t size = 1;      ///< outputs of a square
  std::int64_t dilation = 1;  ///< from one output of a square to the next

  SquareAxis() = default;
  SquareAxis(std::int64_t out, std::int64_t size_of_square, std::int64_t distance)
      : size(size_of_square), dilation(distance) {
    const std::int64_t span = size * dilation;
    count = out / span * dilation + std::min(out % span, dilation);
  }
  /// The first output of a square.
  std::int64_t first(std::int64_t square) const {
    return square / dilation * size * dilation + square % dilation;
  }
};

SquareAxis square_axis(const ConvolutionShape& shape, const WinogradSizes& sizes,
                       std::size_t axis) {
  return {shape.out[axis], axis == 0 ? sizes.out_h : sizes.out_w, shape.dilation[axis]};
}

/// Tiles of the node: blocks of squares times groups of panels.
struct WinogradCut {
  SquareAxis rows, columns;  ///< squares of one image, along H and W
  std::int64_t squares = 0;  ///< squares of all images
  std::int64_t blocks = 0, groups = 0;
  std::int64_t most_squares = 0;  ///< squares of the largest block
};

std::optional<WinogradCut> cut_winograd(const ConvolutionShape& shape, const WinogradSizes& sizes,
                                        const Panels& panels, const Machine& machine) {
  WinogradCut cut;
  cut.rows = square_axis(shape, sizes, 0);
  cut.columns = square_axis(shape, sizes, 1);
  const auto squares = checked_mul(shape.batch, cut.rows.count * cut.columns.count);
  if (!squares) return std::nullopt;
  cut.squares = *squares;
  const std::int64_t elements =
      sizes.points() *
      (tile_count(shape.in_channels, panels.vector) * panels.vector + panels.widest());
  const std::int64_t fitting = machine.winograd_squares() / elements / kRowGranule * kRowGranule;
  if (fitting < kRowGranule) return std::nullopt;
  const std::int64_t macs = sizes.points() * shape.in_channels * panels.vectors * panels.vector;
  const bool line = sizes.in_h == 1 || sizes.in_w == 1;
  const std::int64_t tile_macs = line ? kWinogradLineTileMacs : kWinogradTileMacs;
  const std::int64_t even = tile_count(cut.squares, count_tiles(cut.squares, macs, tile_macs));
  const std::int64_t wanted = std::clamp(tile_count(even, kRowGranule) * kRowGranule,
                                         line ? kFewestLineSquares : kFewestSquares, kMaxSquares);
  cut.blocks = even_tiles(tile_count(cut.squares, std::min(wanted, fitting)), cut.squares);
  cut.most_squares = tile_count(cut.squares, cut.blocks);
  const std::int64_t small = count_tiles(cut.squares, macs, kWinogradTileMacs);
  cut.groups = std::clamp(std::max(macs * cut.most_squares / tile_macs,
                                   copying_groups(small, cut.blocks, shape.out_channels)),
                          std::int64_t{1}, panels.count);
  return cut;
}

class WinogradConvolution final : public Kernel {
 public:
  WinogradConvolution(const ConvolutionShape& shape, WinogradForm form, const WinogradCut& cut,
                      const Unary& activation, std::shared_ptr<const AlignedBytes> weights)
      : shape_(shape),
        form_(form),
        sizes_(winograd_sizes(form)),
        panels_(shape.out_channels),
        cut_(cut),
        activation_(activation),
        weights_(std::move(weights)) {
    const std::int64_t line = kAlignment / kFloatBytes;
    channels_ = tile_count(shape.in_channels, panels_.vector) * panels_.vector;
    input_stride_ = tile_count(cut.most_squares * channels_, line) * line + kSkew;
    product_stride_ = tile_count(cut.most_squares * panels_.widest(), line) * line + kSkew;
    products_ = sizes_.points() * input_stride_;
    result_ = products_ + sizes_.points() * product_stride_;
    bias_ = result_ + sizes_.outputs() * panels_.widest();
    zeros_ = bias_ + panels_.widest();
    end_ = zeros_ + shape.in_channels;
  }

  std::int64_t tiles() const override { return cut_.blocks * cut_.groups; }
  std::int64_t scratch_bytes() const override { return end_ * kFloatBytes; }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    auto* const scratch = reinterpret_cast<float*>(args.scratch.data());
    const auto squares = tile_range(cut_.squares, cut_.blocks, tile / cut_.groups);
    const auto panels = tile_range(panels_.count, cut_.groups, tile % cut_.groups);
    std::array<Square, kMaxSquares> places{};
    for (std::int64_t s = 0; s < squares.end - squares.begin; ++s)
      places[to_size(s)] = square(squares.begin + s);
    const std::span<const Square> block(places.data(), to_size(squares.end - squares.begin));
    std::fill_n(scratch + zeros_, shape_.in_channels, 0.0F);
    float* to = scratch;
    for (const Square& one : block) {
      transform_square(one, args.in<float>(0), scratch + zeros_, to);
      to += channels_;
    }
    for (std::int64_t p = panels.begin; p < panels.end; ++p) {
      const PanelColumns columns{panels_.begin(p), panels_.width(p)};
      multiply(std::ssize(block), columns, scratch);
      const float* bias = copy_bias(columns, args, scratch + bias_);
      const float* products = scratch + products_;
      for (const Square& one : block) {
        write_square(one, columns, products, bias, scratch + result_, args.out<float>());
        products += columns.width;
      }
    }
    return {};
  }

 private:
  /// The filters of a panel: the first one, and their number rounded up to whole vectors.
  struct PanelColumns {
    std::int64_t begin, width;
  };
  /// Image, the first output row and column, and how many of its rows and columns lie in the image.
  /// Computed once for a tile, not for each panel of its weights.
  struct Square {
    std::int64_t image, y, x, rows, columns;
  };
  Square square(std::int64_t index) const {
    const std::int64_t row = index / cut_.columns.count;
    const std::int64_t y = cut_.rows.first(row % cut_.rows.count);
    const std::int64_t x = cut_.columns.first(index % cut_.columns.count);
    return {row / cut_.rows.count, y, x,
            std::min(sizes_.out_h, tile_count(shape_.out[0] - y, shape_.dilation[0])),
            std::min(sizes_.out_w, tile_count(shape_.out[1] - x, shape_.dilation[1]))};
  }

  void transform_square(const Square& square, const float* images, const float* zeros,
                        float* to) const {
    std::array<const float*, kMaxPoints> pixels{};
    const float** pixel = pixels.data();
    for (std::int64_t i = 0; i < sizes_.in_h; ++i) {
      const std::int64_t y =
          square.y * shape_.stride[0] - shape_.pad_begin[0] + i * shape_.dilation[0];
      const bool row_inside = y >= 0 && y < shape_.in[0];
      const std::int64_t row = (square.image * shape_.in[0] + y) * shape_.in[1];
      for (std::int64_t j = 0; j < sizes_.in_w; ++j) {
        const std::int64_t x =
            square.x * shape_.stride[1] - shape_.pad_begin[1] + j * shape_.dilation[1];
        const bool inside = row_inside && x >= 0 && x < shape_.in[1];
        *pixel++ = inside ? images + (row + x) * shape_.in_channels : zeros;
      }
    }
    winograd_input(form_, pixels.data(), to_size(shape_.in_channels), to, to_size(input_stride_));
  }

  /// Multiplies all points of `squares` squares with a panel of the weights.
  void multiply(std::int64_t squares, const PanelColumns& columns, float* scratch) const {
    const std::int64_t size = shape_.in_channels * columns.width;
    const auto* weights = reinterpret_cast<const float*>(weights_->data()) +
                          sizes_.matrices * shape_.in_channels * columns.begin;
    MatMulPanel panel;
    panel.a = scratch;
    panel.lda = to_size(channels_);
    panel.b = weights;
    panel.c = scratch + products_;
    panel.ldb = panel.ldc = panel.columns = to_size(columns.width);
    panel.rows = to_size(squares);
    panel.depth = to_size(shape_.in_channels);
    PanelSteps steps{to_size(sizes_.matrices), to_size(input_stride_), to_size(size),
                     to_size(product_stride_)};
    matmul_panels(panel, steps);
    // Later points use the last matrix.
    panel.a = scratch + sizes_.matrices * input_stride_;
    panel.b = weights + (sizes_.matrices - 1) * size;
    panel.c = scratch + products_ + sizes_.matrices * product_stride_;
    steps.count = to_size(sizes_.points() - sizes_.matrices);
    steps.b = 0;
    matmul_panels(panel, steps);
  }

  /// Copies the bias of a panel, padded to a whole vector; returns null without a bias.
  const float* copy_bias(const PanelColumns& columns, const KernelArgs& args, float* to) const {
    const float* bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    if (bias == nullptr) return nullptr;
    const std::int64_t count = std::min(columns.width, shape_.out_channels - columns.begin);
    std::fill(std::copy_n(bias + columns.begin, count, to), to + columns.width, 0.0F);
    return to;
  }

  void write_square(const Square& square, const PanelColumns& columns, const float* products,
                    const float* bias, float* result, float* images) const {
    const auto [begin, width] = columns;
    winograd_output(form_, products, to_size(product_stride_), to_size(width), bias, result);
    if (activation_ != UnaryFunction::kNone)
      apply_unary(activation_, result, result, to_size(sizes_.outputs() * width));
    const std::size_t bytes = to_size(std::min(width, shape_.out_channels - begin)) * sizeof(float);
    const auto [down, right] = shape_.dilation;
    for (std::int64_t i = 0; i < square.rows; ++i) {
      const std::int64_t row =
          (square.image * shape_.out[0] + square.y + i * down) * shape_.out[1] + square.x;
      for (std::int64_t j = 0; j < square.columns; ++j)
        std::memcpy(images + (row + j * right) * shape_.out_channels + begin,
                    result + (i * sizes_.out_w + j) * width, bytes);
    }
  }

  ConvolutionShape shape_;
  WinogradForm form_;
  WinogradSizes sizes_;
  Panels panels_;
  WinogradCut cut_;
  Unary activation_;
  std::shared_ptr<const AlignedBytes> weights_;
  std::int64_t channels_;                       ///< input channels up to a whole vector
  std::int64_t input_stride_, product_stride_;  ///< elements from one point to the next
  // Offsets in scratch, in elements; transformed inputs are first.
  std::int64_t products_, result_, bias_, zeros_, end_;
};

/// Packs weights panel after panel; a panel holds, point after point, a matrix [channels, width of
/// the panel].
void pack_weights(const ConvolutionShape& shape, WinogradForm form, const Panels& panels,
                  const Filters& filters, float* to) {
  const WinogradSizes sizes = winograd_sizes(form);
  for (std::int64_t p = 0; p < panels.count; ++p) {
    const std::int64_t begin = panels.begin(p), width = panels.width(p);
    const std::int64_t count = std::min(width, shape.out_channels - begin);
    const std::int64_t size = sizes.matrices * shape.in_channels * width;
    if (count < width) std::fill_n(to, size, 0.0F);
    for (std::int64_t c = 0; c < shape.in_channels; ++c)
      winograd_weights(form, {filters.at(begin, c, 0), filters.filter, filters.tap, count},
                       to + c * width, to_size(shape.in_channels * width));
    to += size;
  }
}

/// The size of the filters that a form is for.
std::array<std::int64_t, 2> filter_of(WinogradForm form) {
  switch (form) {
    case WinogradForm::k2x2:
    case WinogradForm::k4x4:
      return {3, 3};
    case WinogradForm::k4x1:
      return {3, 1};
    case WinogradForm::k1x4:
    case WinogradForm::k1x4Stride2:
      return {1, 3};
  }
  return {};
}

bool can_compute(const ConvolutionShape& shape, WinogradForm form) {
  const bool two = form == WinogradForm::k1x4Stride2;
  return shape.nhwc && shape.groups == 1 && shape.kernel == filter_of(form) &&
         shape.stride == std::array<std::int64_t, 2>{1, two ? 2 : 1} &&
         !(two && shape.dilation[1] != 1);
}

// Costs, in multiply-accumulates: of transforms per element of a transformed square, and of
// weights, which stream from memory, per element. On one Zen 4 core with SiLU, as multiples of the
// speed of a direct kernel, F(2x2) and F(4x4): 80x80x64 to 64 filters 1.7 and 2.6, 40x40x128 to 64
// 1.9 and 3.0, 20x20x128 to 128 1.8 and 3.0, 28x28x128 to 128 1.9 and 3.1, 14x14x256 to 256 1.8 and
// 2.2, 160x160x16 to 16 0.7 and 1.1, 7x7x512 to 512 1.2 and 0.8, 224x224x3 to 16 0.3 and 0.5,
// 112x112x8 to 8 0.7 and 1.0, 10x10x64 to 64 1.6 and 1.6, 5x5x64 to 64 1.0 and 0.9. These two
// constants choose the best of each, or one within a tenth of it.
constexpr double kTransformMacs = 20, kStreamMacs = 8;

double whole(std::int64_t channels, std::int64_t lanes) {
  return static_cast<double>(tile_count(channels, lanes) * lanes);
}

double direct_cost(const ConvolutionShape& shape, std::int64_t lanes) {
  const double weights =
      static_cast<double>(shape.in_channels * shape.kernel[0] * shape.kernel[1]) *
      whole(shape.out_channels, lanes);
  const auto pixels = static_cast<double>(shape.batch * shape.out[0] * shape.out[1]);
  return weights * (pixels + kStreamMacs);
}

double winograd_cost(const ConvolutionShape& shape, const WinogradSizes& sizes,
                     std::int64_t lanes) {
  const double in = whole(shape.in_channels, lanes), out = whole(shape.out_channels, lanes);
  const double weights = static_cast<double>(shape.in_channels) * out;
  const auto squares = static_cast<double>(shape.batch * square_axis(shape, sizes, 0).count *
                                           square_axis(shape, sizes, 1).count);
  return static_cast<double>(sizes.points()) *
         (squares * (weights + kTransformMacs * (in + out)) + kStreamMacs * weights);
}

}  // namespace

std::optional<WinogradForm> winograd_form(const ConvolutionShape& shape) {
  const std::int64_t lanes = Panels(shape.out_channels).vector;
  double least = direct_cost(shape, lanes);
  std::optional<WinogradForm> best;
  for (const WinogradForm form : {WinogradForm::k2x2, WinogradForm::k4x4, WinogradForm::k1x4,
                                  WinogradForm::k4x1, WinogradForm::k1x4Stride2}) {
    const double cost = winograd_cost(shape, winograd_sizes(form), lanes);
    if (!can_compute(shape, form) || cost >= least) continue;
    least = cost;
    best = form;
  }
  return best;
}

Result<std::unique_ptr<Kernel>> make_winograd(const KernelRequest& request,
                                              const ConvolutionShape& shape, WinogradForm form) {
  const auto activation = fused_activation(request.node);
  if (!activation || !can_compute(shape, form)) return not_covered();
  const WinogradSizes sizes = winograd_sizes(form);
  const Panels panels(shape.out_channels);
  const auto cut = cut_winograd(shape, sizes, panels, *request.machine);
  if (!cut) return not_covered();
  // At most 2^24 channels each, so that the product of two fits.
  const auto bytes =
      checked_mul(shape.in_channels * panels.vectors * panels.vector, sizes.matrices * kFloatBytes);
  if (!bytes) return not_covered();
  const std::string layout = fmt::format("winograd {} {}x{} panels {}", static_cast<int>(form),
                                         shape.in_channels, shape.out_channels, panels.widest());
  const auto pack = [shape, form, panels, filters = filters_of(request.inputs[1])](std::byte* to) {
    pack_weights(shape, form, panels, filters, reinterpret_cast<float*>(to));
  };
  PX_ASSIGN(auto weights, request.packed.get(request.inputs[1].data, layout, *bytes, pack,
                                             filters_of(request.inputs[1]).instead()));
  return std::make_unique<WinogradConvolution>(shape, form, *cut, *activation, std::move(weights));
}

}  // namespace parallax
