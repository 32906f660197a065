// GridSample and DeformConv: weighted sums of the elements around computed positions, in double
// precision.
#include <fmt/core.h>

#include "kernels/reference/grid_sampler.h"
#include "kernels/reference/image.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

constexpr int kMaxAxes = 3;

/// The taps of each axis around one position on an image.
struct Place {
  std::array<GridTaps, kMaxAxes> taps{};
  int count = 1;  ///< taps along each axis
};

/// Returns the weighted sum of the elements of `plane`, zeros outside, recursing over axes from
/// `axis` on.
template <class T>
double sample(const ImageStrides& x, const Place& place, const T* plane, int axis = 0) {
  if (axis == x.spatial.rank() || axis >= kMaxAxes) return static_cast<double>(*plane);
  const auto at = static_cast<std::size_t>(axis);
  double sum = 0;
  for (int i = 0; i < place.count; ++i) {
    const GridTap& tap = place.taps[at][static_cast<std::size_t>(i)];
    if (tap.index < 0 || tap.weight == 0) continue;
    sum += tap.weight * sample(x, place, plane + tap.index * x.spatial_strides[at], axis + 1);
  }
  return sum;
}

/// Element `i` of a tensor of f32 or f64.
double float_at(const KernelArgs& args, std::size_t input, DType dtype, std::int64_t i) {
  return dtype == DType::kF64 ? args.in<double>(input)[i]
                              : static_cast<double>(args.in<float>(input)[i]);
}

struct GridShape {
  ImageStrides x;
  GridSampler sampler;
  DType grid = DType::kF32;
  std::int64_t places = 0;  ///< output positions per image
};

/// Returns the taps of output position `p` of image `n`; coordinates start with the last axis.
Place grid_place(const GridShape& shape, const KernelArgs& args, std::int64_t n, std::int64_t p) {
  const int axes = shape.x.spatial.rank();
  Place place;
  place.count = shape.sampler.count();
  for (int i = 0; i < axes; ++i) {
    const double at = float_at(args, 1, shape.grid, (n * shape.places + p) * axes + axes - 1 - i);
    place.taps[static_cast<std::size_t>(i)] = shape.sampler.taps(at, shape.x.spatial[i]);
  }
  return place;
}

struct DeformShape {
  ImageStrides x, y;
  WindowAxes axes;
  Dims kernel;
  std::int64_t group_channels = 0, group_filters = 0, offset_channels = 0;
  bool has_bias = false, has_mask = false;

  std::int64_t positions() const { return y.spatial.elements(); }
  std::int64_t taps() const { return kernel.elements(); }
  std::int64_t offset_groups() const { return x.channels / offset_channels; }
};

/// Returns the elements and weights that tap `tap` of offset group `group` reads for output
/// `position` of image `n`.
template <class T>
Place deformed_place(const DeformShape& shape, const KernelArgs& args, std::int64_t n,
                     std::int64_t group, std::int64_t tap, std::int64_t position) {
  const int rank = shape.x.spatial.rank();
  const std::int64_t field = (n * shape.offset_groups() + group) * shape.taps() + tap;
  Place place;
  place.count = 2;
  std::int64_t k = tap, o = position;
  for (int i = rank - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const WindowAxis& axis = shape.axes[at];
    const double offset =
        static_cast<double>(args.in<T>(2)[(field * rank + i) * shape.positions() + position]);
    const std::int64_t start =
        o % axis.out * axis.stride + k % axis.kernel * axis.dilation - axis.pad_begin;
    double x = static_cast<double>(start) + offset;
    x = x > -2 ? std::min(x, static_cast<double>(axis.in) + 2) : -2;
    const double below = std::floor(x);
    for (int t = 0; t < 2; ++t) {
      const std::int64_t index = static_cast<std::int64_t>(below) + t;
      place.taps[at][static_cast<std::size_t>(t)] = {index < 0 || index >= axis.in ? -1 : index,
                                                     t == 0 ? 1 - (x - below) : x - below};
    }
    k /= axis.kernel;
    o /= axis.out;
  }
  return place;
}

/// Output `position` of filter `m` of image `n`.
template <class T>
T deformed_sum(const DeformShape& shape, const KernelArgs& args, std::int64_t n, std::int64_t m,
               std::int64_t position) {
  double sum = shape.has_bias ? static_cast<double>(args.in<T>(3)[m]) : 0.0;
  const std::int64_t first = m / shape.group_filters * shape.group_channels;
  for (std::int64_t i = 0; i < shape.group_channels; ++i) {
    const std::int64_t c = first + i, group = c / shape.offset_channels;
    const T* plane = args.in<T>(0) + n * shape.x.batch_stride + c * shape.x.channel_stride;
    const T* w = args.in<T>(1) + (m * shape.group_channels + i) * shape.taps();
    for (std::int64_t tap = 0; tap < shape.taps(); ++tap) {
      const Place place = deformed_place<T>(shape, args, n, group, tap, position);
      double x = sample(shape.x, place, plane);
      if (shape.has_mask) {
        const std::int64_t field = (n * shape.offset_groups() + group) * shape.taps() + tap;
        x *= static_cast<double>(args.in<T>(4)[field * shape.positions() + position]);
      }
      sum += static_cast<double>(w[tap]) * x;
    }
  }
  return static_cast<T>(sum);
}

Result<DeformShape> deform_shape(const KernelRequest& request) {
  const Node& node = request.node;
  const Dims& w = request.inputs[1].dims;
  const auto params = params_of<DeformConvParams>(node);
  const std::int64_t group = std::max<std::int64_t>(params.group, 1);
  const std::int64_t offsets = std::max<std::int64_t>(params.offset_group, 1);
  DeformShape shape;
  shape.x = image_strides(request.inputs[0].dims, node);
  shape.y = image_strides(request.outputs[0].dims, node);
  shape.kernel = Dims(w.span().subspan(2));
  shape.axes = window_axes(node, shape.x.spatial, shape.y.spatial, shape.kernel.span());
  shape.group_channels = w[1];
  shape.group_filters = std::max<std::int64_t>(w[0] / group, 1);
  shape.offset_channels = std::max<std::int64_t>(shape.x.channels / offsets, 1);
  shape.has_bias = request.has(3);
  shape.has_mask = request.has(4);
  if (shape.x.channels != w[1] * group || w[0] % group != 0 || shape.x.channels % offsets != 0) {
    return make_error(ErrorCode::kInvalidInput,
                      fmt::format("weight {} and groups {} and {} do not fit {} channels",
                                  w.to_string(), group, offsets, shape.x.channels));
  }
  return shape;
}

}  // namespace

KernelResult reference_grid_sample(const KernelRequest& request) {
  const GridShape shape{image_strides(request.inputs[0].dims, request.node),
                        grid_sampler(request.node.attributes), request.inputs[1].dtype,
                        count_of(request.outputs[0].dims, 2, request.outputs[0].dims.rank())};
  if (!contains(kFloatTypes, shape.grid)) return nullptr;
  const std::int64_t channels = shape.x.channels, places = shape.places;
  const std::int64_t units = request.outputs[0].elements() == 0 ? 0 : shape.x.batch * places;
  const std::int64_t tiles = tile_count(
      units, std::max<std::int64_t>(kElementsPerTile / 8 / std::max<std::int64_t>(channels, 1), 1));
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(units, tiles, tile);
          for (std::int64_t u = range.begin; u < range.end; ++u) {
            const std::int64_t n = u / places, p = u % places;
            const Place place = grid_place(shape, args, n, p);
            for (std::int64_t c = 0; c < channels; ++c) {
              const T* plane =
                  args.in<T>(0) + n * shape.x.batch_stride + c * shape.x.channel_stride;
              args.out<T>()[(n * channels + c) * places + p] =
                  convert<T>(sample(shape.x, place, plane));
            }
          }
          return {};
        });
  });
}

KernelResult reference_deform_conv(const KernelRequest& request) {
  PX_ASSIGN(const DeformShape shape, deform_shape(request));
  const std::int64_t units = request.outputs[0].elements(), positions = shape.positions();
  const std::int64_t unit_macs = shape.group_channels * shape.taps() * 16;
  const std::int64_t tiles = tile_count(
      units, std::max<std::int64_t>(kMacsPerTile / std::max<std::int64_t>(unit_macs, 1), 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(units, tiles, tile);
          for (std::int64_t u = range.begin; u < range.end; ++u) {
            const std::int64_t plane = u / positions;
            args.out<T>()[u] = deformed_sum<T>(shape, args, plane / shape.y.channels,
                                               plane % shape.y.channels, u % positions);
          }
          return {};
        });
  });
}

}  // namespace parallax
