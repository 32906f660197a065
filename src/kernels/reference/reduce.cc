// ReduceSum and its kin, ArgMax and ArgMin. Floats are summed in double precision, in row-major
// order.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "ops/params/reduce.h"

namespace parallax {
namespace {

/// Returns the axes that a Reduce* folds: bit i means axis i.
Result<std::uint32_t> reduced_axes(const TensorDesc& axes, const std::byte* bytes, int rank,
                                   bool noop) {
  std::uint32_t mask = 0;
  for (std::int64_t i = 0; i < axes.elements(); ++i) {
    const std::int64_t axis = load_index(bytes, axes.dtype, i);
    if (axis < -rank || axis >= rank) {
      return run_error(ErrorCode::kInvalidInput,
                       fmt::format("axis {} is outside rank {}", axis, rank));
    }
    const std::uint32_t bit = 1U << positive_axis(axis, rank);
    if ((mask & bit) != 0)
      return run_error(ErrorCode::kInvalidInput, fmt::format("axis {} appears twice", axis));
    mask |= bit;
  }
  const std::uint32_t all = (1U << rank) - 1;
  return axes.elements() == 0 && !noop ? all : mask;
}

/// Returns `dims` with the axes of `mask` (or those outside it) set to 1.
Dims masked(Dims dims, std::uint32_t mask, bool inside) {
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (((mask >> axis & 1U) != 0) == inside) dims[axis] = 1;
  }
  return dims;
}

/// Returns the largest (smallest) element; without elements -infinity (infinity), or the lowest
/// (greatest) integer. NaN if any element is NaN.
template <class T, class Visit>
T extreme_of(bool largest, Visit visit) {
  using Limits = std::numeric_limits<T>;
  const T high = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const T low = Limits::has_infinity ? wrap_sub(T{0}, high) : Limits::lowest();
  T best = largest ? low : high;
  visit([&](T x) { best = (largest ? x > best : x < best) || x != x ? x : best; });
  return best;
}

/// Logarithm of the sum of the elements' exponentials. The largest element is factored out, so that
/// the sum cannot overflow.
template <class T, class Visit>
double log_sum_exp(Visit visit) {
  const auto largest = static_cast<double>(extreme_of<T>(true, visit));
  if (std::isinf(largest)) return largest;
  double sum = 0;
  visit([&](T x) { sum += std::exp(static_cast<double>(x) - largest); });
  return largest + std::log(sum);
}

template <class T>
T magnitude_of(T x) {
  return x < T{0} ? wrap_sub(T{0}, x) : x;
}

/// Sums and products in double precision, or of integers that wrap.
template <class T, class Visit>
T sum_of(OpKind op, std::int64_t count, Visit visit) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  Sum sum = op == OpKind::kReduceProd ? 1 : 0;
  visit([&](T x) {
    const auto wide = static_cast<Sum>(x);
    if (op == OpKind::kReduceProd) {
      sum = wrap_mul(sum, wide);
    } else {
      sum = wrap_add(sum, op == OpKind::kReduceSumSquare ? wrap_mul(wide, wide)
                          : op == OpKind::kReduceL1      ? magnitude_of(wide)
                                                         : wide);
    }
  });
  return static_cast<T>(op == OpKind::kReduceMean ? sum / static_cast<Sum>(count) : sum);
}

template <class T, class Visit>
T number_fold(OpKind op, std::int64_t count, Visit visit) {
  double sum = 0;
  switch (op) {
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
      return extreme_of<T>(op == OpKind::kReduceMax, visit);
    case OpKind::kReduceL2:
      visit([&](T x) { sum += static_cast<double>(x) * static_cast<double>(x); });
      return convert<T>(std::sqrt(sum));
    case OpKind::kReduceLogSum:
      visit([&](T x) { sum += static_cast<double>(x); });
      return convert<T>(std::log(sum));
    case OpKind::kReduceLogSumExp:
      return convert<T>(log_sum_exp<T>(visit));
    default:
      return sum_of<T>(op, count, visit);
  }
}

/// Folds the elements of one output: visit(f) calls f(x) for each of them. Of bool the largest is
/// whether any is true, the smallest whether all are.
template <class T, class Visit>
T fold(OpKind op, std::int64_t count, Visit visit) {
  if constexpr (std::is_same_v<T, BoolByte>) {
    const bool any = op == OpKind::kReduceMax;
    bool result = !any;
    visit([&](bool x) { result = any ? result || x : result && x; });
    return result;
  } else {
    return number_fold<T>(op, count, visit);
  }
}

template <class T>
KernelResult make_reduce(const KernelRequest& request) {
  const OpKind op = request.node.op;
  const Dims in = request.inputs[0].dims;
  const TensorDesc axes = request.has(1) ? request.inputs[1] : TensorDesc{};
  const bool noop = params_of<ReduceParams>(request.node).noop_with_empty_axes;
  const std::int64_t outputs = request.outputs[0].elements();
  const std::int64_t folded = outputs == 0 ? 0 : in.elements() / outputs;
  if (op == OpKind::kReduceMean && folded == 0 && outputs > 0 && std::is_integral_v<T>) {
    return make_error(ErrorCode::kInvalidInput, "mean of no integers");
  }
  const std::int64_t tiles = tile_count(
      outputs, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(folded, 1), 1));
  return make_lambda_kernel(
      {.tiles = tiles, .byte_inputs = 0b10},
      [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const std::byte* axes_bytes = axes.present ? args.inputs[1] : nullptr;
        PX_ASSIGN(const std::uint32_t mask, reduced_axes(axes, axes_bytes, in.rank(), noop));
        const Dims kept = masked(in, mask, true);
        const std::int64_t count = masked(in, mask, false).elements();
        if (kept.elements() != outputs) return run_error(ErrorCode::kInvalidInput, "axes changed");
        const IndexSpace<2> outer(kept, {row_major_strides(kept), row_major_strides(in)});
        const IndexSpace<1> inner(masked(in, mask, false), {row_major_strides(in)});
        const T* x = args.in<T>(0);
        const TileRange range = tile_range(outputs, tiles, tile);
        outer.for_rows(range.begin, range.end, [&](const auto& offsets, std::int64_t n) {
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t base = offsets[1] + i * outer.row_stride(1);
            const auto visit = [&](auto f) {
              inner.for_rows(0, count, [&](const auto& at, std::int64_t run) {
                for (std::int64_t k = 0; k < run; ++k) f(x[base + at[0] + k * inner.row_stride(0)]);
              });
            };
            args.out<T>()[offsets[0] + i * outer.row_stride(0)] = fold<T>(op, count, visit);
          }
        });
        return {};
      });
}

/// Returns whether `x` replaces `best`. NaN precedes all numbers, as in NumPy.
template <class T>
bool beats(T x, T best, bool largest, bool last) {
  if (x != x) return best == best || last;
  if (best != best) return false;
  if (x == best) return last;
  return largest ? x > best : x < best;
}

}  // namespace

KernelResult reference_reduce(const KernelRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  if (request.node.op == OpKind::kReduceMax || request.node.op == OpKind::kReduceMin) {
    return make_for<kAllTypes>(
        dtype, [&](auto type) { return make_reduce<typename decltype(type)::type>(request); });
  }
  return make_for<kNumericTypes>(
      dtype, [&](auto type) { return make_reduce<typename decltype(type)::type>(request); });
}

/// ArgMax and ArgMin.
KernelResult reference_arg_max(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<0>>(request.node).axis, dims.rank());
  const bool largest = request.node.op == OpKind::kArgMax;
  const bool last = params_of<ArgParams>(request.node).select_last_index;
  const std::int64_t dim = dims[axis], inner = count_of(dims, axis + 1, dims.rank());
  const std::int64_t outputs = request.outputs[0].elements();
  if (dim == 0 && outputs > 0)
    return make_error(ErrorCode::kInvalidInput, "largest of no elements");
  const std::int64_t tiles = tile_count(
      outputs, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(dim, 1), 1));
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(outputs, tiles, tile);
                                for (std::int64_t i = range.begin; i < range.end; ++i) {
                                  const T* x = args.in<T>(0) + i / inner * dim * inner + i % inner;
                                  std::int64_t best = 0;
                                  for (std::int64_t k = 1; k < dim; ++k) {
                                    if (beats(x[k * inner], x[best * inner], largest, last))
                                      best = k;
                                  }
                                  args.out<std::int64_t>()[i] = best;
                                }
                                return {};
                              });
  });
}

}  // namespace parallax
