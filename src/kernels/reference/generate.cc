// Operators that generate tensors from shapes or scalars: Shape, Size, ConstantOfShape, Range.
#include <algorithm>

#include "kernels/reference/common.h"
#include "ops/params/movement.h"
#include "ops/params/numbers.h"
#include "parallax/elements.h"

namespace parallax {

/// The dimensions are known when the kernel is made: the input is never read.
KernelResult reference_shape(const KernelRequest& request) {
  const Dims dims = request.inputs[0].dims;
  const std::int64_t rank = dims.rank();
  std::int64_t start = params_of<ShapeParams>(request.node).start;
  start = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
  const std::int64_t count = std::min(request.outputs[0].elements(), rank - start);
  return make_lambda_kernel({.tiles = tile_count(count, 1) > 0 ? 1 : 0, .unused_inputs = 1},
                            [=](std::int64_t, const KernelArgs& args) -> Status {
                              std::copy_n(dims.begin() + start, count, args.out<std::int64_t>());
                              return {};
                            });
}

KernelResult reference_size(const KernelRequest& request) {
  const std::int64_t count = request.inputs[0].elements();
  return make_lambda_kernel({.unused_inputs = 1},
                            [=](std::int64_t, const KernelArgs& args) -> Status {
                              *args.out<std::int64_t>() = count;
                              return {};
                            });
}

/// Repeats the bytes of `value`; for elements smaller than a byte, a byte filled with them.
KernelResult reference_constant_of_shape(const KernelRequest& request) {
  const TensorDesc& output = request.outputs[0];
  const auto size = static_cast<std::size_t>(alignment_of(output.dtype));
  std::array<std::byte, 8> value{};
  const auto constant = params_of<ConstantOfShapeParams>(request.node).value;
  if (constant) {
    if (constant->dims.elements() != 1 || constant->bytes.size() != size)
      return make_error(ErrorCode::kInvalidModel, "value must have one element");
    std::memcpy(value.data(), constant->bytes.data(), size);
    const int bits = info_of(output.dtype).bits;
    const DType raw = bits == 2 ? DType::kU2 : DType::kU4;
    for (int i = 1; i * bits < 8; ++i)
      write_element(raw, read_element<std::uint8_t>(raw, value.data(), 0), value.data(), i);
  }
  const std::int64_t count = output.bytes() / alignment_of(output.dtype);
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  return make_lambda_kernel({.tiles = tiles, .unused_inputs = 1},
                            [=](std::int64_t tile, const KernelArgs& args) -> Status {
                              const TileRange range = tile_range(count, tiles, tile);
                              std::byte* at =
                                  args.outputs[0] + range.begin * static_cast<std::int64_t>(size);
                              for (std::int64_t i = range.begin; i < range.end; ++i, at += size)
                                std::memcpy(at, value.data(), size);
                              return {};
                            });
}

/// Writes start + i * delta; the output's shape determines the number of elements.
KernelResult reference_range(const KernelRequest& request) {
  return make_for<kWideTypes>(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    const std::int64_t count = request.outputs[0].elements();
    const std::int64_t tiles = tile_count(count, kElementsPerTile);
    return make_lambda_kernel({.tiles = tiles, .byte_inputs = 0b101, .unused_inputs = 0b010},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(count, tiles, tile);
                                const T start = load_element<T>(args.inputs[0], 0);
                                const T delta = load_element<T>(args.inputs[2], 0);
                                for (std::int64_t i = range.begin; i < range.end; ++i) {
                                  args.out<T>()[i] =
                                      wrap_add(start, wrap_mul(static_cast<T>(i), delta));
                                }
                                return {};
                              });
  });
}

}  // namespace parallax
