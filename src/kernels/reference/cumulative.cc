// LogSoftmax and Hardmax; CumSum and CumProd.
#include <fmt/core.h>

#include "kernels/reference/axis_lines.h"
#include "ops/op.h"
#include "ops/params/axis.h"
#include "ops/params/numbers.h"

namespace parallax {
namespace {

template <class T>
void log_softmax_of(const T* x, std::int64_t count, std::int64_t step, T* y) {
  T largest = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, x[i * step]);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(std::exp(x[i * step] - largest));
  const double logarithm = std::log(sum);
  for (std::int64_t i = 0; i < count; ++i)
    y[i * step] = static_cast<T>(static_cast<double>(x[i * step] - largest) - logarithm);
}

/// NaN counts as the largest, as for ArgMax.
template <class T>
void hardmax_of(const T* x, std::int64_t count, std::int64_t step, T* y) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const T a = x[i * step], b = x[best * step];
    if (a > b || (a != a && b == b)) best = i;
  }
  for (std::int64_t i = 0; i < count; ++i) y[i * step] = T{i == best ? 1.0F : 0.0F};
}

/// Direction and kind of a running sum or product along its line.
struct Running {
  bool product = false, exclusive = false, reverse = false;
};

template <class T>
void accumulate(const Running& running, const AxisLines& lines, const T* x, T* y) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  Sum total = running.product ? 1 : 0;
  for (std::int64_t k = 0; k < lines.length; ++k) {
    const std::int64_t i = (running.reverse ? lines.length - 1 - k : k) * lines.step;
    const auto element = static_cast<Sum>(x[i]);
    const Sum next = running.product ? wrap_mul(total, element) : wrap_add(total, element);
    y[i] = static_cast<T>(running.exclusive ? total : next);
    total = next;
  }
}

}  // namespace

KernelResult reference_log_softmax(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<-1>>(request.node).axis, dims.rank());
  const AxisLines lines(dims, axis);
  const std::int64_t tiles = lines.tiles(kElementsPerTile / 8);
  const bool hard = request.node.op == OpKind::kHardmax;
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(lines.count, tiles, tile);
          for (std::int64_t i = range.begin; i < range.end; ++i) {
            const std::int64_t at = lines.start(i);
            (hard ? hardmax_of<T> : log_softmax_of<T>)(args.in<T>(0) + at, lines.length, lines.step,
                                                       args.out<T>() + at);
          }
          return {};
        });
  });
}

/// If the axis is known only while running, there is one tile, which checks it even for empty
/// tensors.
KernelResult reference_cumulative(const KernelRequest& request) {
  const Dims dims = request.inputs[0].dims;
  const TensorDesc axis = request.inputs[1];
  const auto params = params_of<CumulativeParams>(request.node);
  const Running running{request.node.op == OpKind::kCumProd, params.exclusive, params.reverse};
  if (axis.elements() != 1) return make_error(ErrorCode::kInvalidInput, "axis must be one number");
  std::int64_t tiles = 1;
  if (axis.data != nullptr) {
    const auto known = normalize_axis(load_index(axis.data, axis.dtype, 0), dims.rank());
    if (!known) return make_error(ErrorCode::kInvalidInput, "axis is outside the rank");
    tiles = AxisLines(dims, *known).tiles(kElementsPerTile);
  }
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b10},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const std::int64_t named = load_index(args.inputs[1], axis.dtype, 0);
          const auto at = normalize_axis(named, dims.rank());
          if (!at) {
            return run_error(ErrorCode::kInvalidInput,
                             fmt::format("axis {} is outside rank {}", named, dims.rank()));
          }
          const AxisLines lines(dims, *at);
          const TileRange range = tile_range(lines.count, tiles, tile);
          for (std::int64_t i = range.begin; i < range.end; ++i) {
            const std::int64_t start = lines.start(i);
            accumulate(running, lines, args.in<T>(0) + start, args.out<T>() + start);
          }
          return {};
        });
  });
}

}  // namespace parallax
