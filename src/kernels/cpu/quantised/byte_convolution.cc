// ConvInteger in NHWC with constant weights. Filters of one tap and one group multiply pixels as
// rows. Others read a window of the image: each tile copies the rows that its outputs read, with
// the zero point around them and the channels of a group filled up to whole steps, and each row of
// its outputs is a product whose rows overlap.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/convolution_shape.h"
#include "kernels/cpu/quantised/byte_product.h"
#include "kernels/cpu/quantised/byte_sums.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Multiply-accumulates of a tile: 50 microseconds.
constexpr std::int64_t kByteTileMacs = 10000000;
/// Most bytes of a window that a tile copies, and most bytes if a single row of outputs needs more.
constexpr std::int64_t kWindowBytes = std::int64_t{192} << 10,
                       kMaxWindowBytes = std::int64_t{64} << 20;

bool is_pointwise(const ConvolutionShape& s) {
  using Pair = std::array<std::int64_t, 2>;
  return s.kernel == Pair{1, 1} && s.stride == Pair{1, 1} && s.in == s.out &&
         s.pad_begin == Pair{0, 0};
}

/// Rectangles of the image that tiles copy.
struct ByteWindow {
  std::int64_t width = 0;      ///< pixels of a row
  std::int64_t channels = 0;   ///< bytes of a pixel of a group, whole steps
  std::int64_t tiles = 0;      ///< tiles of an image, for each group
  std::int64_t parts = 0;      ///< parts of the panels of a group
  std::int64_t most_rows = 0;  ///< rows of outputs of the largest tile

  std::int64_t height(const ConvolutionShape& s) const {
    return (most_rows - 1) * s.stride[0] + s.extent(0);
  }
  std::int64_t bytes(const ConvolutionShape& s) const { return height(s) * width * channels; }
};

ByteWindow window_of(const ConvolutionShape& s, const PackedMatrix& weights) {
  ByteWindow window;
  window.channels = rounded_up(s.in_channels / s.groups, kStepBytes);
  window.width = (s.out[1] - 1) * s.stride[1] + s.extent(1);
  const std::int64_t row_macs = s.out[1] * weights.depth * weights.columns;
  const std::int64_t row_bytes = window.width * window.channels;
  window.tiles = count_tiles(s.out[0], row_macs, kByteTileMacs);
  const std::int64_t fitting =
      std::max<std::int64_t>((kWindowBytes / row_bytes - s.extent(0)) / s.stride[0] + 1, 1);
  window.tiles = std::clamp(tile_count(s.out[0], fitting), window.tiles, s.out[0]);
  window.most_rows = tile_count(s.out[0], window.tiles);
  const std::int64_t tiles = window.tiles * s.batch * s.groups;
  window.parts =
      tiles >= kSmallNodeTiles ? 1 : std::min(tile_count(kSmallNodeTiles, tiles), weights.panels());
  return window;
}

class ByteConvolution final : public Kernel {
 public:
  /// `weights`: those of each group.
  ByteConvolution(const ConvolutionShape& shape, std::vector<PackedMatrix> weights,
                  Requantisation to)
      : shape_(shape),
        weights_(std::move(weights)),
        to_(std::move(to)),
        window_(window_of(shape, weights_[0])) {
    const bool together = shape.dilation[1] == 1;
    const std::int64_t taps = together ? 1 : shape.kernel[1];
    const std::int64_t pixel = window_.channels / kStepBytes;
    for (std::int64_t i = 0; i < shape.kernel[0]; ++i)
      for (std::int64_t j = 0; j < taps; ++j)
        segments_.push_back(
            {(i * shape.dilation[0] * window_.width + j * shape.dilation[1]) * pixel,
             to_size((together ? shape.kernel[1] : 1) * pixel)});
    most_columns_ = tile_count(weights_[0].panels(), window_.parts) *
                    static_cast<std::int64_t>(weights_[0].widths.panel);
  }

  std::int64_t tiles() const override {
    return shape_.batch * window_.tiles * shape_.groups * window_.parts;
  }
  std::int64_t table_bytes() const override {
    return std::ssize(segments_) * static_cast<std::int64_t>(sizeof(MatMulSegment));
  }
  std::int64_t scratch_bytes() const override {
    return Requantisation::scratch_bytes(most_columns_) + start_bytes() + window_.bytes(shape_);
  }
  InputUse input_use(std::size_t input) const override {
    return input == kProductW || input == kProductWZero ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const std::int64_t part = tile % window_.parts, group = tile / window_.parts % shape_.groups;
    const std::int64_t run = tile / window_.parts / shape_.groups;
    const std::int64_t image = run / window_.tiles;
    const auto rows = tile_range(shape_.out[0], window_.tiles, run % window_.tiles);
    const RowStarts starts(*this, args);
    auto* const pixels = reinterpret_cast<std::uint8_t*>(
        args.scratch.data() + Requantisation::scratch_bytes(most_columns_) + start_bytes());
    copy_window(args, image, group, rows, pixels);
    if (to_.w_zero() != 0) starts.sum_pixels(pixels, rows.end - rows.begin);
    multiply_panels(args, {image, group, rows}, part, pixels, starts);
    return {};
  }

 private:
  /// Computes the initial sums of each output from the sum of each pixel of the window.
  class RowStarts {
   public:
    RowStarts(const ByteConvolution& of, const KernelArgs& args)
        : of_(of),
          args_(args),
          pixels_(reinterpret_cast<std::int32_t*>(args.scratch.data() +
                                                  Requantisation::scratch_bytes(of.most_columns_))),
          row_(pixels_ + of.window_.height(of.shape_) * of.window_.width) {}

    void sum_pixels(const std::uint8_t* window, std::int64_t out_rows) const {
      const std::int64_t height = (out_rows - 1) * of_.shape_.stride[0] + of_.shape_.extent(0);
      sum_byte_rows(window, to_size(of_.window_.channels), to_size(of_.group_channels()),
                    to_size(height * of_.window_.width), pixels_);
    }
    const std::int32_t* of_row(std::int64_t out_row) const {
      const ConvolutionShape& s = of_.shape_;
      std::fill_n(row_, s.out[1], 0);
      for (std::int64_t i = 0; i < s.kernel[0]; ++i)
        for (std::int64_t j = 0; j < s.kernel[1]; ++j) {
          const std::int32_t* from =
              pixels_ + (out_row * s.stride[0] + i * s.dilation[0]) * of_.window_.width +
              j * s.dilation[1];
          for (std::int64_t x = 0; x < s.out[1]; ++x) row_[x] += from[x * s.stride[1]];
        }
      of_.to_.start_rows(args_, s.kernel[0] * s.kernel[1] * of_.group_channels(),
                         {row_, to_size(s.out[1])});
      return row_;
    }

   private:
    const ByteConvolution& of_;
    const KernelArgs& args_;
    std::int32_t* pixels_;  ///< sums of the window's pixels
    std::int32_t* row_;     ///< initial sums of a row of outputs
  };
  /// Rows of outputs of a group of an image.
  struct Outputs {
    std::int64_t image = 0, group = 0;
    TileRange rows;
  };

  /// Multiplies a window with a part of the panels of its group.
  void multiply_panels(const KernelArgs& args, const Outputs& of, std::int64_t part,
                       const std::uint8_t* pixels, const RowStarts& starts) const {
    const PackedMatrix& weights = weights_[to_size(of.group)];
    const auto panels = tile_range(weights.panels(), window_.parts, part);
    const std::int64_t first = weights.column(panels.begin), all = shape_.out_channels;
    const std::int64_t end = weights.column(panels.end - 1) + weights.width(panels.end - 1);
    const std::int64_t filters = of.group * weights.columns;  // that precede the group
    const auto columns = to_.prepare(args, filters + first, filters + end, args.scratch.data());
    MatMulPanel panel;
    panel.lda = to_size(shape_.stride[1] * window_.channels / kStepBytes);
    panel.ldc = to_size(all);
    panel.rows = to_size(shape_.out[1]);
    panel.depth = to_size(weights.steps());
    panel.segments = segments_.data();
    panel.segment_count = segments_.size();
    for (std::int64_t p = panels.begin; p < panels.end; ++p) {
      const std::int64_t column = weights.column(p);
      const Requantise requantise = columns.from(column - first);
      panel.requantise = &requantise;
      panel.b = weights.row(p, 0);
      panel.ldb = to_size(weights.stride(p));
      panel.columns = to_size(weights.width(p));
      panel.bias = columns.start + (column - first);
      for (std::int64_t row = of.rows.begin; row < of.rows.end; ++row) {
        panel.a =
            pixels + (row - of.rows.begin) * shape_.stride[0] * window_.width * window_.channels;
        const std::int64_t at =
            (of.image * shape_.out[0] + row) * shape_.out[1] * all + filters + column;
        panel.c = args.out<std::byte>() + at * to_.element_bytes();
        if (to_.w_zero() != 0) panel.row_start = starts.of_row(row - of.rows.begin);
        weights.type->multiply(panel);
        to_.finish(panel.c, all, shape_.out[1], weights.width(p));
      }
    }
  }

  std::int64_t group_channels() const { return shape_.in_channels / shape_.groups; }
  std::int64_t start_bytes() const {
    if (to_.w_zero() == 0) return 0;
    const std::int64_t numbers = window_.height(shape_) * window_.width + shape_.out[1];
    return rounded_up(numbers * kStepBytes, kAlignment);
  }

  /// Copies the pixels of a group that output rows `rows` of an image read.
  void copy_window(const KernelArgs& args, std::int64_t image, std::int64_t group,
                   const TileRange& rows, std::uint8_t* to) const {
    const ConvolutionShape& s = shape_;
    const std::uint8_t zero = to_.x_zero(args);
    const std::int64_t pitch = window_.width * window_.channels;
    const std::int64_t top = rows.begin * s.stride[0] - s.pad_begin[0];
    const std::int64_t height = (rows.end - rows.begin - 1) * s.stride[0] + s.extent(0);
    const std::int64_t left = std::min(s.pad_begin[1], window_.width);
    const std::int64_t inside = std::clamp<std::int64_t>(s.in[1], 0, window_.width - left);
    const auto* from = args.in<std::uint8_t>(kProductX) + group * group_channels();
    for (std::int64_t y = top; y < top + height; ++y, to += pitch) {
      if (y < 0 || y >= s.in[0]) {
        std::memset(to, zero, to_size(pitch));
        continue;
      }
      std::memset(to, zero, to_size(left * window_.channels));
      copy_pixels(from + (image * s.in[0] + y) * s.in[1] * s.in_channels,
                  to + left * window_.channels, inside);
      std::memset(to + (left + inside) * window_.channels, zero,
                  to_size((window_.width - left - inside) * window_.channels));
    }
  }

  /// Channels beyond those of the image meet weights of 0.
  void copy_pixels(const std::uint8_t* from, std::uint8_t* to, std::int64_t count) const {
    const std::int64_t channels = group_channels();
    if (channels == window_.channels && shape_.groups == 1) {
      if (to_.x_is_signed()) return turn_signs(from, to, to_size(count * channels));
      std::memcpy(to, from, to_size(count * channels));
      return;
    }
    if (channels != window_.channels) std::memset(to, 0, to_size(count * window_.channels));
    if (channels == 3 && shape_.groups == 1) {
      copy_pixels_of<3>(from, to, count);
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * window_.channels, from + i * shape_.in_channels, to_size(channels));
    }
    if (to_.x_is_signed()) turn_signs(to, to, to_size(count * window_.channels));
  }
  template <std::int64_t kChannels>
  static void copy_pixels_of(const std::uint8_t* from, std::uint8_t* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * kStepBytes, from + i * kChannels, static_cast<std::size_t>(kChannels));
  }

  ConvolutionShape shape_;
  std::vector<PackedMatrix> weights_;  ///< one for each group
  Requantisation to_;
  ByteWindow window_;
  std::vector<MatMulSegment> segments_;
  std::int64_t most_columns_ = 0;
};

/// Filters of a group. Columns are filters; rows are kernel rows, kernel columns, `channels`
/// channels, of which those of the group exist.
void fill_filters(const ConvolutionShape& s, std::int64_t channels, const std::byte* from,
                  bool is_signed, const PackedMatrix& matrix, std::int64_t p, float* to) {
  const std::int64_t stride = matrix.stride(p), taps = s.kernel[0] * s.kernel[1];
  const std::int64_t existing = s.in_channels / s.groups;
  std::fill_n(to, matrix.depth * stride, 0.0F);
  for (std::int64_t m = 0; m < matrix.width(p); ++m)
    for (std::int64_t c = 0; c < existing; ++c)
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t at = ((matrix.column(p) + m) * existing + c) * taps + tap;
        to[(tap * channels + c) * stride + m] =
            static_cast<float>(weight_byte(from, is_signed, at));
      }
}

/// Packs the filters of each group. Errors: kOutOfMemory.
Result<std::vector<PackedMatrix>> pack_groups(const ConvolutionShape& s, const PackedMatrix& matrix,
                                              std::int64_t channels, const std::string& layout,
                                              const KernelRequest& request) {
  const TensorDesc& w = request.inputs[kProductW];
  const bool is_signed = w.dtype == DType::kI8;
  std::vector<PackedMatrix> groups;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    const std::byte* const from = w.data + g * (w.elements() / s.groups);
    const auto fill = [s, channels, from, is_signed](const PackedMatrix& of, std::int64_t p,
                                                     float* panel) {
      fill_filters(s, channels, from, is_signed, of, p, panel);
    };
    PX_ASSIGN(PackedMatrix packed, pack_matrix(matrix, from, layout, fill, request.packed));
    groups.push_back(std::move(packed));
  }
  return groups;
}

}  // namespace

Result<std::unique_ptr<Kernel>> byte_convolution(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape || !shape->nhwc || shape->in_channels % shape->groups != 0 ||
      shape->out_channels % shape->groups != 0)
    return not_covered();
  const TensorDesc& w = request.inputs[kProductW];
  const std::int64_t existing = shape->in_channels / shape->groups;
  if (w.dims[0] != shape->out_channels || w.dims[1] != existing ||
      (shape->groups > 1 && existing < kFewestByteGroupChannels))
    return not_covered();
  const bool rows = is_pointwise(*shape) && shape->groups == 1, is_signed = w.dtype == DType::kI8;
  const std::int64_t taps = shape->kernel[0] * shape->kernel[1];
  const std::int64_t channels = rows ? existing : rounded_up(existing, kStepBytes);
  const std::string layout = fmt::format("filters {}x{} {} of {} {}", shape->out_channels, taps,
                                         existing, channels, is_signed ? "i8" : "u8");
  const std::int64_t filter = existing * taps;
  const auto sum = [from = w.data, filter, filters = shape->out_channels,
                    is_signed](std::int32_t* to) {
    for (std::int64_t m = 0; m < filters; ++m) {
      to[m] = 0;
      for (std::int64_t i = 0; i < filter; ++i)
        to[m] += weight_byte(from, is_signed, m * filter + i);
    }
  };
  PX_ASSIGN(auto to, Requantisation::make(request, shape->out_channels, layout, sum));
  if (!to) return not_covered();
  const PackedMatrix matrix(byte_gemm_type(), taps * channels, shape->out_channels / shape->groups);
  if (!rows && window_of(*shape, matrix).bytes(*shape) > kMaxWindowBytes) return not_covered();
  PX_ASSIGN(auto weights, pack_groups(*shape, matrix, channels, layout, request));
  if (rows)
    return make_byte_rows(shape->batch * shape->out[0] * shape->out[1], std::move(weights[0]),
                          std::move(*to), *request.machine);
  return std::make_unique<ByteConvolution>(*shape, std::move(weights), std::move(*to));
}

}  // namespace parallax
