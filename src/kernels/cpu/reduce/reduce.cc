// ReduceSum and its kin and GlobalAveragePool of f32 over neighbouring axes, the middle of [outer,
// n, inner], or over two groups of them.
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

/// Returns a shape for each group of adjacent reduced axes, ignoring axes of one element. The
/// `outer` of a shape counts from the group before on, its `inner` to the end of the tensor. At
/// least one shape.
std::vector<ReduceShape> reduce_shapes(const Dims& dims, std::uint32_t mask) {
  std::vector<ReduceShape> shapes(1);
  bool reduced_before = false;
  for (int d = 0; d < dims.rank(); ++d) {
    if (dims[d] == 1) continue;
    const bool reduced = ((mask >> d) & 1U) != 0;
    ReduceShape& last = shapes.back();
    if (reduced && !reduced_before && last.n > 1) {
      shapes.push_back({last.inner, dims[d], 1});
    } else {
      (reduced ? last.n : last.n > 1 ? last.inner : last.outer) *= dims[d];
    }
    reduced_before = reduced;
  }
  for (std::size_t i = shapes.size() - 1; i > 0; --i)
    shapes[i - 1].inner = shapes[i].outer * shapes[i].n * shapes[i].inner;
  return shapes;
}

/// Returns the reduction of results of `reduction` that gives the result over all their elements.
Reduction reduction_of_results(Reduction reduction) {
  return reduction == Reduction::kSquares || reduction == Reduction::kL1 ? Reduction::kSum
                                                                         : reduction;
}

/// Reduces two groups of axes: a tile reduces the first group of some columns into scratch, then
/// the second one. `second` is the shape of `first.inner`, which a tile has several of.
Result<std::unique_ptr<Kernel>> reduce_two_groups(Reduction reduction, ReduceShape first,
                                                  ReduceShape second) {
  LambdaKernelOptions options;
  options.unused_inputs = 0b10;
  const std::int64_t width = second.n * second.inner;
  options.tiles = count_tiles(second.outer, first.outer * first.n * width, kTileElements);
  options.scratch_bytes = tile_count(second.outer, options.tiles) * width * kFloatBytes;
  return tiled_kernel(
      options, [=, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(second.outer, tiles, tile);
        auto* const results = reinterpret_cast<float*>(args.scratch.data());
        const Reduction again = reduction_of_results(reduction);
        for (std::int64_t o = 0; o < first.outer; ++o) {
          reduce_columns(reduction, args.in<float>(0) + o * first.n * first.inner + begin * width,
                         results, to_size((end - begin) * width), to_size(first.n),
                         to_size(first.inner));
          float* const y = args.out<float>() + (o * second.outer + begin) * second.inner;
          if (second.inner == 1) {
            reduce_rows(again, results, y, to_size(end - begin), to_size(second.n));
            continue;
          }
          for (std::int64_t i = 0; i < end - begin; ++i)
            reduce_columns(again, results + i * width, y + i * second.inner, to_size(second.inner),
                           to_size(second.n), to_size(second.inner));
        }
        return {};
      });
}

}  // namespace

/// Creates the kernels of Reduce* of f32 whose axes are known at plan time, in one or two groups of
/// adjacent ones.
Result<std::unique_ptr<Kernel>> cpu_reduce(const KernelRequest& request) {
  const auto reduction = reduction_of(request.node.op);
  const Dims& dims = request.inputs[0].dims;
  const auto mask = reduced_axes(request);
  if (!reduction || request.inputs[0].dtype != DType::kF32 || dims.elements() == 0 || !mask ||
      *mask == 0)
    return not_covered();
  const auto shapes = reduce_shapes(dims, *mask);
  if (*reduction == Reduction::kLogSumExp && shapes.front().inner > 1) return not_covered();
  if (shapes.size() == 1) return reduce_kernel(*reduction, shapes.front(), 0b10);
  const bool small = shapes[1].n * shapes[1].inner <= kTileElements;  // it has to fit scratch
  return shapes.size() == 2 && small && *reduction != Reduction::kLogSum
             ? reduce_two_groups(*reduction, shapes[0], shapes[1])
             : not_covered();
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
