// InstanceNormalization and GroupNormalization of f32 [batch, channels, ...]: a group lies in one
// piece, whose statistics are computed first.
#include <algorithm>

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/reduce/softmax_loops.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/normalization.h"

namespace parallax {
namespace {

struct GroupShape {
  std::int64_t groups = 0;   ///< groups of all images
  std::int64_t members = 0;  ///< channels of a group
  std::int64_t channels = 0, plane = 1;
  float epsilon = 0;
};

void normalize_group(const GroupShape& shape, std::int64_t group, const KernelArgs& args) {
  const std::int64_t count = shape.members * shape.plane;
  const float* x = args.in<float>(0) + group * count;
  float* y = args.out<float>() + group * count;
  const RowMoments moments = row_moments(x, to_size(count), shape.epsilon);
  const std::int64_t first = group * shape.members % shape.channels;
  for (std::int64_t c = first; c < first + shape.members; ++c, x += shape.plane, y += shape.plane) {
    normalize(x, y, to_size(shape.plane), moments.mean,
              moments.inverse_deviation * args.in<float>(1)[c], args.in<float>(2)[c]);
  }
}

}  // namespace

/// Creates the kernel for nodes with one scale and one bias for each channel.
Result<std::unique_ptr<Kernel>> cpu_group_normalization(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  if (dims.rank() < 2 || dims.elements() == 0) return not_covered();
  for (const TensorDesc& input : request.inputs)
    if (input.dtype != DType::kF32) return not_covered();
  GroupShape shape;
  shape.channels = dims[1];
  for (int axis = 2; axis < dims.rank(); ++axis) shape.plane *= dims[axis];
  const std::int64_t groups = request.node.op == OpKind::kInstanceNormalization
                                  ? shape.channels
                                  : params_of<GroupNormalizationParams>(request.node).num_groups;
  for (std::size_t i = 1; i < 3; ++i)
    if (request.inputs[i].elements() != shape.channels) return not_covered();
  if (groups < 1 || shape.channels % groups != 0) return not_covered();
  shape.members = shape.channels / groups;
  shape.groups = dims[0] * groups;
  shape.epsilon = params_of<EpsilonParams>(request.node).epsilon;
  LambdaKernelOptions options;
  options.tiles = count_tiles(shape.groups, shape.members * shape.plane, kTileElements);
  return tiled_kernel(
      options, [=, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(shape.groups, tiles, tile);
        for (std::int64_t group = begin; group < end; ++group) normalize_group(shape, group, args);
        return {};
      });
}

}  // namespace parallax
