// Gather, GatherND, ScatterND: elements picked by index tensors. Negative indices count from the
// end.
#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/reference/indexed.h"
#include "ops/params/indexing.h"

namespace parallax {
namespace {

/// Returns the element offset that `depth` indices at `indices` select along axes [first,
/// first + depth). Errors: kOutOfRange.
Result<std::int64_t> indexed_offset(const std::byte* indices, std::int64_t at, std::int64_t depth,
                                    int first, const Dims& dims, const Strides& strides) {
  std::int64_t offset = 0;
  for (std::int64_t k = 0; k < depth; ++k) {
    const int axis = first + static_cast<int>(k);
    PX_ASSIGN(const std::int64_t index,
              checked_index(load_element<std::int64_t>(indices, at + k), axis, dims[axis]));
    offset += index * strides[static_cast<std::size_t>(axis)];
  }
  return offset;
}

}  // namespace

KernelResult reference_gather(const KernelRequest& request) {
  const Dims& data = request.inputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<0>>(request.node).axis, data.rank());
  const std::int64_t dim = data[axis];
  const std::int64_t block =
      count_of(data, axis + 1, data.rank()) * size_of(request.inputs[0].dtype);
  const std::int64_t count = request.inputs[1].elements();
  const std::int64_t blocks = block == 0 ? 0 : count_of(data, 0, axis) * count;
  const std::int64_t per_tile =
      std::max<std::int64_t>(4 * kElementsPerTile / std::max<std::int64_t>(block, 16), 1);
  const std::int64_t tiles = tile_count(blocks, per_tile);
  const DType index_type = request.inputs[1].dtype;
  return make_lambda_kernel(
      {.tiles = tiles, .byte_inputs = 0b11},
      [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(blocks, tiles, tile);
        for (std::int64_t i = range.begin; i < range.end; ++i) {
          PX_ASSIGN(const std::int64_t index,
                    checked_index(load_index(args.inputs[1], index_type, i % count), axis, dim));
          std::memcpy(args.outputs[0] + i * block,
                      args.inputs[0] + (i / count * dim + index) * block,
                      static_cast<std::size_t>(block));
        }
        return {};
      });
}

KernelResult reference_gather_nd(const KernelRequest& request) {
  const Dims data = request.inputs[0].dims;
  const Dims& indices = request.inputs[1].dims;
  const int batch_dims = static_cast<int>(params_of<GatherNDParams>(request.node).batch_dims);
  const std::int64_t depth = indices[indices.rank() - 1];
  const int end = batch_dims + static_cast<int>(depth);
  if (depth < 0 || end > data.rank())
    return make_error(ErrorCode::kInvalidInput, "indices are too deep");
  const std::int64_t size = size_of(request.inputs[0].dtype);
  const std::int64_t block = count_of(data, end, data.rank()) * size;
  const std::int64_t per_batch = count_of(indices, batch_dims, indices.rank() - 1);
  const std::int64_t batch_bytes = count_of(data, batch_dims, data.rank()) * size;
  const std::int64_t blocks =
      request.outputs[0].elements() == 0 ? 0 : count_of(data, 0, batch_dims) * per_batch;
  return make_lambda_kernel(
      {.tiles = blocks > 0 ? 1 : 0, .byte_inputs = 0b11},
      [=](std::int64_t, const KernelArgs& args) -> Status {
        const Strides strides = row_major_strides(data);
        for (std::int64_t i = 0; i < blocks; ++i) {
          PX_ASSIGN(const std::int64_t offset,
                    indexed_offset(args.inputs[1], i * depth, depth, batch_dims, data, strides));
          std::memcpy(args.outputs[0] + i * block,
                      args.inputs[0] + i / per_batch * batch_bytes + offset * size,
                      static_cast<std::size_t>(block));
        }
        return {};
      });
}

/// Updates are applied in order: the last of several for one element wins.
KernelResult reference_scatter_nd(const KernelRequest& request) {
  return make_for<kAllTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    const Dims data = request.inputs[0].dims;
    const Dims& indices = request.inputs[1].dims;
    const std::int64_t depth = indices[indices.rank() - 1];
    if (depth > data.rank()) return make_error(ErrorCode::kInvalidInput, "indices are too deep");
    const ScatterReduction reduction = params_of<ScatterNDParams>(request.node).reduction;
    const std::int64_t block = count_of(data, static_cast<int>(depth), data.rank());
    const std::int64_t blocks = block == 0 ? 0 : count_of(indices, 0, indices.rank() - 1);
    const std::int64_t bytes = request.inputs[0].bytes();
    if (blocks * block != request.inputs[2].elements()) {
      return make_error(ErrorCode::kInvalidInput, "updates do not match the indices");
    }
    return make_lambda_kernel(
        {.tiles = bytes > 0 ? 1 : 0, .byte_inputs = 0b111},
        [=](std::int64_t, const KernelArgs& args) -> Status {
          const Strides strides = row_major_strides(data);
          std::memcpy(args.outputs[0], args.inputs[0], static_cast<std::size_t>(bytes));
          for (std::int64_t i = 0; i < blocks; ++i) {
            PX_ASSIGN(const std::int64_t offset,
                      indexed_offset(args.inputs[1], i * depth, depth, 0, data, strides));
            for (std::int64_t k = 0; k < block; ++k) {
              T& place = args.out<T>()[offset + k];
              place = reduce(reduction, place, load_element<T>(args.inputs[2], i * block + k));
            }
          }
          return {};
        });
  });
}

}  // namespace parallax
