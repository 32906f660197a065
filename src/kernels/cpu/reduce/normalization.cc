// Softmax, LogSoftmax, LpNormalization, LayerNormalization, RMSNormalization and BatchNormalization
// of f32.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/reduce/reduce_loops.h"
#include "kernels/cpu/reduce/softmax_loops.h"
#include "kernels/cpu/tiles.h"
#include "ops/op.h"
#include "ops/params/normalization.h"

namespace parallax {
namespace {

/// Returns the rows of `n` elements in a tile.
std::int64_t rows_per_tile(std::int64_t n, std::int64_t elements) {
  return std::max<std::int64_t>(elements / std::max<std::int64_t>(n, 1), 1);
}

std::int64_t product(const Dims& dims, int begin, int end) {
  std::int64_t p = 1;
  for (int d = begin; d < end; ++d) p *= dims[d];
  return p;
}

/// Creates a kernel over rows. `rows_of` is softmax_rows or log_softmax_rows.
Result<std::unique_ptr<Kernel>> softmax_of_rows(std::int64_t rows, std::int64_t n,
                                                decltype(&softmax_rows) rows_of) {
  LambdaKernelOptions options;
  options.tiles = count_tiles(rows, n, kTileCostlyElements);
  return tiled_kernel(options,
                      [rows, n, rows_of, tiles = options.tiles](std::int64_t tile,
                                                                const KernelArgs& args) -> Status {
                        const auto [begin, end] = tile_range(rows, tiles, tile);
                        rows_of(args.in<float>(0) + begin * n, args.out<float>() + begin * n,
                                to_size(end - begin), to_size(n));
                        return {};
                      });
}

/// Creates the kernel of Softmax over the middle axis of [outer, n, inner].
Result<std::unique_ptr<Kernel>> softmax_of_columns(std::int64_t outer, std::int64_t n,
                                                   std::int64_t inner) {
  const std::int64_t width = std::max(rows_per_tile(n, kTileCostlyElements), kTileGranule);
  const std::int64_t chunks = tile_count(inner, width);
  LambdaKernelOptions options;
  options.tiles = outer * chunks;
  return tiled_kernel(
      options, [n, inner, chunks](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(inner, chunks, tile % chunks, kTileGranule);
        const std::int64_t at = tile / chunks * n * inner + begin;
        softmax_columns(args.in<float>(0) + at, args.out<float>() + at, to_size(end - begin),
                        to_size(n), to_size(inner));
        return {};
      });
}

/// Divides `n` elements by their L1 norm, or with `squares` by their L2 norm; zeros stay zeros.
/// Norms that f32 may not sum, since squares overflow or vanish, are computed in double precision.
void divide_by_norm(const float* x, float* y, std::int64_t n, bool squares) {
  constexpr float kLeast = 1e-12F, kMost = 1e15F;
  float norm = 0;
  reduce_rows(squares ? Reduction::kL2 : Reduction::kL1, x, &norm, 1, to_size(n));
  if (norm > kLeast && norm < kMost) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] / norm;
    return;
  }
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double magnitude = std::abs(static_cast<double>(x[i]));
    sum += squares ? magnitude * magnitude : magnitude;
  }
  const double wide = squares ? std::sqrt(sum) : sum;
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = wide == 0 ? 0 : static_cast<float>(static_cast<double>(x[i]) / wide);
}

}  // namespace

/// Creates the kernel of Softmax along any axis.
Result<std::unique_ptr<Kernel>> cpu_softmax(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const auto axis = normalize_axis(params_of<AxisParams<-1>>(request.node).axis, dims.rank());
  if (request.inputs[0].dtype != DType::kF32 || !axis) return not_covered();
  if (dims.elements() == 0) return empty_kernel();
  const std::int64_t outer = product(dims, 0, *axis), n = dims[*axis];
  const std::int64_t inner = product(dims, *axis + 1, dims.rank());
  return inner == 1 ? softmax_of_rows(outer, n, softmax_rows) : softmax_of_columns(outer, n, inner);
}

/// Creates the kernel of LogSoftmax along contiguous elements.
Result<std::unique_ptr<Kernel>> cpu_log_softmax(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const auto axis = normalize_axis(params_of<AxisParams<-1>>(request.node).axis, dims.rank());
  if (!axis || product(dims, *axis + 1, dims.rank()) != 1) return not_covered();
  if (dims.elements() == 0) return empty_kernel();
  return softmax_of_rows(product(dims, 0, *axis), dims[*axis], log_softmax_rows);
}

/// Creates the kernel of LpNormalization along contiguous elements.
Result<std::unique_ptr<Kernel>> cpu_lp_normalization(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const auto params = params_of<LpNormalizationParams>(request.node);
  const auto axis = normalize_axis(params.axis, dims.rank());
  if (!axis || product(dims, *axis + 1, dims.rank()) != 1) return not_covered();
  if (dims.elements() == 0) return empty_kernel();
  const std::int64_t rows = product(dims, 0, *axis), n = dims[*axis];
  LambdaKernelOptions options;
  options.tiles = count_tiles(rows, n, kTileElements);
  return tiled_kernel(options,
                      [rows, n, squares = params.p == 2, tiles = options.tiles](
                          std::int64_t tile, const KernelArgs& args) -> Status {
                        const auto [begin, end] = tile_range(rows, tiles, tile);
                        for (std::int64_t row = begin; row < end; ++row)
                          divide_by_norm(args.in<float>(0) + row * n, args.out<float>() + row * n,
                                         n, squares);
                        return {};
                      });
}

/// Creates the kernel of LayerNormalization or RMSNormalization whose scale and bias have one
/// element for each normalised element.
Result<std::unique_ptr<Kernel>> cpu_normalization(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const auto axis = normalize_axis(params_of<AxisParams<-1>>(request.node).axis, dims.rank());
  if (request.inputs[0].dtype != DType::kF32 || !axis) return not_covered();
  if (dims.elements() == 0) return empty_kernel();
  const std::int64_t rows = product(dims, 0, *axis), n = product(dims, *axis, dims.rank());
  for (std::size_t i = 1; i < 3; ++i)
    if (request.has(i) && request.inputs[i].elements() != n) return not_covered();
  const bool biased = request.has(2), residual = request.has(3);
  const bool centered = request.node.op == OpKind::kLayerNormalization;
  const float epsilon = params_of<EpsilonParams>(request.node).epsilon;
  LambdaKernelOptions options;
  options.tiles = count_tiles(rows, n, kTileElements);
  return tiled_kernel(
      options, [=, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(rows, tiles, tile);
        const auto statistic = [&](std::size_t i) {
          return i < args.outputs.size() && args.outputs[i] != nullptr
                     ? args.out<float>(i) + range.begin
                     : nullptr;
        };
        layer_norm_rows({args.in<float>(0) + range.begin * n, args.out<float>() + range.begin * n,
                         to_size(range.end - range.begin), to_size(n), args.in<float>(1),
                         biased ? args.in<float>(2) : nullptr, epsilon, statistic(1), statistic(2),
                         residual ? args.in<float>(3) + range.begin * n : nullptr, centered});
        return {};
      });
}

/// Creates the kernel of BatchNormalization of [N, C, ...] with given statistics.
Result<std::unique_ptr<Kernel>> cpu_batch_normalization(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  for (const TensorDesc& input : request.inputs)
    if (input.dtype != DType::kF32) return not_covered();
  if (params_of<BatchNormalizationParams>(request.node).training_mode ||
      request.inputs[0].dtype != DType::kF32 || dims.rank() < 3 || dims.elements() == 0)
    return not_covered();
  const std::int64_t channels = dims[1], plane = product(dims, 2, dims.rank());
  const std::int64_t rows = dims[0] * channels;
  const float epsilon = params_of<EpsilonParams>(request.node).epsilon;
  LambdaKernelOptions options;
  options.tiles = count_tiles(rows, plane, kTileElements);
  return tiled_kernel(
      options, [=, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(rows, tiles, tile);
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t c = row % channels;
          const float scale = args.in<float>(1)[c] / std::sqrt(args.in<float>(4)[c] + epsilon);
          normalize(args.in<float>(0) + row * plane, args.out<float>() + row * plane,
                    to_size(plane), args.in<float>(3)[c], scale, args.in<float>(2)[c]);
        }
        return {};
      });
}

}  // namespace parallax
