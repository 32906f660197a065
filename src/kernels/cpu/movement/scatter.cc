// ScatterElements without a reduction, of indices that cover every axis but their own: each tile
// has some neighbours along the inner axes, and applies their updates in order.
#include <algorithm>

#include "kernels/cpu/tiles.h"
#include "kernels/reference/indexed.h"

namespace parallax {
namespace {

/// Data [outer, axis, inner], indices and updates [outer, count, inner].
struct ScatterShape {
  int axis_number = 0;
  std::int64_t outer = 0, axis = 0, count = 0, inner = 0;
  std::int64_t neighbours = 0;  ///< in a tile; the last tile of a row has fewer

  std::int64_t pieces() const { return tile_count(inner, neighbours); }
};

std::optional<ScatterShape> scatter_shape(const KernelRequest& request) {
  const Dims& data = request.inputs[0].dims;
  const Dims& indices = request.inputs[1].dims;
  if (params_of<ScatterElementsParams>(request.node).reduction != ScatterReduction::kNone ||
      request.inputs[1].dtype != DType::kI64 || data.rank() == 0 || data.rank() != indices.rank())
    return std::nullopt;
  ScatterShape shape;
  shape.axis_number = positive_axis(params_of<AxisParams<0>>(request.node).axis, data.rank());
  for (int i = 0; i < data.rank(); ++i)
    if (i != shape.axis_number && data[i] != indices[i]) return std::nullopt;
  shape.outer = count_of(data, 0, shape.axis_number);
  shape.axis = data[shape.axis_number];
  shape.count = indices[shape.axis_number];
  shape.inner = count_of(data, shape.axis_number + 1, data.rank());
  // Two tiles share no line of a cache.
  shape.neighbours = std::max<std::int64_t>(kAlignment / size_of(request.inputs[0].dtype), 1);
  return shape;
}

/// Copies neighbours [begin, end) of a row of the data, and replaces those that indices name.
template <class T>
Status scatter_piece(const ScatterShape& shape, const T* data, const std::int64_t* indices,
                     const T* updates, TileRange piece, T* y) {
  for (std::int64_t a = 0; a < shape.axis; ++a)
    std::copy(data + a * shape.inner + piece.begin, data + a * shape.inner + piece.end,
              y + a * shape.inner + piece.begin);
  for (std::int64_t i = 0; i < shape.count; ++i) {
    for (std::int64_t c = piece.begin; c < piece.end; ++c) {
      std::int64_t index = indices[i * shape.inner + c];
      if (index < 0 || index >= shape.axis) {
        PX_ASSIGN(index, checked_index(index, shape.axis_number, shape.axis));
      }
      y[index * shape.inner + c] = updates[i * shape.inner + c];
    }
  }
  return {};
}

template <class T>
Result<std::unique_ptr<Kernel>> scatter_kernel(const ScatterShape& shape) {
  const std::int64_t units = shape.outer * shape.pieces();
  LambdaKernelOptions options;
  options.tiles = count_tiles(units, (shape.axis + shape.count) * shape.neighbours, kTileElements);
  const auto run = [shape, units, tiles = options.tiles](std::int64_t tile,
                                                         const KernelArgs& args) -> Status {
    const TileRange range = tile_range(units, tiles, tile);
    for (std::int64_t unit = range.begin; unit < range.end; ++unit) {
      const std::int64_t row = unit / shape.pieces();
      const std::int64_t begin = unit % shape.pieces() * shape.neighbours;
      const std::int64_t from = row * shape.axis * shape.inner;
      const std::int64_t by = row * shape.count * shape.inner;
      PX_RETURN_IF_ERROR(scatter_piece<T>(
          shape, args.in<T>(0) + from, args.in<std::int64_t>(1) + by, args.in<T>(2) + by,
          {begin, std::min(begin + shape.neighbours, shape.inner)}, args.out<T>() + from));
    }
    return {};
  };
  return tiled_kernel(options, run);
}

}  // namespace

/// Creates the kernel of ScatterElements with indices of i64.
Result<std::unique_ptr<Kernel>> cpu_scatter_elements(const KernelRequest& request) {
  const auto shape = scatter_shape(request);
  if (!shape) return not_covered();
  if (request.outputs[0].elements() == 0) return empty_kernel();
  switch (size_of(request.inputs[0].dtype)) {
    case 1:
      return scatter_kernel<std::uint8_t>(*shape);
    case 2:
      return scatter_kernel<std::uint16_t>(*shape);
    case 4:
      return scatter_kernel<std::uint32_t>(*shape);
    case 8:
      return scatter_kernel<std::uint64_t>(*shape);
    default:
      return not_covered();
  }
}

}  // namespace parallax
