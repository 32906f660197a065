// ConvInteger in NHWC whose channels each have their own filter. A tile is a run of rows of
// outputs.
#include <fmt/core.h>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/quantised/byte_depthwise_rows.h"
#include "kernels/cpu/quantised/depthwise_loops.h"

namespace parallax {
namespace {

/// Multiply-accumulates of a tile: 25 microseconds at 20 G a second.
constexpr std::int64_t kByteDepthwiseTileMacs = 500000;

/// The weights are f32, [taps, channels].
class ByteDepthwise final : public ByteDepthwiseKernel {
 public:
  using ByteDepthwiseKernel::ByteDepthwiseKernel;

  std::int64_t scratch_bytes() const override {
    return Requantisation::scratch_bytes(shape_.out_channels) +
           shape_.out[1] * shape_.out_channels * kStepBytes;
  }
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const std::int64_t image = image_of(tile), channels = shape_.out_channels;
    const TileRange rows = rows_of(tile);
    const auto columns = to_.prepare(args, 0, channels, args.scratch.data());
    auto* const sums =
        reinterpret_cast<float*>(args.scratch.data() + Requantisation::scratch_bytes(channels));
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      sum_row(args, image, row, sums);
      const std::int64_t at = (image * shape_.out[0] + row) * shape_.out[1] * channels;
      auto* const c = args.out<std::byte>() + at * to_.element_bytes();
      requantise_sums(columns.requantise, sums, c, to_size(shape_.out[1]), to_size(channels));
      to_.finish(c, channels, shape_.out[1], channels);
    }
    return {};
  }

 private:
  void sum_row(const KernelArgs& args, std::int64_t image, std::int64_t row, float* sums) const {
    const ConvolutionShape& s = shape_;
    const std::int64_t channels = s.out_channels;
    const TileRange below = s.taps_inside(0, row);
    DepthwiseBytes job;
    job.rows = to_size(below.end - below.begin);
    job.next_row = to_size(s.dilation[0] * s.in[1] * channels);
    job.next_tap = to_size(s.dilation[1] * channels);
    job.next_output = to_size(s.stride[1] * channels);
    job.weights_row = to_size(s.kernel[1] * channels);
    job.weights_tap = job.channels = to_size(channels);
    job.flip = to_.x_is_signed() ? 0x80 : 0;
    job.zero = to_.x_zero(args);
    const std::int64_t y = row * s.stride[0] - s.pad_begin[0] + below.begin * s.dilation[0];
    for (std::int64_t out = 0; out < s.out[1];) {
      const TileRange across = s.taps_inside(1, out);
      std::int64_t end = out + 1;
      while (end < s.out[1] && is_same(s.taps_inside(1, end), across)) ++end;
      const std::int64_t x = out * s.stride[1] - s.pad_begin[1] + across.begin * s.dilation[1];
      job.columns = to_size(across.end - across.begin);
      job.outputs = to_size(end - out);
      job.sums = sums + out * channels;
      job.weights = reinterpret_cast<const float*>(weights_->data()) +
                    (below.begin * s.kernel[1] + across.begin) * channels;
      // If no tap is inside the image, nothing is read.
      if (job.rows != 0 && job.columns != 0)
        job.x = args.in<std::uint8_t>(kProductX) + ((image * s.in[0] + y) * s.in[1] + x) * channels;
      depthwise_bytes(job);
      out = end;
    }
  }
  static bool is_same(const TileRange& a, const TileRange& b) {
    return a.begin == b.begin && a.end == b.end;
  }
};

}  // namespace

Result<std::unique_ptr<Kernel>> byte_depthwise(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape || !shape->nhwc || shape->groups == 1) return not_covered();
  const TensorDesc& w = request.inputs[kProductW];
  const std::int64_t channels = shape->in_channels, taps = shape->kernel[0] * shape->kernel[1];
  if (shape->groups != channels || shape->out_channels != channels || w.dims[0] != channels ||
      w.dims[1] != 1 || taps > kMaxByteDepthwiseTaps)
    return not_covered();
  PX_ASSIGN(auto rows, byte_depthwise_rows(*shape, request));
  if (rows != nullptr) return rows;
  const bool is_signed = w.dtype == DType::kI8;
  const std::string layout =
      fmt::format("depthwise {}x{} {}", channels, taps, is_signed ? "i8" : "u8");
  const auto sum = [channels](std::int32_t* to) { std::fill_n(to, channels, 0); };
  PX_ASSIGN(auto to, Requantisation::make(request, channels, layout, sum));
  if (!to) return not_covered();
  const std::int32_t zero = to->w_zero();
  const auto fill = [from = w.data, channels, taps, is_signed, zero](std::byte* bytes) {
    auto* const to_weights = reinterpret_cast<float*>(bytes);
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        to_weights[tap * channels + c] =
            static_cast<float>(weight_byte(from, is_signed, c * taps + tap) - zero);
  };
  PX_ASSIGN(auto weights,
            request.packed.get(w.data, fmt::format("{} less {}", layout, zero),
                               channels * taps * static_cast<std::int64_t>(sizeof(float)), fill));
  return std::make_unique<ByteDepthwise>(*shape, std::move(weights), std::move(*to),
                                         kByteDepthwiseTileMacs);
}

}  // namespace parallax
