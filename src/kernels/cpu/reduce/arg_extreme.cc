// ArgMax and ArgMin of f32.
#include <algorithm>
#include <limits>

#include "kernels/cpu/reduce/arg_loops.h"
#include "kernels/cpu/tiles.h"
#include "ops/op.h"
#include "ops/params/reduce.h"

namespace parallax {

Result<std::unique_ptr<Kernel>> cpu_arg_extreme(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const auto axis = normalize_axis(params_of<AxisParams<0>>(request.node).axis, dims.rank());
  if (!axis || dims.elements() == 0 || dims[*axis] > std::numeric_limits<std::int32_t>::max())
    return not_covered();
  const ArgSearch search{request.node.op == OpKind::kArgMin,
                         params_of<ArgParams>(request.node).select_last_index};
  std::int64_t outer = 1, inner = 1;
  for (int d = 0; d < *axis; ++d) outer *= dims[d];
  for (int d = *axis + 1; d < dims.rank(); ++d) inner *= dims[d];
  const std::int64_t n = dims[*axis];
  const std::int64_t chunks =
      inner == 1 ? 1 : tile_count(inner, std::max<std::int64_t>(kTileElements / n, kTileGranule));
  LambdaKernelOptions options;
  const std::int64_t groups = chunks > 1 ? outer : count_tiles(outer, n * inner, kTileElements);
  options.tiles = groups * chunks;
  return tiled_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
    const auto block = tile_range(outer, groups, tile / chunks);
    const auto columns = tile_range(inner, chunks, tile % chunks, kTileGranule);
    const float* x = args.in<float>(0);
    auto* y = args.out<std::int64_t>();
    if (inner == 1) {
      arg_rows(search, x + block.begin * n, y + block.begin, to_size(block.end - block.begin),
               to_size(n));
      return {};
    }
    for (std::int64_t o = block.begin; o < block.end; ++o)
      arg_columns(search, x + o * n * inner + columns.begin, y + o * inner + columns.begin,
                  to_size(columns.end - columns.begin), to_size(n), to_size(inner));
    return {};
  });
}

}  // namespace parallax
