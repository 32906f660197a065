// Gather along one axis.
#include <string>

#include "base/status.h"
#include "ir/dtype_sets.h"
#include "kernels/cpu/movement/copy_run.h"
#include "kernels/cpu/tiles.h"
#include "ops/op.h"
#include "ops/params/movement.h"

namespace parallax {
namespace {

Error index_error(std::int64_t index, std::int64_t size) {
  return {Stage::kRun,
          ErrorCode::kOutOfRange,
          {},
          "index " + std::to_string(index) + " is outside an axis of " + std::to_string(size)};
}

struct GatherShape {
  std::int64_t size = 0, row_bytes = 0, indices = 0, rows = 0;
};

template <class Index>
Result<std::unique_ptr<Kernel>> gather_kernel(const GatherShape& shape) {
  LambdaKernelOptions options;
  options.byte_inputs = 0b1;
  options.tiles = count_tiles(shape.rows, shape.row_bytes, kCopyTileBytes);
  return tiled_kernel(
      options, [shape, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(shape.rows, tiles, tile);
        std::int64_t at = begin % shape.indices, base = begin / shape.indices * shape.size;
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t index = args.in<Index>(1)[at];
          if (index < -shape.size || index >= shape.size)
            return tl::unexpected(index_error(index, shape.size));
          const std::int64_t from = base + (index < 0 ? index + shape.size : index);
          if (++at == shape.indices) {
            at = 0;
            base += shape.size;
          }
          copy_run(args.outputs[0] + row * shape.row_bytes, args.inputs[0] + from * shape.row_bytes,
                   to_size(shape.row_bytes));
        }
        return {};
      });
}

}  // namespace

/// Creates the kernel of Gather along any axis. Big tables are read in place from the mapped file.
/// Errors while running: kOutOfRange.
Result<std::unique_ptr<Kernel>> cpu_gather(const KernelRequest& request) {
  const TensorDesc& data = request.inputs[0];
  const auto axis = normalize_axis(params_of<AxisParams<0>>(request.node).axis, data.dims.rank());
  if (!axis || data.elements() == 0 || request.outputs[0].elements() == 0) return not_covered();
  GatherShape shape;
  shape.size = data.dims[*axis];
  shape.row_bytes = inner_bytes(data.dims, *axis + 1, data.dtype);
  shape.indices = request.inputs[1].elements();
  shape.rows = request.outputs[0].bytes() / shape.row_bytes;
  return dispatch<kIndexTypes>(request.inputs[1].dtype, [&](auto type) {
    return gather_kernel<typename decltype(type)::type>(shape);
  });
}

}  // namespace parallax
