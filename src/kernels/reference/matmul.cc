// MatMul and Gemm. Each output element sums its products in ascending order of the inner index,
// whatever the path: plain and transposed second operands give the same bits.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "kernels/permuted.h"
#include "kernels/reference/activation.h"
#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "ops/params/matmul.h"

namespace parallax {
namespace {

/// Rows and columns that one unit of work computes at most.
constexpr std::int64_t kRowBlock = 4, kColumnBlock = 256;

/// Operands of y[r, j] = sum over i of a[r * a_row + i * a_step] * b[i * b_row + j].
template <class T>
struct Sums {
  const T* a;
  std::int64_t a_row, a_step;
  const T* b;
  std::int64_t b_row, inner;
  T* y;
  std::int64_t y_row;
};

/// Computes `rows` of 1 to kRows rows, and kColumns columns at a time while `count` allows. Their
/// sums stay in registers. Missing rows repeat the last one. Returns the columns computed.
template <std::size_t kRows, std::size_t kColumns, class T>
std::int64_t add_products(const Sums<T>& s, std::int64_t rows, std::int64_t count) {
  constexpr auto kStep = static_cast<std::int64_t>(kColumns);
  std::array<const T*, kRows> of_a{};
  std::array<T*, kRows> of_y{};
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::int64_t row = std::min(static_cast<std::int64_t>(r), rows - 1);
    of_a[r] = s.a + row * s.a_row;
    of_y[r] = s.y + row * s.y_row;
  }
  std::int64_t begin = 0;
  for (; begin + kStep <= count; begin += kStep) {
    std::array<T, kRows * kColumns> sums{};
    for (std::int64_t i = 0; i < s.inner; ++i) {
      asm volatile("");  // or GCC vectorizes over i, with twenty times the instructions
      const T* of_b = s.b + begin + i * s.b_row;
#pragma GCC unroll 16
      for (std::size_t r = 0; r < kRows; ++r) {
        const T x = of_a[r][i * s.a_step];
#pragma GCC unroll 16
        for (std::size_t j = 0; j < kColumns; ++j) {
          T& sum = sums[r * kColumns + j];
          sum = wrap_add(sum, wrap_mul(x, of_b[j]));
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r)
      std::copy_n(sums.begin() + r * kColumns, kColumns, of_y[r] + begin);
  }
  return begin;
}

/// Computes the last columns, fewer than 16, of up to kRowBlock rows together: few sums of one row
/// would wait for each other.
template <std::size_t kColumns = 8, class T>
void last_columns(Sums<T> s, std::int64_t rows, std::int64_t count) {
  const std::int64_t done =
      add_products<static_cast<std::size_t>(kRowBlock), kColumns>(s, rows, count);
  s.b += done;
  s.y += done;
  if constexpr (kColumns > 1) last_columns<kColumns / 2>(s, rows, count - done);
}

template <class T>
void rows_times_matrix(Sums<T> s, std::int64_t rows, std::int64_t count) {
  std::int64_t done = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    Sums<T> row = s;
    row.a += r * s.a_row;
    row.y += r * s.y_row;
    done = add_products<1, 16>(row, 1, count);
  }
  s.b += done;
  s.y += done;
  last_columns(s, rows, count - done);
}

/// Variant for a `b` with any strides: y[j] = sum over i of a[i * a_step] * b[i * row + j *
/// column]. Computes eight sums together.
template <class T>
void row_times_strided(const T* a, std::int64_t a_step, const T* b, std::int64_t row,
                       std::int64_t column, std::int64_t inner, std::int64_t count,
                       T* __restrict y) {
  constexpr std::int64_t kSums = 8;
  std::int64_t j = 0;
  for (; j + kSums <= count; j += kSums) {
    std::array<T, kSums> sums{};
    for (std::int64_t i = 0; i < inner; ++i) {
      for (std::int64_t s = 0; s < kSums; ++s) {
        T& sum = sums[static_cast<std::size_t>(s)];
        sum = wrap_add(sum, wrap_mul(a[i * a_step], b[(j + s) * column + i * row]));
      }
    }
    std::copy(sums.begin(), sums.end(), y + j);
  }
  for (; j < count; ++j) {
    T sum{0};
    for (std::int64_t i = 0; i < inner; ++i)
      sum = wrap_add(sum, wrap_mul(a[i * a_step], b[j * column + i * row]));
    y[j] = sum;
  }
}

/// A product of rows x columns sums of length `inner`, cut into units of one block of rows and one
/// of columns.
struct Product {
  std::int64_t rows = 0, columns = 0, inner = 0;
  std::int64_t a_row = 0, a_step = 0;    ///< strides of the first operand
  std::int64_t b_row = 0, b_column = 1;  ///< and of the second

  std::int64_t row_blocks() const { return tile_count(rows, kRowBlock); }
  std::int64_t units() const { return row_blocks() * tile_count(columns, kColumnBlock); }
  std::int64_t units_per_tile() const {
    return std::max<std::int64_t>(
        kMacsPerTile / std::max<std::int64_t>(
                           std::min(rows, kRowBlock) * std::min(columns, kColumnBlock) * inner, 1),
        1);
  }
};

/// One unit: columns [begin, end) of rows [row, row_end).
struct Unit {
  std::int64_t row, row_end, begin, end;
};
Unit unit_of(const Product& p, std::int64_t unit) {
  const std::int64_t row = unit % p.row_blocks() * kRowBlock;
  const std::int64_t begin = unit / p.row_blocks() * kColumnBlock;
  return {row, std::min(row + kRowBlock, p.rows), begin, std::min(begin + kColumnBlock, p.columns)};
}

template <class T>
void compute_unit(const Product& p, const Unit& unit, const T* a, const T* b, T* y) {
  const std::int64_t rows = unit.row_end - unit.row, count = unit.end - unit.begin;
  y += unit.row * p.columns + unit.begin;
  if (p.inner == 0) {  // operands without elements are null
    for (std::int64_t r = 0; r < rows; ++r) std::fill_n(y + r * p.columns, count, T{0});
    return;
  }
  a += unit.row * p.a_row;
  b += unit.begin * p.b_column;
  if (p.b_column == 1)
    return rows_times_matrix<T>({a, p.a_row, p.a_step, b, p.b_row, p.inner, y, p.columns}, rows,
                                count);
  for (std::int64_t r = 0; r < rows; ++r)
    row_times_strided(a + r * p.a_row, p.a_step, b, p.b_row, p.b_column, p.inner, count,
                      y + r * p.columns);
}

/// Batch dimensions of a matrix product, and the strides of both operands over them.
struct Batch {
  Dims dims;
  Strides a{}, b{};
};
Dims leading(const Dims& dims, int drop) {
  return Dims(dims.span().first(static_cast<std::size_t>(std::max(dims.rank() - drop, 0))));
}
Batch batch_of(const Dims& a, const Permuted& b, const Dims& out, const Product& p) {
  const int row = a.rank() > 1 ? 1 : 0, column = b.dims.rank() > 1 ? 1 : 0;
  Batch batch{leading(out, row + column), {}, {}};
  batch.a = broadcast_strides(leading(a, 2), batch.dims);
  for (std::int64_t& stride : batch.a) stride *= p.rows * p.inner;
  const int own = std::max(b.dims.rank() - 2, 0), added = batch.dims.rank() - own;
  for (int axis = 0; axis < own; ++axis)
    batch.b[static_cast<std::size_t>(added + axis)] =
        b.dims[axis] == 1 ? 0 : b.strides[static_cast<std::size_t>(axis)];
  return batch;
}
std::int64_t offset_in(const Dims& dims, const Strides& strides, std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    offset += index % dims[axis] * strides[static_cast<std::size_t>(axis)];
    index /= dims[axis];
  }
  return offset;
}

template <class T>
void add_bias(const T* bias, const Activation& activation, std::int64_t count, T* y) {
  for (std::int64_t j = 0; bias != nullptr && j < count; ++j) y[j] = wrap_add(y[j], bias[j]);
  if constexpr (std::is_floating_point_v<T>) {
    if (!activation) return;
    for (std::int64_t j = 0; j < count; ++j) y[j] = activate(activation, y[j]);
  }
}

/// Returns alpha * y as T; integers are multiplied in double unless alpha is 1.
template <class T>
T scaled(float alpha, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(alpha) * y;
  } else {
    return alpha == 1.0F ? y : saturate<T>(static_cast<double>(alpha) * static_cast<double>(y));
  }
}

}  // namespace

KernelResult reference_matmul(const KernelRequest& request) {
  const Dims& a = request.inputs[0].dims;
  const Permuted b = permuted(request.inputs[1].dims, params_of<MatMulParams>(request.node).b_perm);
  const auto row_axis = static_cast<std::size_t>(std::max(b.dims.rank() - 2, 0));
  Product p;
  p.inner = a[a.rank() - 1];
  p.rows = a.rank() > 1 ? a[a.rank() - 2] : 1;
  p.columns = b.dims.rank() > 1 ? b.dims[b.dims.rank() - 1] : 1;
  p.a_row = p.inner;
  p.a_step = 1;
  p.b_row = b.strides[row_axis];
  p.b_column = b.dims.rank() > 1 ? b.strides[row_axis + 1] : 1;
  if (p.inner != b.dims[static_cast<int>(row_axis)]) {
    return make_error(ErrorCode::kInvalidInput,
                      fmt::format("cannot multiply {} by {}", a.to_string(), b.dims.to_string()));
  }
  const Batch batch = batch_of(a, b, request.outputs[0].dims, p);
  const std::int64_t units =
      request.outputs[0].elements() == 0 ? 0 : batch.dims.elements() * p.units();
  const std::int64_t tiles = tile_count(units, p.units_per_tile());
  const bool has_bias = request.has(2);
  const Activation activation = request.node.epilogue.activation;
  return make_for<kWideTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(units, tiles, tile);
          for (std::int64_t u = range.begin; u < range.end; ++u) {
            const std::int64_t matrix = u / p.units();
            const Unit unit = unit_of(p, u % p.units());
            T* y = args.out<T>() + matrix * p.rows * p.columns;
            const std::int64_t at_a = offset_in(batch.dims, batch.a, matrix);
            const std::int64_t at_b = offset_in(batch.dims, batch.b, matrix);
            compute_unit(p, unit, args.in<T>(0) + at_a, args.in<T>(1) + at_b, y);
            for (std::int64_t row = unit.row; row < unit.row_end; ++row)
              add_bias(has_bias ? args.in<T>(2) + unit.begin : nullptr, activation,
                       unit.end - unit.begin, y + row * p.columns + unit.begin);
          }
          return {};
        });
  });
}

/// alpha * A' * B' + beta * C.
KernelResult reference_gemm(const KernelRequest& request) {
  const auto params = params_of<GemmParams>(request.node);
  const bool trans_a = params.trans_a;
  const Dims& a = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  Product p;
  p.rows = out[0];
  p.columns = out[1];
  p.inner = a[trans_a ? 0 : 1];
  p.a_row = trans_a ? 1 : p.inner;
  p.a_step = trans_a ? p.rows : 1;
  const bool trans_b = params.trans_b;
  p.b_row = trans_b ? 1 : p.columns;
  p.b_column = trans_b ? p.inner : 1;
  if (a.elements() != p.rows * p.inner || request.inputs[1].elements() != p.inner * p.columns) {
    return make_error(ErrorCode::kInvalidInput, "inner dimensions differ");
  }
  const float alpha = params.alpha, beta = params.beta;
  const Activation activation = request.node.epilogue.activation;
  const bool has_c = request.has(2);
  const Strides c = has_c ? broadcast_strides(request.inputs[2].dims, out) : Strides{};
  const std::int64_t units = out.elements() == 0 ? 0 : p.units();
  const std::int64_t tiles = tile_count(units, p.units_per_tile());
  return make_for<kWideTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(units, tiles, tile);
          for (std::int64_t u = range.begin; u < range.end; ++u) {
            const Unit unit = unit_of(p, u);
            compute_unit(p, unit, args.in<T>(0), args.in<T>(1), args.out<T>());
            for (std::int64_t row = unit.row; row < unit.row_end; ++row) {
              T* y = args.out<T>() + row * p.columns;
              for (std::int64_t j = unit.begin; j < unit.end; ++j) {
                y[j] = scaled(alpha, y[j]);
                if (has_c)
                  y[j] = wrap_add(y[j], scaled(beta, args.in<T>(2)[row * c[0] + j * c[1]]));
              }
              add_bias<T>(nullptr, activation, unit.end - unit.begin, y + unit.begin);
            }
          }
          return {};
        });
  });
}

}  // namespace parallax
