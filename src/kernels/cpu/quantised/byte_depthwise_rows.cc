#include "kernels/cpu/quantised/byte_depthwise_rows.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/gemm/byte_loops.h"
#include "kernels/cpu/quantised/vnni_depthwise.h"

namespace parallax {
namespace {

/// Multiply-accumulates of a tile: 25 microseconds at 40 G a second.
constexpr std::int64_t kRowsTileMacs = 1000000;

/// Returns the sizes of the convolution, without pointers.
DepthwiseRows sizes_of(const ConvolutionShape& shape) {
  DepthwiseRows rows;
  rows.channels = to_size(shape.out_channels);
  for (std::size_t i = 0; i < 2; ++i) {
    rows.in[i] = shape.in[i];
    rows.kernel[i] = shape.kernel[i];
    rows.stride[i] = shape.stride[i];
    rows.dilation[i] = shape.dilation[i];
    rows.pad_begin[i] = shape.pad_begin[i];
  }
  rows.out_columns = shape.out[1];
  return rows;
}

class ByteDepthwiseRows final : public ByteDepthwiseKernel {
 public:
  using ByteDepthwiseKernel::ByteDepthwiseKernel;

  std::int64_t scratch_bytes() const override {
    const DepthwiseRows rows = sizes_of(shape_);
    const auto outputs = std::min(rows.out_columns, static_cast<std::ptrdiff_t>(kDepthwiseOutputs));
    return Requantisation::scratch_bytes(shape_.out_channels) +
           rows.columns_of(outputs) * rows.groups() *
               static_cast<std::int64_t>(kDepthwiseColumnBytes);
  }
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const std::int64_t image = image_of(tile), channels = shape_.out_channels;
    const TileRange range = rows_of(tile);
    const auto columns = to_.prepare(args, 0, channels, args.scratch.data());
    DepthwiseRows rows = sizes_of(shape_);
    rows.x = args.in<std::uint8_t>(kProductX) + image * shape_.in[0] * shape_.in[1] * channels;
    rows.begin = range.begin;
    rows.end = range.end;
    rows.flip = to_.x_is_signed() ? 0x80 : 0;
    rows.zero = to_.x_zero(args);
    rows.weights = reinterpret_cast<const std::uint8_t*>(weights_->data());
    rows.start = columns.start;
    rows.requantise = columns.requantise;
    rows.columns = reinterpret_cast<std::uint8_t*>(args.scratch.data() +
                                                   Requantisation::scratch_bytes(channels));
    rows.y = args.out<std::uint8_t>() + image * shape_.out[0] * shape_.out[1] * channels;
    vnni_depthwise(rows);
    const std::int64_t pixels = (range.end - range.begin) * shape_.out[1];
    to_.finish(rows.y + range.begin * shape_.out[1] * channels, channels, pixels, channels);
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<Kernel>> byte_depthwise_rows(const ConvolutionShape& shape,
                                                    const KernelRequest& request) {
  if (!cpu_has_vnni() || !is_requantised(request.node)) return not_covered();
  const TensorDesc& w = request.inputs[kProductW];
  const std::int64_t channels = shape.out_channels, width = shape.kernel[1];
  const std::int64_t taps = shape.kernel[0] * width;
  const bool is_signed = w.dtype == DType::kI8;
  const std::string layout = fmt::format("depthwise rows {}x{}x{} {}", channels, shape.kernel[0],
                                         width, is_signed ? "i8" : "u8");
  const auto sum = [from = w.data, channels, taps, is_signed](std::int32_t* to) {
    for (std::int64_t c = 0; c < channels; ++c) {
      to[c] = 0;
      for (std::int64_t tap = 0; tap < taps; ++tap)
        to[c] += weight_byte(from, is_signed, c * taps + tap);
    }
  };
  PX_ASSIGN(auto to, Requantisation::make(request, channels, layout, sum));
  if (!to || to->w_zero() != 0) return not_covered();
  const DepthwiseRows rows = sizes_of(shape);
  const std::int64_t blocks = tile_count(channels, static_cast<std::int64_t>(kDepthwiseChannels));
  const std::int64_t bytes =
      blocks * rows.groups() * width * static_cast<std::int64_t>(kDepthwiseColumnBytes);
  const auto fill = [from = w.data, rows, taps, width, is_signed, bytes](std::byte* packed) {
    std::fill_n(packed, bytes, std::byte{0});
    for (std::size_t c = 0; c < rows.channels; ++c)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        packed[depthwise_weight_index(rows, c, tap / width, tap % width)] = static_cast<std::byte>(
            weight_byte(from, is_signed, static_cast<std::int64_t>(c) * taps + tap));
  };
  PX_ASSIGN(auto weights, request.packed.get(w.data, layout, bytes, fill));
  return std::make_unique<ByteDepthwiseRows>(shape, std::move(weights), std::move(*to),
                                             kRowsTileMacs);
}

}  // namespace parallax
