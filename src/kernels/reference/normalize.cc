// Softmax, LpNormalization, LayerNormalization, RMSNormalization. Sums are taken in double
// precision.
#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/reference/moments.h"
#include "ops/params/normalization.h"

namespace parallax {
namespace {

template <class T>
void softmax_of(const T* x, std::int64_t count, std::int64_t step, T* y) {
  T largest = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, x[i * step]);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    y[i * step] = std::exp(x[i * step] - largest);
    sum += static_cast<double>(y[i * step]);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    y[i * step] = static_cast<T>(static_cast<double>(y[i * step]) / sum);
  }
}

/// Divides a row by its L1 norm, or with `squares` by its L2 norm; a zero row stays zero.
template <class T>
void divide_by_norm(const T* x, std::int64_t count, std::int64_t step, bool squares, T* y) {
  double norm = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double magnitude = std::abs(static_cast<double>(x[i * step]));
    norm += squares ? magnitude * magnitude : magnitude;
  }
  if (squares) norm = std::sqrt(norm);
  for (std::int64_t i = 0; i < count; ++i)
    y[i * step] = norm == 0 ? 0 : static_cast<T>(static_cast<double>(x[i * step]) / norm);
}

/// Calls run(x, count, step, y) for each row along the attribute `axis`.
template <class Run>
KernelResult along_axis(const KernelRequest& request, Run run) {
  const Dims& dims = request.inputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<-1>>(request.node).axis, dims.rank());
  const std::int64_t dim = dims[axis], inner = count_of(dims, axis + 1, dims.rank());
  const std::int64_t rows = dims.elements() == 0 ? 0 : dims.elements() / dim;
  const std::int64_t tiles = tile_count(
      rows, std::max<std::int64_t>(kElementsPerTile / 8 / std::max<std::int64_t>(dim, 1), 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(rows, tiles, tile);
                                for (std::int64_t row = range.begin; row < range.end; ++row) {
                                  const std::int64_t at = row / inner * dim * inner + row % inner;
                                  run(args.in<T>(0) + at, dim, inner, args.out<T>() + at);
                                }
                                return {};
                              });
  });
}

/// Parameters of LayerNormalization and RMSNormalization, which work on rows of `width` elements.
struct RowNormalization {
  RowNormalization(const KernelRequest& request, int axis);

  std::int64_t width, rows;
  double epsilon;
  bool centered, has_bias, has_residual;
  DType statistics = DType::kF32;  ///< type of the mean and the deviation
  IndexSpace<3> space;             ///< walks x, scale and bias together
};

Strides strides_of_affine(const KernelRequest& request, std::size_t i) {
  if (!request.has(i)) return Strides{};
  return broadcast_strides(request.inputs[i].dims, request.inputs[0].dims);
}

RowNormalization::RowNormalization(const KernelRequest& request, int axis)
    : width(count_of(request.inputs[0].dims, axis, request.inputs[0].dims.rank())),
      rows(request.inputs[0].elements() == 0 ? 0 : request.inputs[0].elements() / width),
      epsilon(static_cast<double>(params_of<EpsilonParams>(request.node).epsilon)),
      centered(request.node.op == OpKind::kLayerNormalization),
      has_bias(request.has(2)),
      has_residual(request.has(3)),
      space(request.inputs[0].dims,
            {row_major_strides(request.inputs[0].dims), strides_of_affine(request, 1),
             strides_of_affine(request, 2)}) {
  for (std::size_t i = 1; i < request.outputs.size(); ++i)
    if (request.outputs[i].present) statistics = request.outputs[i].dtype;
}

void store_statistic(const KernelArgs& args, std::size_t output, DType dtype, std::int64_t row,
                     double value) {
  if (args.outputs.size() <= output || args.outputs[output] == nullptr) return;
  if (dtype == DType::kF64) {
    args.out<double>(output)[row] = value;
  } else {
    args.out<float>(output)[row] = static_cast<float>(value);
  }
}

template <class T>
void normalize_row(const RowNormalization& n, std::int64_t row, const KernelArgs& args) {
  const T* x = args.in<T>(0);
  const Moments moments = moments_of(x + row * n.width, n.width, n.epsilon, n.centered);
  const auto run = [&](const auto& offsets, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = offsets[0] + i * n.space.row_stride(0);
      const double off = static_cast<double>(x[at]) - moments.mean;
      const T s = args.in<T>(1)[offsets[1] + i * n.space.row_stride(1)];
      // -0 changes no sum, not even that of -0.
      const T b = n.has_bias ? args.in<T>(2)[offsets[2] + i * n.space.row_stride(2)] : T(-0.0);
      const T added = n.has_residual ? args.in<T>(3)[at] : T(-0.0);
      args.out<T>()[at] = static_cast<T>(off * moments.inverse_deviation) * s + b + added;
    }
  };
  n.space.for_rows(row * n.width, (row + 1) * n.width, run);
  store_statistic(args, 1, n.statistics, row, moments.mean);
  store_statistic(args, 2, n.statistics, row, moments.inverse_deviation);
}

}  // namespace

KernelResult reference_softmax(const KernelRequest& request) {
  return along_axis(request, [](const auto* x, std::int64_t count, std::int64_t step, auto* y) {
    softmax_of(x, count, step, y);
  });
}

KernelResult reference_lp_normalization(const KernelRequest& request) {
  const bool squares = params_of<LpNormalizationParams>(request.node).p == 2;
  return along_axis(request, [squares](const auto* x, std::int64_t count, std::int64_t step,
                                       auto* y) { divide_by_norm(x, count, step, squares, y); });
}

/// LayerNormalization and RMSNormalization. Outputs 1 and 2, if present, are the mean and
/// 1 / standard deviation of each row.
KernelResult reference_normalization(const KernelRequest& request) {
  const int rank = request.inputs[0].dims.rank();
  const RowNormalization n(request,
                           positive_axis(params_of<AxisParams<-1>>(request.node).axis, rank));
  const std::int64_t tiles = tile_count(
      n.rows, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(n.width, 1), 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(n.rows, tiles, tile);
                                for (std::int64_t row = range.begin; row < range.end; ++row)
                                  normalize_row<T>(n, row, args);
                                return {};
                              });
  });
}

}  // namespace parallax
