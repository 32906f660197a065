// ReduceSum and its kin and GlobalAveragePool of f32 over neighbouring axes: the middle of
// [outer, n, inner].
#include <algorithm>
#include <cstring>

#include "kernels/cpu/reduce/reduce_loops.h"
#include "kernels/cpu/tiles.h"
#include "ops/op.h"
#include "ops/params/reduce.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

struct ReduceShape {
  std::int64_t outer = 1, n = 1, inner = 1;
};

Result<std::unique_ptr<Kernel>> reduce_kernel(Reduction reduction, ReduceShape shape,
                                              std::uint32_t unused_inputs) {
  LambdaKernelOptions options;
  options.unused_inputs = unused_inputs;
  const auto [outer, n, inner] = shape;
  const std::int64_t per_tile = std::max<std::int64_t>(kTileElements / n, 1);
  if (inner == 1) {
    options.tiles = count_tiles(outer, n, kTileElements);
    return tiled_kernel(options,
                        [reduction, rows = outer, length = n, tiles = options.tiles](
                            std::int64_t tile, const KernelArgs& args) -> Status {
                          const auto [begin, end] = tile_range(rows, tiles, tile);
                          reduce_rows(reduction, args.in<float>(0) + begin * length,
                                      args.out<float>() + begin, to_size(end - begin),
                                      to_size(length));
                          return {};
                        });
  }
  const std::int64_t chunks = tile_count(inner, std::max(per_tile, kTileGranule));
  const std::int64_t groups = chunks > 1 ? outer : count_tiles(outer, n * inner, kTileElements);
  options.tiles = groups * chunks;
  return tiled_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
    const auto block = tile_range(shape.outer, groups, tile / chunks);
    const auto columns = tile_range(shape.inner, chunks, tile % chunks, kTileGranule);
    for (std::int64_t o = block.begin; o < block.end; ++o)
      reduce_columns(reduction, args.in<float>(0) + o * shape.n * shape.inner + columns.begin,
                     args.out<float>() + o * shape.inner + columns.begin,
                     to_size(columns.end - columns.begin), to_size(shape.n), to_size(shape.inner));
    return {};
  });
}

std::optional<Reduction> reduction_of(OpKind op) {
  switch (op) {
    case OpKind::kReduceSum:
      return Reduction::kSum;
    case OpKind::kReduceSumSquare:
      return Reduction::kSquares;
    case OpKind::kReduceMean:
      return Reduction::kMean;
    case OpKind::kReduceMax:
      return Reduction::kMax;
    case OpKind::kReduceMin:
      return Reduction::kMin;
    case OpKind::kReduceL1:
      return Reduction::kL1;
    case OpKind::kReduceL2:
      return Reduction::kL2;
    case OpKind::kReduceLogSum:
      return Reduction::kLogSum;
    case OpKind::kReduceLogSumExp:
      return Reduction::kLogSumExp;
    default:
      return std::nullopt;
  }
}

/// Returns a mask whose bit d says that dimension d is reduced; nullopt if the axes are not known
/// at plan time.
std::optional<std::uint32_t> reduced_axes(const KernelRequest& request) {
  const int rank = request.inputs[0].dims.rank();
  const std::uint32_t all = (std::uint32_t{1} << rank) - 1;
  const bool noop = params_of<ReduceParams>(request.node).noop_with_empty_axes;
  if (!request.has(1)) return noop ? 0 : all;
  const TensorDesc& axes = request.inputs[1];
  if (axes.elements() == 0) return noop ? 0 : all;
  if (axes.data == nullptr || axes.dtype != DType::kI64) return std::nullopt;
  std::uint32_t mask = 0;
  for (std::int64_t i = 0; i < axes.elements(); ++i) {
    std::int64_t axis = 0;
    std::memcpy(&axis, axes.data + i * 8, sizeof(axis));
    const auto normal = normalize_axis(axis, rank);
    if (!normal) return std::nullopt;
    mask |= std::uint32_t{1} << *normal;
  }
  return mask;
}

/// Returns the tensor as [outer, n, inner] if the reduced axes are adjacent, ignoring axes of one
/// element.
std::optional<ReduceShape> reduce_shape(const Dims& dims, std::uint32_t mask) {
  ReduceShape shape;
  int stage = 0;  // 0: before the reduced axes, 1: among them, 2: after them
  for (int d = 0; d < dims.rank(); ++d) {
    if (dims[d] == 1) continue;
    const bool reduced = ((mask >> d) & 1U) != 0;
    if (stage == 0 && reduced) stage = 1;
    if (stage == 1 && !reduced) stage = 2;
    if (stage == 2 && reduced) return std::nullopt;
    (stage == 0 ? shape.outer : stage == 1 ? shape.n : shape.inner) *= dims[d];
  }
  return shape;
}

}  // namespace

/// Creates the kernels of Reduce* of f32 whose axes are known at plan time and adjacent.
Result<std::unique_ptr<Kernel>> cpu_reduce(const KernelRequest& request) {
  const auto reduction = reduction_of(request.node.op);
  const Dims& dims = request.inputs[0].dims;
  const auto mask = reduced_axes(request);
  if (!reduction || request.inputs[0].dtype != DType::kF32 || dims.elements() == 0 || !mask ||
      *mask == 0)
    return not_covered();
  const auto shape = reduce_shape(dims, *mask);
  if (!shape || (*reduction == Reduction::kLogSumExp && shape->inner > 1)) return not_covered();
  return reduce_kernel(*reduction, *shape, 0b10);
}

/// Creates the kernels of GlobalAveragePool and GlobalMaxPool of f32, NCHW or NHWC.
Result<std::unique_ptr<Kernel>> cpu_global_pool(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  if (request.inputs[0].dtype != DType::kF32 || dims.rank() < 3 || dims.elements() == 0)
    return not_covered();
  const bool nhwc = channels_last(request.node);
  const std::int64_t channels = dims[nhwc ? dims.rank() - 1 : 1];
  const std::int64_t plane = dims.elements() / dims[0] / channels;
  return reduce_kernel(
      request.node.op == OpKind::kGlobalMaxPool ? Reduction::kMax : Reduction::kMean,
      nhwc ? ReduceShape{dims[0], plane, channels} : ReduceShape{dims[0] * channels, plane, 1}, 0);
}

}  // namespace parallax
