// MaxRoiPool and RoiAlign. Regions may lie anywhere; only elements of the image are visited.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "ops/params/sampling.h"

namespace parallax {
namespace {

struct RoiShape {
  std::int64_t images = 0, channels = 0, height = 0, width = 0, rows = 0, columns = 0;
  double scale = 1;
  // Attributes of RoiAlign alone:
  bool half_pixel = false, largest = false;
  std::int64_t samples = 0;  ///< along each side of a cell; 0: as many as its size says

  std::int64_t cells() const { return rows * columns; }
};

RoiShape roi_shape(const KernelRequest& request) {
  const Dims& x = request.inputs[0].dims;
  const Dims& y = request.outputs[0].dims;
  const auto params = params_of<RoiAlignParams>(request.node);  // MaxRoiPool has the scale alone
  RoiShape shape{x[0], x[1], x[2], x[3], y[2], y[3]};
  shape.scale = static_cast<double>(params.spatial_scale);
  shape.half_pixel = params.coordinates == RoiCoordinates::kHalfPixel;
  shape.largest = params.mode == RoiMode::kMax;
  shape.samples = params.sampling_ratio;
  return shape;
}

/// Makes a kernel that calls compute(region, channel, args) for each pair of region and channel.
template <class Compute>
KernelResult roi_kernel(const KernelRequest& request, const RoiShape& shape, Compute compute) {
  const std::int64_t units =
      request.outputs[0].elements() == 0 ? 0 : request.outputs[0].dims[0] * shape.channels;
  const std::int64_t tiles =
      tile_count(units, std::max<std::int64_t>(kElementsPerTile / 16 / shape.cells(), 1));
  return make_lambda_kernel(
      {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(units, tiles, tile);
        for (std::int64_t u = range.begin; u < range.end; ++u) {
          PX_RETURN_IF_ERROR(compute(u / shape.channels, u % shape.channels, args));
        }
        return {};
      });
}

tl::unexpected<Error> no_image(std::int64_t region) {
  return run_error(ErrorCode::kOutOfRange,
                   fmt::format("region {} is of an image that there is not", region));
}

/// Returns `x` as an integer, limited to [-2^40, 2^40]; 0 for NaN.
std::int64_t bounded(double x) {
  constexpr double kMax = 1099511627776.0;
  return x == x ? static_cast<std::int64_t>(std::clamp(x, -kMax, kMax)) : 0;
}

/// Returns the elements [begin, end) of an axis that belong to cell `cell` of `cells` of the region
/// [from, to].
TileRange cell_range(double from, double to, std::int64_t cell, std::int64_t cells,
                     std::int64_t size) {
  const std::int64_t start = bounded(std::round(from)), end = bounded(std::round(to));
  const auto length = static_cast<double>(std::max<std::int64_t>(end - start + 1, 1));
  const double step = length / static_cast<double>(cells);
  const std::int64_t first =
      start + static_cast<std::int64_t>(std::floor(static_cast<double>(cell) * step));
  const std::int64_t last =
      start + static_cast<std::int64_t>(std::ceil(static_cast<double>(cell + 1) * step));
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, size);
  return {begin, std::max(begin, std::clamp<std::int64_t>(last, 0, size))};
}

/// Returns the largest element of a cell, 0 if it is empty.
template <class T>
T largest_of(const T* plane, std::int64_t width, TileRange rows, TileRange columns) {
  if (rows.begin == rows.end || columns.begin == columns.end) return T{0};
  T largest = plane[rows.begin * width + columns.begin];
  for (std::int64_t y = rows.begin; y < rows.end; ++y) {
    for (std::int64_t x = columns.begin; x < columns.end; ++x) {
      const T element = plane[y * width + x];
      if (element > largest || element != element) largest = element;
      if (largest != largest) return largest;
    }
  }
  return largest;
}

/// Samples of one cell along one axis: `count` of them, `step` apart from `first` on, of which
/// those of `inside` may lie on the image.
template <class T>
struct Samples {
  T first = 0, step = 0;
  double count = 0;
  TileRange inside{0, 0};

  T at(std::int64_t i) const { return first + (static_cast<T>(i) + T(0.5)) * step; }
};

/// Returns the samples of cell `cell` of `cells` of the region [from, from + length) of an axis of
/// `size` elements.
template <class T>
Samples<T> samples_of(T from, T length, std::int64_t cell, std::int64_t cells, std::int64_t wanted,
                      std::int64_t size) {
  const T bin = length / static_cast<T>(cells);
  Samples<T> samples;
  samples.count = wanted > 0 ? static_cast<double>(wanted) : std::ceil(static_cast<double>(bin));
  if (!(samples.count > 0) || !std::isfinite(samples.count) || !std::isfinite(from)) {
    samples.count = 0;
    return samples;
  }
  samples.first = from + static_cast<T>(cell) * bin;
  samples.step = bin / static_cast<T>(samples.count);
  // Includes one more sample at each end, as this arithmetic rounds.
  const double step = static_cast<double>(samples.step), first = static_cast<double>(samples.first);
  double low = 0, high = samples.count;
  if (step > 0) {
    low = std::clamp(std::floor((-1.0 - first) / step) - 1, 0.0, samples.count);
    high =
        std::clamp(std::ceil((static_cast<double>(size) - first) / step) + 1, low, samples.count);
  } else if (wanted == 0) {
    high = 0;
  }
  samples.inside = {bounded(low), bounded(high)};
  return samples;
}

/// The two neighbours of a sample on one axis, and their weights.
template <class T>
struct Between {
  std::int64_t low = 0, high = 0;
  T below = 0, above = 0;  ///< weights
};

/// Returns whether a sample lies on the image or at most one element outside; if so, sets `between`
/// to its two neighbours and their weights.
template <class T>
bool neighbours(T at, std::int64_t size, Between<T>& between) {
  if (!(at >= T(-1) && at <= static_cast<T>(size)) || size == 0) return false;
  at = std::max(at, T(0));
  between.low = std::min(static_cast<std::int64_t>(at), size - 1);
  if (between.low == size - 1) at = static_cast<T>(between.low);
  between.high = std::min(between.low + 1, size - 1);
  between.above = at - static_cast<T>(between.low);
  between.below = 1 - between.above;
  return true;
}

/// RoiAlign's cell: the mean of its samples, or the largest product of a weight and an element.
template <class T>
T aligned_cell(const T* plane, const RoiShape& shape, const Samples<T>& rows,
               const Samples<T>& columns, bool largest) {
  double sum = 0, seen = 0;
  T most = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = rows.inside.begin; i < rows.inside.end; ++i) {
    Between<T> y;
    if (!neighbours(rows.at(i), shape.height, y)) continue;
    for (std::int64_t j = columns.inside.begin; j < columns.inside.end; ++j) {
      Between<T> x;
      if (!neighbours(columns.at(j), shape.width, x)) continue;
      const T parts[] = {y.below * x.below * plane[y.low * shape.width + x.low],
                         y.below * x.above * plane[y.low * shape.width + x.high],
                         y.above * x.below * plane[y.high * shape.width + x.low],
                         y.above * x.above * plane[y.high * shape.width + x.high]};
      ++seen;
      for (const T part : parts) {
        sum += static_cast<double>(part);
        if (part > most || part != part) most = part;
      }
    }
  }
  const double count = rows.count * columns.count;
  if (!largest) return static_cast<T>(sum / std::max(count, 1.0));
  // Samples outside the image count as 0.
  return seen < count || count == 0 ? std::max(most, T(0)) : most;
}

/// Computes all cells of region `region` in one plane, which starts at `plane`.
template <class T>
void align_region(const RoiShape& shape, const T* region, const T* plane, T* y) {
  const T shift = shape.half_pixel ? T(0.5) : T(0), scale = static_cast<T>(shape.scale);
  const T left = region[0] * scale - shift, top = region[1] * scale - shift;
  T width = region[2] * scale - shift - left, height = region[3] * scale - shift - top;
  if (!shape.half_pixel) {
    width = std::max(width, T(1));
    height = std::max(height, T(1));
  }
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    const auto rows = samples_of(top, height, i, shape.rows, shape.samples, shape.height);
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      const auto columns = samples_of(left, width, j, shape.columns, shape.samples, shape.width);
      *y++ = aligned_cell(plane, shape, rows, columns, shape.largest);
    }
  }
}

}  // namespace

KernelResult reference_max_roi_pool(const KernelRequest& request) {
  const RoiShape shape = roi_shape(request);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return roi_kernel(
        request, shape, [=](std::int64_t r, std::int64_t c, const KernelArgs& args) -> Status {
          const T* region = args.in<T>(1) + r * 5;
          const std::int64_t image = bounded(static_cast<double>(region[0]));
          if (image < 0 || image >= shape.images) return no_image(r);
          const T* plane =
              args.in<T>(0) + (image * shape.channels + c) * shape.height * shape.width;
          T* y = args.out<T>() + (r * shape.channels + c) * shape.cells();
          const auto at = [&](int i) { return static_cast<double>(region[i]) * shape.scale; };
          for (std::int64_t i = 0; i < shape.cells(); ++i) {
            *y++ =
                largest_of(plane, shape.width,
                           cell_range(at(2), at(4), i / shape.columns, shape.rows, shape.height),
                           cell_range(at(1), at(3), i % shape.columns, shape.columns, shape.width));
          }
          return {};
        });
  });
}

KernelResult reference_roi_align(const KernelRequest& request) {
  const RoiShape shape = roi_shape(request);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return roi_kernel(
        request, shape, [=](std::int64_t r, std::int64_t c, const KernelArgs& args) -> Status {
          const std::int64_t image = args.in<std::int64_t>(2)[r];
          if (image < 0 || image >= shape.images) return no_image(r);
          const T* plane =
              args.in<T>(0) + (image * shape.channels + c) * shape.height * shape.width;
          align_region(shape, args.in<T>(1) + r * 4, plane,
                       args.out<T>() + (r * shape.channels + c) * shape.cells());
          return {};
        });
  });
}

}  // namespace parallax
