// MaxPool, AveragePool, LpPool and their global forms with any number of spatial axes and both
// layouts. Padding is never a maximum; NaN is. Sums are taken in double precision.
#include "kernels/reference/image.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

struct PoolShape {
  ImageStrides x, y;
  WindowAxes axes;
  std::int64_t planes() const { return x.batch * x.channels; }
};

/// The part of a window that lies on the image.
struct Window {
  Dims taps;                 ///< how many along each axis
  std::int64_t origin = 0;   ///< offset of the first within the plane
  double padded_taps = 1.0;  ///< taps on the image or its padding
};

Window window_at(const PoolShape& shape, std::int64_t position) {
  Window window;
  window.taps = shape.y.spatial;
  for (int i = shape.x.spatial.rank() - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const WindowAxis& axis = shape.axes[at];
    const std::int64_t o = position % axis.out;
    position /= axis.out;
    const TileRange taps = axis.taps(o, 0, axis.in);
    const TileRange padded = axis.taps(o, -axis.pad_begin, axis.in + axis.pad_end);
    window.taps[i] = taps.end - taps.begin;
    window.origin += (o * axis.stride - axis.pad_begin + taps.begin * axis.dilation) *
                     shape.x.spatial_strides[at];
    window.padded_taps *= static_cast<double>(padded.end - padded.begin);
  }
  return window;
}

/// Calls visit(offset) for the window's elements in row-major order.
template <class Visit>
void visit_window(const PoolShape& shape, const Window& window, Visit visit) {
  Strides strides{};
  for (int i = 0; i < window.taps.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    strides[at] = shape.x.spatial_strides[at] * shape.axes[at].dilation;
  }
  const IndexSpace<1> space(window.taps, {strides});
  space.for_rows(0, window.taps.elements(), [&](const auto& offsets, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k)
      visit(window.origin + offsets[0] + k * space.row_stride(0));
  });
}

PoolShape pool_shape(const KernelRequest& request) {
  PoolShape shape;
  shape.x = image_strides(request.inputs[0].dims, request.node);
  shape.y = image_strides(request.outputs[0].dims, request.node);
  auto kernel = params_of<WindowParams>(request.node).kernel_shape;
  kernel.resize(static_cast<std::size_t>(shape.x.spatial.rank()), 1);
  shape.axes = window_axes(request.node, shape.x.spatial, shape.y.spatial, kernel);
  return shape;
}

/// Calls compute(x plane offset, y offset, position) for each output element of a tile.
template <class Compute>
KernelResult pool_kernel(const KernelRequest& request, const PoolShape& shape, Compute compute) {
  const std::int64_t units = request.outputs[0].elements();
  std::int64_t taps = 1;
  for (int i = 0; i < shape.x.spatial.rank(); ++i) {
    const WindowAxis& axis = shape.axes[static_cast<std::size_t>(i)];
    taps *= std::max<std::int64_t>(std::min(axis.kernel, axis.in), 1);
  }
  const std::int64_t tiles = tile_count(units, std::max<std::int64_t>(kElementsPerTile / taps, 16));
  return make_lambda_kernel(
      {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(units, tiles, tile);
        const std::int64_t positions = shape.y.spatial.elements();
        for (std::int64_t u = range.begin; u < range.end; ++u) {
          const std::int64_t n = u / positions / shape.y.channels,
                             c = u / positions % shape.y.channels;
          std::int64_t rest = u % positions;
          std::int64_t y = n * shape.y.batch_stride + c * shape.y.channel_stride;
          for (int i = shape.y.spatial.rank() - 1; i >= 0; --i) {
            y += rest % shape.y.spatial[i] * shape.y.spatial_strides[static_cast<std::size_t>(i)];
            rest /= shape.y.spatial[i];
          }
          compute(args, n * shape.x.batch_stride + c * shape.x.channel_stride, y, u % positions);
        }
        return {};
      });
}

/// Returns the index of an element as MaxPool's second output states it: flat in the NCHW tensor,
/// with spatial axes row-major or (storage_order 1) column-major.
std::int64_t flat_index(const ImageStrides& x, std::int64_t offset, bool column_major) {
  const std::int64_t n = offset / x.batch_stride;
  std::int64_t index = 0, scale = 1;
  const int rank = x.spatial.rank();
  for (int k = 0; k < rank; ++k) {
    const int axis = column_major ? k : rank - 1 - k;
    index += offset / x.spatial_strides[static_cast<std::size_t>(axis)] % x.spatial[axis] * scale;
    scale *= x.spatial[axis];
  }
  const std::int64_t c = offset / x.channel_stride % x.channels;
  return (n * x.channels + c) * scale + index;
}

template <class T>
KernelResult make_max_pool(const KernelRequest& request) {
  const PoolShape shape = pool_shape(request);
  const bool column_major = params_of<MaxPoolParams>(request.node).storage_order;
  const bool with_indices = request.outputs.size() > 1 && request.outputs[1].present;
  return pool_kernel(
      request, shape,
      [=](const KernelArgs& args, std::int64_t plane, std::int64_t y, std::int64_t position) {
        using Limits = std::numeric_limits<T>;
        T largest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
        std::int64_t where = -1;
        visit_window(shape, window_at(shape, position), [&](std::int64_t offset) {
          const T x = args.in<T>(0)[plane + offset];
          if (where >= 0 && !(x > largest) && x == x) return;
          if (largest != largest) return;  // NaN stays once met
          largest = x;
          where = plane + offset;
        });
        args.out<T>()[y] = largest;
        if (with_indices) {
          args.out<std::int64_t>(1)[y] = where < 0 ? -1 : flat_index(shape.x, where, column_major);
        }
      });
}

/// Reduction of a window by AveragePool (mean) or LpPool (p-norm).
struct WindowSum {
  bool norm = false;
  bool count_pads = false;
  double p = 2;

  double term(double x) const {
    if (!norm) return x;
    const double magnitude = std::abs(x);
    if (p == 1) return magnitude;
    return p == 2 ? magnitude * magnitude : std::pow(magnitude, p);
  }
  double result(double sum, double count) const {
    if (!norm) return count == 0.0 ? 0.0 : sum / count;
    if (p == 1) return sum;
    return p == 2 ? std::sqrt(sum) : std::pow(sum, 1.0 / p);
  }
};

WindowSum window_sum(const Node& node, bool norm) {
  return {norm, params_of<AveragePoolParams>(node).count_include_pad,
          static_cast<double>(params_of<LpPoolParams>(node).p)};
}

KernelResult sum_pool(const KernelRequest& request, const WindowSum& f) {
  const PoolShape shape = pool_shape(request);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return pool_kernel(
        request, shape,
        [=](const KernelArgs& args, std::int64_t plane, std::int64_t y, std::int64_t position) {
          const Window window = window_at(shape, position);
          double sum = 0;
          visit_window(shape, window, [&](std::int64_t offset) {
            sum += f.term(static_cast<double>(args.in<T>(0)[plane + offset]));
          });
          const double count =
              f.count_pads ? window.padded_taps : static_cast<double>(window.taps.elements());
          args.out<T>()[y] = static_cast<T>(f.result(sum, count));
        });
  });
}

/// Folds each plane of the image into one element: result = fold(result, x), from `start` on, then
/// finish(result, elements).
template <class Fold, class Finish>
KernelResult global_pool_kernel(const KernelRequest& request, double start, Fold fold,
                                Finish finish) {
  const ImageStrides x = image_strides(request.inputs[0].dims, request.node);
  const std::int64_t outputs = request.outputs[0].elements(), count = x.spatial.elements();
  const IndexSpace<1> plane(x.spatial, {x.spatial_strides});
  const std::int64_t tiles = tile_count(
      outputs, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(count, 1), 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(outputs, tiles, tile);
          for (std::int64_t u = range.begin; u < range.end;
               ++u) {  // the output is batch x channels in both layouts
            const std::int64_t base =
                u / x.channels * x.batch_stride + u % x.channels * x.channel_stride;
            double result = start;
            plane.for_rows(0, count, [&](const auto& offsets, std::int64_t n) {
              for (std::int64_t k = 0; k < n; ++k) {
                const std::int64_t at = base + offsets[0] + k * plane.row_stride(0);
                result = fold(result, static_cast<double>(args.in<T>(0)[at]));
              }
            });
            args.out<T>()[u] = static_cast<T>(finish(result, static_cast<double>(count)));
          }
          return {};
        });
  });
}

}  // namespace

KernelResult reference_max_pool(const KernelRequest& request) {
  return make_for<kFloatOrByteTypes>(request.inputs[0].dtype, [&](auto type) {
    return make_max_pool<typename decltype(type)::type>(request);
  });
}

KernelResult reference_average_pool(const KernelRequest& request) {
  return sum_pool(request, window_sum(request.node, false));
}

KernelResult reference_lp_pool(const KernelRequest& request) {
  WindowSum f = window_sum(request.node, true);
  f.count_pads = false;
  return sum_pool(request, f);
}

KernelResult reference_global_average_pool(const KernelRequest& request) {
  return global_pool_kernel(
      request, 0.0, [](double sum, double x) { return sum + x; },
      [](double sum, double count) { return sum / count; });
}

KernelResult reference_global_max_pool(const KernelRequest& request) {
  return global_pool_kernel(
      request, -std::numeric_limits<double>::infinity(),
      [](double largest, double x) { return x > largest || x != x ? x : largest; },
      [](double largest, double) { return largest; });
}

KernelResult reference_global_lp_pool(const KernelRequest& request) {
  const WindowSum f = window_sum(request.node, true);
  return global_pool_kernel(
      request, 0.0, [f](double sum, double x) { return sum + f.term(x); },
      [f](double sum, double count) { return f.result(sum, count); });
}

}  // namespace parallax
