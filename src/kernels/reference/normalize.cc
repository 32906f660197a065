// Softmax, LpNormalization, LayerNormalization, RMSNormalization, BatchNormalization. Sums are
// taken in double precision.
#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/reference/moments.h"

namespace parallax {
namespace {

void softmax_of(const float* x, std::int64_t count, std::int64_t step, float* y) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, x[i * step]);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    y[i * step] = std::exp(x[i * step] - largest);
    sum += static_cast<double>(y[i * step]);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    y[i * step] = static_cast<float>(static_cast<double>(y[i * step]) / sum);
  }
}

/// By the sum of the magnitudes, or by the root of that of the squares.
void divide_by_norm(const float* x, std::int64_t count, std::int64_t step, bool squares, float* y) {
  double norm = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double magnitude = std::abs(static_cast<double>(x[i * step]));
    norm += squares ? magnitude * magnitude : magnitude;
  }
  if (squares) norm = std::sqrt(norm);
  for (std::int64_t i = 0; i < count; ++i)
    y[i * step] = norm == 0 ? 0 : static_cast<float>(static_cast<double>(x[i * step]) / norm);
}

/// run(x, count, step, y) for each row along the attribute `axis`.
template <class Run>
KernelResult along_axis(const KernelRequest& request, Run run) {
  const Dims& dims = request.inputs[0].dims;
  if (request.inputs[0].dtype != DType::kF32) return nullptr;
  const int axis = positive_axis(request.node.attributes.get_int("axis", -1), dims.rank());
  const std::int64_t dim = dims[axis], inner = count_of(dims, axis + 1, dims.rank());
  const std::int64_t rows = dims.elements() == 0 ? 0 : dims.elements() / dim;
  const std::int64_t tiles = tile_count(
      rows, std::max<std::int64_t>(kElementsPerTile / 8 / std::max<std::int64_t>(dim, 1), 1));
  return make_lambda_kernel({.tiles = tiles},
                            [=](std::int64_t tile, const KernelArgs& args) -> Status {
                              const TileRange range = tile_range(rows, tiles, tile);
                              for (std::int64_t row = range.begin; row < range.end; ++row) {
                                const std::int64_t at = row / inner * dim * inner + row % inner;
                                run(args.in<float>(0) + at, dim, inner, args.out<float>() + at);
                              }
                              return {};
                            });
}

}  // namespace

KernelResult reference_softmax(const KernelRequest& request) {
  return along_axis(request, softmax_of);
}

KernelResult reference_lp_normalization(const KernelRequest& request) {
  const bool squares = request.node.attributes.get_int("p", 2) == 2;
  return along_axis(request, [squares](const float* x, std::int64_t count, std::int64_t step,
                                       float* y) { divide_by_norm(x, count, step, squares, y); });
}

/// LayerNormalization and RMSNormalization. Outputs 1 and 2, where asked for, are the mean and
/// 1 / standard deviation of each row.
KernelResult reference_normalization(const KernelRequest& request) {
  if (request.inputs[0].dtype != DType::kF32) return nullptr;
  const Dims& dims = request.inputs[0].dims;
  const int axis = positive_axis(request.node.attributes.get_int("axis", -1), dims.rank());
  const auto epsilon = static_cast<double>(request.node.attributes.get_float("epsilon", 1e-5F));
  const std::int64_t width = count_of(dims, axis, dims.rank());
  const std::int64_t rows = dims.elements() == 0 ? 0 : dims.elements() / width;
  const bool has_bias = request.has(2), has_residual = request.has(3);
  const bool centered = request.node.op == OpKind::kLayerNormalization;
  const Strides scale = broadcast_strides(request.inputs[1].dims, dims);
  const Strides bias = has_bias ? broadcast_strides(request.inputs[2].dims, dims) : Strides{};
  const IndexSpace<3> space(dims, {row_major_strides(dims), scale, bias});
  const std::int64_t tiles = tile_count(
      rows, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(width, 1), 1));
  return make_lambda_kernel(
      {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(rows, tiles, tile);
        const float* x = args.in<float>(0);
        for (std::int64_t row = range.begin; row < range.end; ++row) {
          const Moments moments = moments_of(x + row * width, width, epsilon, centered);
          space.for_rows(row * width, (row + 1) * width, [&](const auto& offsets, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i) {
              const double off =
                  static_cast<double>(x[offsets[0] + i * space.row_stride(0)]) - moments.mean;
              const float s = args.in<float>(1)[offsets[1] + i * space.row_stride(1)];
              // -0 changes no sum, not even that of -0.
              const float b =
                  has_bias ? args.in<float>(2)[offsets[2] + i * space.row_stride(2)] : -0.0F;
              const std::int64_t at = offsets[0] + i * space.row_stride(0);
              const float added = has_residual ? args.in<float>(3)[at] : -0.0F;
              args.out<float>()[at] =
                  static_cast<float>(off * moments.inverse_deviation) * s + b + added;
            }
          });
          if (args.outputs.size() > 1 && args.outputs[1] != nullptr) {
            args.out<float>(1)[row] = static_cast<float>(moments.mean);
          }
          if (args.outputs.size() > 2 && args.outputs[2] != nullptr) {
            args.out<float>(2)[row] = static_cast<float>(moments.inverse_deviation);
          }
        }
        return {};
      });
}

/// Inference form: (x - mean) / sqrt(var + epsilon) * scale + bias per channel (axis 1).
KernelResult reference_batch_normalization(const KernelRequest& request) {
  if (request.inputs[0].dtype != DType::kF32) return nullptr;
  const Dims& dims = request.inputs[0].dims;
  const float epsilon = request.node.attributes.get_float("epsilon", 1e-5F);
  const std::int64_t channels = dims.rank() > 1 ? dims[1] : 1;
  const std::int64_t plane = count_of(dims, std::min(2, dims.rank()), dims.rank());
  const std::int64_t planes =
      dims.elements() == 0 ? 0 : dims.elements() / std::max<std::int64_t>(plane, 1);
  const std::int64_t tiles = tile_count(
      planes, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(plane, 1), 1));
  const bool vector = dims.rank() == 1;
  return make_lambda_kernel(
      {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(planes, tiles, tile);
        for (std::int64_t p = range.begin; p < range.end; ++p) {
          const std::int64_t c = vector ? 0 : p % channels;
          const float deviation = std::sqrt(args.in<float>(4)[c] + epsilon);
          const float scale = args.in<float>(1)[c] / deviation;
          const float mean = args.in<float>(3)[c], bias = args.in<float>(2)[c];
          for (std::int64_t i = p * plane; i < (p + 1) * plane; ++i) {
            args.out<float>()[i] = (args.in<float>(0)[i] - mean) * scale + bias;
          }
        }
        return {};
      });
}

}  // namespace parallax
