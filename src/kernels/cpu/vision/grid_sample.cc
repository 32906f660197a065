// GridSample of f32: the taps of a place are the same in all channels and computed once.
#include <algorithm>

#include "kernels/cpu/tiles.h"
#include "kernels/cpu/vision/gather_loops.h"
#include "kernels/reference/grid_sampler.h"

namespace parallax {
namespace {

/// Places whose taps are computed together.
constexpr std::int64_t kPlacesAtOnce = 256;
constexpr std::int64_t kMaxPlane = std::int64_t{1} << 30;

struct GridGeometry {
  GridSampler sampler;
  Dims spatial;
  std::int64_t batch = 0, channels = 0, plane = 0;
  std::int64_t places = 0;  ///< output positions of an image
  std::int64_t taps = 1;    ///< pixels that a place reads
};

std::optional<GridGeometry> grid_geometry(const KernelRequest& request) {
  const Dims& x = request.inputs[0].dims;
  if (request.inputs[0].dtype != DType::kF32 || request.inputs[1].dtype != DType::kF32 ||
      request.inputs[0].elements() == 0 || request.outputs[0].elements() == 0)
    return std::nullopt;
  GridGeometry g;
  g.sampler = grid_sampler(request.node.attributes);
  g.spatial = Dims(x.span().subspan(2));
  g.batch = x[0];
  g.channels = x[1];
  g.plane = g.spatial.elements();
  g.places = request.outputs[0].elements() / g.batch / g.channels;
  for (int axis = 0; axis < g.spatial.rank(); ++axis) g.taps *= g.sampler.count();
  if (g.spatial.rank() > 3 || g.plane > kMaxPlane) return std::nullopt;
  return g;
}

/// Writes the taps of one place, whose coordinates name the last axis first.
void write_place(const GridGeometry& g, const float* at, std::int32_t* index, float* weight) {
  const int axes = g.spatial.rank(), count = g.sampler.count();
  index[0] = 0;
  weight[0] = 1;
  std::int64_t written = 1;
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t size = g.spatial[axis];
    const GridTaps taps = g.sampler.taps(static_cast<double>(at[axes - 1 - axis]), size);
    // From the last tap of the first axes on, so that none is overwritten before it is read.
    for (std::int64_t t = written - 1; t >= 0; --t) {
      const std::int32_t before = index[t * kPlacesAtOnce];
      const float factor = weight[t * kPlacesAtOnce];
      for (int i = count - 1; i >= 0; --i) {
        const GridTap& tap = taps[to_size(i)];
        const std::int64_t to = (t * count + i) * kPlacesAtOnce;
        const bool inside = tap.index >= 0 && factor != 0.0F;
        index[to] = static_cast<std::int32_t>(before * size + std::max<std::int64_t>(tap.index, 0));
        weight[to] = inside ? factor * static_cast<float>(tap.weight) : 0.0F;
      }
    }
    written *= count;
  }
}

/// Places [begin, end) of image `n`.
void sample_places(const GridGeometry& g, std::int64_t n, TileRange places,
                   const KernelArgs& args) {
  auto* const index = reinterpret_cast<std::int32_t*>(args.scratch.data());
  auto* const weight = reinterpret_cast<float*>(index + g.taps * kPlacesAtOnce);
  const int axes = g.spatial.rank();
  for (std::int64_t p = places.begin; p < places.end; p += kPlacesAtOnce) {
    const std::int64_t count = std::min(kPlacesAtOnce, places.end - p);
    const float* const grid = args.in<float>(1) + (n * g.places + p) * axes;
    for (std::int64_t i = 0; i < count; ++i) write_place(g, grid + i * axes, index + i, weight + i);
    const GatheredTaps taps{index, weight, to_size(g.taps), to_size(kPlacesAtOnce), to_size(count)};
    for (std::int64_t c = n * g.channels; c < (n + 1) * g.channels; ++c)
      gather_weighted(args.in<float>(0) + c * g.plane, taps, args.out<float>() + c * g.places + p);
  }
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_grid_sample(const KernelRequest& request) {
  const auto g = grid_geometry(request);
  if (!g) return not_covered();
  const std::int64_t tiles =
      count_tiles(g->places, (g->channels + 16) * g->taps * 2, kTileElements);
  LambdaKernelOptions options;
  options.tiles = g->batch * tiles;
  options.scratch_bytes = g->taps * kPlacesAtOnce * 2 * kFloatBytes;
  return tiled_kernel(
      options, [g = *g, tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        sample_places(g, tile / tiles, tile_range(g.places, tiles, tile % tiles, kTileGranule),
                      args);
        return {};
      });
}

}  // namespace parallax
