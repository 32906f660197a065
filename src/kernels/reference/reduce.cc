// ReduceSum, ReduceSumSquare, ReduceMean, ReduceMax, ReduceL2 and ArgMax. Floats are summed in
// double precision, in row-major order.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"

namespace parallax {
namespace {

/// Which axes a Reduce* folds: bit i = axis i.
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

/// `dims` with the axes of `mask` (or those outside it) made 1.
Dims masked(Dims dims, std::uint32_t mask, bool inside) {
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (((mask >> axis & 1U) != 0) == inside) dims[axis] = 1;
  }
  return dims;
}

/// Folds the elements of one output: visit(f) calls f(x) for each of them.
template <class T, class Visit>
T fold(OpKind op, std::int64_t count, Visit visit) {
  if constexpr (std::is_same_v<T, BoolByte>) {
    bool any = false;
    visit([&](bool x) { any = any || x; });
    return any;
  } else if (op == OpKind::kReduceMax) {
    using Limits = std::numeric_limits<T>;
    T largest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    visit([&](T x) { largest = x > largest || x != x ? x : largest; });  // NaN stays once met
    return largest;
  } else if (op == OpKind::kReduceL2) {
    double squares = 0;
    visit([&](T x) { squares += static_cast<double>(x) * static_cast<double>(x); });
    return convert<T>(std::sqrt(squares));
  } else {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    Sum sum = 0;
    const bool square = op == OpKind::kReduceSumSquare;
    visit([&](T x) {
      const auto wide = static_cast<Sum>(x);
      sum = wrap_add(sum, square ? wrap_mul(wide, wide) : wide);
    });
    return static_cast<T>(op == OpKind::kReduceMean ? sum / static_cast<Sum>(count) : sum);
  }
}

template <class T>
KernelResult make_reduce(const KernelRequest& request) {
  const OpKind op = request.node.op;
  const Dims in = request.inputs[0].dims;
  const TensorDesc axes = request.has(1) ? request.inputs[1] : TensorDesc{};
  const bool noop = request.node.attributes.get_int("noop_with_empty_axes", 0) != 0;
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

/// True where `x` takes the place of `best`: NaN counts as the largest, as NumPy has it.
template <class T>
bool beats(T x, T best, bool last) {
  if (x != x) return best == best || last;
  if (best != best) return false;
  return last ? x >= best : x > best;
}

}  // namespace

KernelResult reference_reduce(const KernelRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  if (request.node.op == OpKind::kReduceMax) {
    return make_for<kAllTypes>(
        dtype, [&](auto type) { return make_reduce<typename decltype(type)::type>(request); });
  }
  return make_for<kWideTypes>(
      dtype, [&](auto type) { return make_reduce<typename decltype(type)::type>(request); });
}

KernelResult reference_arg_max(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const int axis = positive_axis(request.node.attributes.get_int("axis", 0), dims.rank());
  const bool last = request.node.attributes.get_int("select_last_index", 0) != 0;
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
                                    if (beats(x[k * inner], x[best * inner], last)) best = k;
                                  }
                                  args.out<std::int64_t>()[i] = best;
                                }
                                return {};
                              });
  });
}

}  // namespace parallax
