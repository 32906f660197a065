// Functions of two or more elements with broadcasting: arithmetic, bits, comparison, logic, PRelu,
// Min, Max, Where.
#include <vector>

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/table_bytes.h"
#include "ops/params/numbers.h"

namespace parallax {
namespace {

/// Makes a kernel that calls row(args, offsets, step_a, step_b, n) for each run of n pairs, with
/// the offsets of the result and both inputs, and the inputs' strides. `row` returns false for a
/// division by 0.
template <class Row>
KernelResult pair_rows(const KernelRequest& request, Row row) {
  const Dims& dims = request.outputs[0].dims;
  const IndexSpace<3> space(
      dims, {row_major_strides(dims), broadcast_strides(request.inputs[0].dims, dims),
             broadcast_strides(request.inputs[1].dims, dims)});
  const std::int64_t count = dims.elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  return make_lambda_kernel(
      {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(count, tiles, tile);
        bool good = true;
        space.for_rows(range.begin, range.end, [&](const auto& offsets, std::int64_t n) {
          if (!row(args, offsets, space.row_stride(1), space.row_stride(2), n)) good = false;
        });
        if (!good) return run_error(ErrorCode::kInvalidInput, "integer division by zero");
        return {};
      });
}

/// Writes f(a, b) for `n` pairs; loops over f32 whose strides are 0 or 1 are vectorised.
template <class A, class B, class R, class F>
void map_run(const A* a, std::int64_t step_a, const B* b, std::int64_t step_b, R* r, std::int64_t n,
             F f) {
  if constexpr (std::is_same_v<A, float> && std::is_same_v<B, float>) {
    if (step_a == 1 && step_b == 1) {
      for (std::int64_t i = 0; i < n; ++i) r[i] = f(a[i], b[i]);
      return;
    }
    if (step_a == 1 && step_b == 0) {
      for (std::int64_t i = 0; i < n; ++i) r[i] = f(a[i], *b);
      return;
    }
  }
  for (std::int64_t i = 0; i < n; ++i) r[i] = f(a[i * step_a], b[i * step_b]);
}

/// Makes a kernel that writes f(a, b) for each pair of elements. With kNoZero, b = 0 is an error.
template <class A, class B, class R, bool kNoZero = false, class F>
KernelResult map_pairs(const KernelRequest& request, F f) {
  return pair_rows(request, [=](const KernelArgs& args, const auto& offsets, std::int64_t step_a,
                                std::int64_t step_b, std::int64_t n) {
    R* r = args.out<R>() + offsets[0];
    const A* a = args.in<A>(0) + offsets[1];
    const B* b = args.in<B>(1) + offsets[2];
    bool zero = false;
    if constexpr (kNoZero) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (b[i * step_b] == 0) {
          zero = true;
        } else {
          r[i] = f(a[i * step_a], b[i * step_b]);
        }
      }
    } else {
      map_run(a, step_a, b, step_b, r, n, f);
    }
    return !zero;
  });
}

template <DTypeSet kSet, class F>
KernelResult map_typed_pairs(const KernelRequest& request, F f) {
  return make_for<kSet>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return map_pairs<T, T, T>(request, f);
  });
}

template <DTypeSet kSet, class F>
KernelResult compare_types(const KernelRequest& request, F f) {
  return make_for<kSet>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return map_pairs<T, T, BoolByte>(request, [f](T a, T b) { return BoolByte(f(a, b)); });
  });
}

/// Rounds towards zero; the smallest integer divided by -1 wraps.
template <class T>
T quotient_of(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return wrap_sub(T{0}, a);
  }
  return static_cast<T>(a / b);
}

/// fmod: the sign of the dividend, as in C; otherwise that of the divisor, as in Python.
template <class T>
T remainder_of(T a, T b, bool fmod) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  const T r = static_cast<T>(a % b);
  return std::is_signed_v<T> && !fmod && r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}

template <class T>
T float_remainder(T a, T b, bool fmod) {
  const T r = std::fmod(a, b);
  if (fmod || r != r) return r;
  if (r == T{0}) return std::copysign(r, b);
  return (r < T{0}) != (b < T{0}) ? r + b : r;
}

/// A shift beyond the width leaves what is shifted in: zeros, or the sign on the way right.
template <class T>
T shifted(T x, T amount, bool left) {
  constexpr int kWidth = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  const bool beyond = amount < T{0} || amount > static_cast<T>(kWidth - 1);
  if (left) {
    using U = std::make_unsigned_t<T>;
    return beyond ? T{0} : static_cast<T>(static_cast<U>(static_cast<U>(x) << amount));
  }
  return static_cast<T>(x >> (beyond ? kWidth - 1 : static_cast<int>(amount)) >> (beyond ? 1 : 0));
}

/// Integer powers wrap; a negative exponent gives 1 / base^n cut to an integer, and for base 0
/// what a conversion of infinity gives.
template <class T, class E>
T integer_power(T base, E exponent) {
  if (std::is_signed_v<E> && exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    }
    return base == 0 ? std::numeric_limits<T>::max() : 0;
  }
  T result = 1;
  for (T square = base; exponent > 0; exponent /= 2, square = wrap_mul(square, square)) {
    if (exponent % 2 == 1) result = wrap_mul(result, square);
  }
  return result;
}

template <class T>
T power_of(T base, T exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(base, exponent);
  } else {
    return integer_power(base, static_cast<std::int64_t>(exponent));
  }
}

constexpr DTypeSet kIntegers = kNumericTypes & ~kFloatTypes;

/// An exponent of any type: a float as it is, an integer as one too. Of integers beyond 63 bits the
/// greatest odd or even one stands for all.
struct Exponent {
  bool whole;
  std::int64_t integer;
  double real;
};

template <class E>
Exponent exponent_at(const void* exponents, std::int64_t i) {
  const E e = static_cast<const E*>(exponents)[i];
  if constexpr (std::is_floating_point_v<E>) {
    return {false, 0, static_cast<double>(e)};
  } else {
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    if (std::cmp_greater(e, kMax))
      return {true, kMax - (e % 2 == 0 ? 1 : 0), static_cast<double>(e)};
    return {true, static_cast<std::int64_t>(e), static_cast<double>(e)};
  }
}

template <class T>
T power_of(T base, const Exponent& exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(base, static_cast<T>(exponent.real));
  } else {
    return exponent.whole ? integer_power(base, exponent.integer)
                          : saturate<T>(std::pow(static_cast<double>(base), exponent.real));
  }
}

/// One loop for all types of exponents, or there would be one for each pair.
template <class T>
KernelResult mixed_power(const KernelRequest& request) {
  using Load = Exponent (*)(const void*, std::int64_t);
  Load load = nullptr;
  const DType dtype = request.inputs[1].dtype;
  PX_RETURN_IF_ERROR(make_for<kNumericTypes>(dtype, [&](auto type) -> KernelResult {
    load = exponent_at<typename decltype(type)::type>;
    return nullptr;
  }));
  if (load == nullptr) return nullptr;
  return pair_rows(request, [=](const KernelArgs& args, const auto& offsets, std::int64_t step_a,
                                std::int64_t step_b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const Exponent exponent = load(args.inputs[1], offsets[2] + i * step_b);
      args.out<T>()[offsets[0] + i] = power_of(args.in<T>(0)[offsets[1] + i * step_a], exponent);
    }
    return true;
  });
}

/// Returns the larger (smaller) number; NaN if either is NaN.
template <class T>
T larger_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? b : a;
}
template <class T>
T smaller_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return b < a ? b : a;
}

}  // namespace

KernelResult reference_arithmetic(const KernelRequest& request) {
  switch (request.node.op) {
    case OpKind::kAdd:
      return map_typed_pairs<kNumericTypes>(request, [](auto a, auto b) { return wrap_add(a, b); });
    case OpKind::kSub:
      return map_typed_pairs<kNumericTypes>(request, [](auto a, auto b) { return wrap_sub(a, b); });
    case OpKind::kMul:
      return map_typed_pairs<kNumericTypes>(request, [](auto a, auto b) { return wrap_mul(a, b); });
    default:
      return nullptr;
  }
}

KernelResult reference_div(const KernelRequest& request) {
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return map_pairs<T, T, T, true>(request, [](T a, T b) { return quotient_of(a, b); });
    } else {
      return map_pairs<T, T, T>(request, [](T a, T b) { return a / b; });
    }
  });
}

KernelResult reference_mod(const KernelRequest& request) {
  const bool fmod = params_of<ModParams>(request.node).fmod;
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return map_pairs<T, T, T, true>(request,
                                      [fmod](T a, T b) { return remainder_of(a, b, fmod); });
    } else {
      return map_pairs<T, T, T>(request, [fmod](T a, T b) { return float_remainder(a, b, fmod); });
    }
  });
}

/// Exponents of another type than the base are read one by one through a function.
KernelResult reference_pow(const KernelRequest& request) {
  return make_for<kWideTypes & kSignedTypes>(
      request.inputs[0].dtype, [&](auto base) -> KernelResult {
        using T = typename decltype(base)::type;
        if (request.inputs[1].dtype == request.inputs[0].dtype) {
          return map_pairs<T, T, T>(request, [](T a, T b) { return power_of(a, b); });
        }
        return mixed_power<T>(request);
      });
}

KernelResult reference_bitwise(const KernelRequest& request) {
  return make_for<kIntegers>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    const bool left = params_of<BitShiftParams>(request.node).direction == ShiftDirection::kLeft;
    switch (request.node.op) {
      case OpKind::kBitwiseAnd:
        return map_pairs<T, T, T>(request, [](T a, T b) { return static_cast<T>(a & b); });
      case OpKind::kBitwiseOr:
        return map_pairs<T, T, T>(request, [](T a, T b) { return static_cast<T>(a | b); });
      case OpKind::kBitwiseXor:
        return map_pairs<T, T, T>(request, [](T a, T b) { return static_cast<T>(a ^ b); });
      default:
        return map_pairs<T, T, T>(request, [left](T a, T b) { return shifted(a, b, left); });
    }
  });
}

KernelResult reference_prelu(const KernelRequest& request) {
  return map_typed_pairs<kNumericTypes>(
      request, [](auto x, auto slope) { return x < decltype(x){0} ? wrap_mul(slope, x) : x; });
}

KernelResult reference_compare(const KernelRequest& request) {
  switch (request.node.op) {
    case OpKind::kEqual:
      return compare_types<kAllTypes>(request, [](auto a, auto b) { return a == b; });
    case OpKind::kLess:
      return compare_types<kNumericTypes>(request, [](auto a, auto b) { return a < b; });
    case OpKind::kLessOrEqual:
      return compare_types<kNumericTypes>(request, [](auto a, auto b) { return a <= b; });
    case OpKind::kGreater:
      return compare_types<kNumericTypes>(request, [](auto a, auto b) { return a > b; });
    case OpKind::kGreaterOrEqual:
      return compare_types<kNumericTypes>(request, [](auto a, auto b) { return a >= b; });
    case OpKind::kAnd:
      return compare_types<kBoolTypes>(request, [](bool a, bool b) { return a && b; });
    case OpKind::kXor:
      return compare_types<kBoolTypes>(request, [](bool a, bool b) { return a != b; });
    case OpKind::kOr:
      return compare_types<kBoolTypes>(request, [](bool a, bool b) { return a || b; });
    default:
      return nullptr;
  }
}

/// Min and Max of any number of inputs, folded from the left.
KernelResult reference_min_max(const KernelRequest& request) {
  PX_RETURN_IF_ERROR(require_all_inputs(request));
  const bool largest = request.node.op == OpKind::kMax;
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    const Dims& dims = request.outputs[0].dims;
    std::vector<IndexSpace<2>> spaces;
    for (const TensorDesc& input : request.inputs) {
      spaces.push_back({dims, {row_major_strides(dims), broadcast_strides(input.dims, dims)}});
    }
    const std::int64_t count = dims.elements();
    const std::int64_t tiles = tile_count(count, kElementsPerTile);
    const std::int64_t table_bytes = bytes_of_table(spaces);
    return make_lambda_kernel(
        {.tiles = tiles, .table_bytes = table_bytes},
        [=, spaces = std::move(spaces)](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(count, tiles, tile);
          for (std::size_t k = 0; k < spaces.size(); ++k) {
            const std::int64_t step = spaces[k].row_stride(1);
            spaces[k].for_rows(range.begin, range.end, [&](const auto& offsets, std::int64_t n) {
              T* y = args.out<T>() + offsets[0];
              const T* x = args.in<T>(k) + offsets[1];
              for (std::int64_t i = 0; i < n; ++i) {
                const T next = x[i * step];
                y[i] = k == 0 ? next : largest ? larger_of(y[i], next) : smaller_of(y[i], next);
              }
            });
          }
          return {};
        });
  });
}

KernelResult reference_where(const KernelRequest& request) {
  return make_for_size(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    const Dims& dims = request.outputs[0].dims;
    const IndexSpace<4> space(
        dims, {row_major_strides(dims), broadcast_strides(request.inputs[0].dims, dims),
               broadcast_strides(request.inputs[1].dims, dims),
               broadcast_strides(request.inputs[2].dims, dims)});
    const std::int64_t count = dims.elements();
    const std::int64_t tiles = tile_count(count, kElementsPerTile);
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b110},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(count, tiles, tile);
          const std::int64_t step = space.row_stride(1);
          const std::int64_t step_a = space.row_stride(2), step_b = space.row_stride(3);
          space.for_rows(range.begin, range.end, [&](const auto& offsets, std::int64_t n) {
            const auto [at_y, at_first, at_a, at_b] = offsets;
            const BoolByte* first = args.in<BoolByte>(0) + at_first;
            const std::byte *a = args.inputs[1], *b = args.inputs[2];
            T* y = args.out<T>() + at_y;
            for (std::int64_t i = 0; i < n; ++i) {
              y[i] = first[i * step] ? load_element<T>(a, at_a + i * step_a)
                                     : load_element<T>(b, at_b + i * step_b);
            }
          });
          return {};
        });
  });
}

}  // namespace parallax
