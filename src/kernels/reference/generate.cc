// Operators that make tensors out of little: Shape, Size, ConstantOfShape, Range.
#include <algorithm>

#include "kernels/reference/common.h"

namespace parallax {

/// The dimensions are known when the kernel is made: the input is never read.
KernelResult reference_shape(const KernelRequest& request) {
  const Dims dims = request.inputs[0].dims;
  const std::int64_t rank = dims.rank();
  std::int64_t start = request.node.attributes.get_int("start", 0);
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

KernelResult reference_constant_of_shape(const KernelRequest& request) {
  const TensorDesc& output = request.outputs[0];
  const std::int64_t size = size_of(output.dtype);
  std::array<std::byte, 8> value{};
  const AttributeValue* attribute = request.node.attributes.find("value");
  const Constant* constant = attribute == nullptr ? nullptr : std::get_if<Constant>(attribute);
  if (constant != nullptr) {
    if (static_cast<std::int64_t>(constant->bytes.size()) != size) {
      return make_error(ErrorCode::kInvalidModel, "value must have one element");
    }
    std::memcpy(value.data(), constant->bytes.data(), constant->bytes.size());
  }
  const std::int64_t count = output.elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  return make_lambda_kernel({.tiles = tiles, .unused_inputs = 1},
                            [=](std::int64_t tile, const KernelArgs& args) -> Status {
                              const TileRange range = tile_range(count, tiles, tile);
                              for (std::int64_t i = range.begin; i < range.end; ++i) {
                                std::memcpy(args.outputs[0] + i * size, value.data(),
                                            static_cast<std::size_t>(size));
                              }
                              return {};
                            });
}

/// start + i * delta; how many follows from the output's shape.
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
