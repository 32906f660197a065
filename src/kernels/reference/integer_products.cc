// MatMulInteger and ConvInteger: sums of products of integers, modulo 2^32, and the scaling, bias,
// activation and requantisation that graph passes fuse into them. A unit of work is one element of
// the result.
#include "kernels/reference/activation.h"
#include "kernels/reference/image.h"
#include "kernels/reference/quantised.h"
#include "ops/params/quantised.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Turns an i32 sum into an output element: scales, adds the bias, activates and requantises it.
struct Finish {
  bool scaled = false, requantised = false, has_bias = false, has_table = false;
  Activation activation;
  DType zero = DType::kU8;
  std::array<std::byte, kByteTableSize> table{};

  explicit Finish(const KernelRequest& request)
      : scaled(has_scales(request.node)),
        requantised(is_requantised(request.node)),
        has_bias(request.has(kProductBias)),
        activation(request.node.epilogue.activation) {
    if (requantised) zero = request.inputs[kProductYZero].dtype;
    const auto constant = byte_table(request.node).value_or(Constant{});
    has_table = std::ssize(constant.bytes) == kByteTableSize;
    if (has_table) std::memcpy(table.data(), constant.bytes.data(), table.size());
  }

  /// Writes element `i`, whose bias is element `line`.
  void write(const KernelArgs& args, std::int64_t i, std::int32_t sum, float scale,
             std::int64_t line) const {
    if (!scaled) {
      args.out<std::int32_t>()[i] = sum;
      return;
    }
    float real = static_cast<float>(sum) * scale;
    if (has_bias) real += load_element<float>(args.inputs[kProductBias], line);
    real = activate(activation, real);
    if (!requantised) {
      args.out<float>()[i] = real;
      return;
    }
    const std::int64_t y =
        quantised(real, load_element<float>(args.inputs[kProductYScale], 0),
                  load_integer(zero, args.inputs[kProductYZero], 0), *integer_range(zero));
    auto byte = static_cast<std::byte>(static_cast<std::uint8_t>(y));
    if (has_table) byte = table[std::to_integer<std::uint8_t>(byte)];
    args.out<std::byte>()[i] = byte;
  }
};

/// An operand, with the zero point and scale of each of its lines.
struct Operand {
  std::size_t input = 0;
  DType dtype = DType::kU8;
  bool has_zero = false;
  std::int64_t zeros = 1, scales = 1;

  Operand(const KernelRequest& request, ProductInput which)
      : input(which),
        dtype(request.inputs[which].dtype),
        has_zero(request.has(which + kProductXZero)) {
    if (has_zero) zeros = request.inputs[which + kProductXZero].elements();
    if (has_scales(request.node)) scales = request.inputs[which + kProductXScale].elements();
  }

  std::int64_t zero(const KernelArgs& args, std::int64_t line) const {
    if (!has_zero) return 0;
    return load_integer(dtype, args.inputs[input + kProductXZero], zeros == 1 ? 0 : line);
  }
  float scale(const KernelArgs& args, std::int64_t line) const {
    return load_element<float>(args.inputs[input + kProductXScale], scales == 1 ? 0 : line);
  }
  std::int64_t element(const KernelArgs& args, std::int64_t i) const {
    return load_integer(dtype, args.inputs[input], i);
  }
};

/// Sums wrap in 32 bits.
void add_product(std::int32_t& sum, std::int64_t a, std::int64_t b) {
  sum = wrap_add(sum, static_cast<std::int32_t>(a * b));
}

constexpr std::uint32_t kByteInputs = (1U << kProductInputs) - 1U;

/// Batch dimensions of a matrix product, and the strides of each operand over them.
struct MatrixBatch {
  Dims dims;
  Strides a{}, b{};
};
Dims without_matrix(const Dims& dims) {
  return Dims(dims.span().first(static_cast<std::size_t>(std::max(dims.rank() - 2, 0))));
}
std::int64_t offset_in_batch(const Dims& dims, const Strides& strides, std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    offset += index % dims[axis] * strides[static_cast<std::size_t>(axis)];
    index /= dims[axis];
  }
  return offset;
}

}  // namespace

KernelResult reference_matmul_integer(const KernelRequest& request) {
  const Dims& a = request.inputs[kProductX].dims;
  const Dims& b = request.inputs[kProductW].dims;
  const Dims& y = request.outputs[0].dims;
  const std::int64_t depth = a[a.rank() - 1];
  const std::int64_t rows = a.rank() > 1 ? a[a.rank() - 2] : 1;
  const std::int64_t columns = b.rank() > 1 ? b[b.rank() - 1] : 1;
  const int matrix = (a.rank() > 1 ? 1 : 0) + (b.rank() > 1 ? 1 : 0);
  MatrixBatch batch{Dims(y.span().first(static_cast<std::size_t>(y.rank() - matrix))), {}, {}};
  // In matrices.
  batch.a = broadcast_strides(without_matrix(a), batch.dims);
  batch.b = broadcast_strides(without_matrix(b), batch.dims);
  const Operand left(request, kProductX), right(request, kProductW);
  const Finish finish(request);
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles =
      tile_count(count, std::max<std::int64_t>(kMacsPerTile / std::max<std::int64_t>(depth, 1), 1));
  // Lines of one matrix serve all of a batch, or each has its own.
  const bool own_zeros = left.zeros > rows || left.scales > rows;
  const bool own_columns = right.zeros > columns || right.scales > columns;
  return make_lambda_kernel(
      {.tiles = tiles, .byte_inputs = kByteInputs},
      [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(count, tiles, tile);
        for (std::int64_t i = range.begin; i < range.end; ++i) {
          const std::int64_t column = i % columns, row = i / columns % rows;
          const std::int64_t index = i / columns / rows;
          const std::int64_t at_a = offset_in_batch(batch.dims, batch.a, index);
          const std::int64_t at_b = offset_in_batch(batch.dims, batch.b, index);
          const std::int64_t a_line = own_zeros ? at_a * rows + row : row;
          const std::int64_t b_line = own_columns ? at_b * columns + column : column;
          const std::int64_t a_zero = left.zero(args, a_line), b_zero = right.zero(args, b_line);
          std::int32_t sum = 0;
          for (std::int64_t k = 0; k < depth; ++k)
            add_product(sum, left.element(args, (at_a * rows + row) * depth + k) - a_zero,
                        right.element(args, (at_b * depth + k) * columns + column) - b_zero);
          const float scale =
              finish.scaled ? left.scale(args, a_line) * right.scale(args, b_line) : 1.0F;
          finish.write(args, i, sum, scale, column);
        }
        return {};
      });
}

namespace {

struct IntegerConvolution {
  ImageStrides x, y;
  WindowAxes axes;
  Dims kernel;
  std::int64_t group_channels = 0, group_filters = 0, taps = 0;
};

/// Returns the sum of filter `m` at `position` of image `n`; padding adds 0.
std::int32_t window_sum(const IntegerConvolution& shape, const Operand& image,
                        const Operand& filters, const KernelArgs& args, std::int64_t n,
                        std::int64_t position, std::int64_t m) {
  Dims o = shape.y.spatial;
  for (int axis = o.rank() - 1; axis >= 0; --axis) {
    o[axis] = position % shape.y.spatial[axis];
    position /= shape.y.spatial[axis];
  }
  const std::int64_t x_zero = image.zero(args, 0), w_zero = filters.zero(args, m);
  const std::int64_t first_channel = m / shape.group_filters * shape.group_channels;
  std::int32_t sum = 0;
  for (std::int64_t tap = 0; tap < shape.taps; ++tap) {
    std::int64_t offset = 0, rest = tap;
    bool inside = true;
    for (int axis = o.rank() - 1; axis >= 0; --axis) {
      const WindowAxis& a = shape.axes[static_cast<std::size_t>(axis)];
      const std::int64_t in = o[axis] * a.stride + rest % a.kernel * a.dilation - a.pad_begin;
      rest /= a.kernel;
      inside = inside && in >= 0 && in < a.in;
      offset += in * shape.x.spatial_strides[static_cast<std::size_t>(axis)];
    }
    for (std::int64_t c = 0; inside && c < shape.group_channels; ++c) {
      const std::int64_t at =
          n * shape.x.batch_stride + (first_channel + c) * shape.x.channel_stride + offset;
      add_product(
          sum, image.element(args, at) - x_zero,
          filters.element(args, (m * shape.group_channels + c) * shape.taps + tap) - w_zero);
    }
  }
  return sum;
}

}  // namespace

KernelResult reference_conv_integer(const KernelRequest& request) {
  const Dims& w = request.inputs[kProductW].dims;
  IntegerConvolution shape;
  shape.x = image_strides(request.inputs[kProductX].dims, request.node);
  shape.y = image_strides(request.outputs[0].dims, request.node);
  shape.kernel = Dims(w.span().subspan(2));
  shape.axes = window_axes(request.node, shape.x.spatial, shape.y.spatial, shape.kernel.span());
  const std::int64_t group = groups_of(request.node);
  shape.group_channels = w[1];
  shape.group_filters = std::max<std::int64_t>(w[0] / group, 1);
  shape.taps = count_of(w, 2, w.rank());
  if (shape.x.channels != w[1] * group || shape.y.channels != w[0] || w[0] % group != 0)
    return make_error(ErrorCode::kInvalidInput, "weight and group do not fit the channels");
  const Operand image(request, kProductX), filters(request, kProductW);
  const Finish finish(request);
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t positions = count_of(shape.y.spatial, 0, shape.y.spatial.rank());
  const std::int64_t unit = std::max<std::int64_t>(shape.group_channels * shape.taps, 1);
  const std::int64_t tiles = tile_count(count, std::max<std::int64_t>(kMacsPerTile / unit, 1));
  return make_lambda_kernel(
      {.tiles = tiles, .byte_inputs = kByteInputs},
      [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(count, tiles, tile);
        for (std::int64_t u = range.begin; u < range.end; ++u) {
          const std::int64_t m = u / positions % w[0], n = u / positions / w[0];
          std::int64_t at = n * shape.y.batch_stride + m * shape.y.channel_stride;
          std::int64_t rest = u % positions;
          for (int axis = shape.y.spatial.rank() - 1; axis >= 0; --axis) {
            at += rest % shape.y.spatial[axis] *
                  shape.y.spatial_strides[static_cast<std::size_t>(axis)];
            rest /= shape.y.spatial[axis];
          }
          const std::int32_t sum = window_sum(shape, image, filters, args, n, u % positions, m);
          const float scale = finish.scaled ? image.scale(args, 0) * filters.scale(args, m) : 1.0F;
          finish.write(args, at, sum, scale, m);
        }
        return {};
      });
}

}  // namespace parallax
