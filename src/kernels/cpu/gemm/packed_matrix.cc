#include "kernels/cpu/gemm/packed_matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/files/mapped_file.h"
#include "base/status.h"
#include "kernels/cpu/gemm/epilogue.h"
#include "kernels/cpu/gemm/half_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// A matrix whose element (k, j) is at k * row_stride + j * column_stride.
struct Elements {
  const std::byte* data;  ///< any alignment
  std::int64_t row_stride, column_stride;
};

/// Rows of a panel that are transposed together: they stay in the first-level cache.
constexpr std::int64_t kTransposedRows = 32;

/// Copies `width` columns from `column` on to the rows of a panel, which are `stride` elements
/// apart; leaves other columns as they are. `kBytes`: of an element.
template <std::int64_t kBytes>
void copy_columns(const Elements& from, std::int64_t depth, std::int64_t column, std::int64_t width,
                  std::int64_t stride, std::byte* to) {
  const std::int64_t row_bytes = from.row_stride * kBytes,
                     column_bytes = from.column_stride * kBytes;
  const std::byte* const first = from.data + column * column_bytes;
  if (from.column_stride == 1) {
    for (std::int64_t k = 0; k < depth; ++k)
      std::memcpy(to + k * stride * kBytes, first + k * row_bytes, to_size(width * kBytes));
    return;
  }
  for (std::int64_t begin = 0; begin < depth; begin += kTransposedRows) {
    const std::int64_t end = std::min(depth, begin + kTransposedRows);
    for (std::int64_t j = 0; j < width; ++j)
      for (std::int64_t k = begin; k < end; ++k)
        std::memcpy(to + (k * stride + j) * kBytes, first + k * row_bytes + j * column_bytes,
                    kBytes);
  }
}

bool stores(const PackSource& source, DType dtype) {
  return source.stored.form != nullptr && source.stored.form->source.dtype == dtype;
}

Elements elements_of(const StoredMatrix& stored) {
  return {stored.form->source.bytes.data(), stored.row_stride, stored.column_stride};
}

/// The elements of B as f32.
Elements floats_of(const PackSource& source) {
  if (stores(source, DType::kF32)) return elements_of(source.stored);
  if (source.transposed) return {source.data, 1, source.depth};
  return {source.data, source.columns, 1};
}

void fill_rows(const PackSource& source, const PackedMatrix& matrix, std::int64_t panel,
               TileRange rows, float* to) {
  const std::int64_t stride = matrix.stride(panel), width = matrix.width(panel),
                     depth = rows.end - rows.begin;
  if (width < stride) std::fill(to, to + depth * stride, 0.0F);
  Elements from = floats_of(source);
  from.data += rows.begin * from.row_stride * kFloatBytes;
  copy_columns<kFloatBytes>(from, depth, matrix.column(panel), width, stride,
                            reinterpret_cast<std::byte*>(to));
  if (source.alpha != 1.0F)
    std::for_each(to, to + depth * stride, [&](float& x) { x *= source.alpha; });
}

/// The elements of B as f32 if they are dense.
DenseConstant dense_floats_of(const PackSource& source) {
  const Elements from = floats_of(source);
  const bool rows = from.row_stride == source.columns && from.column_stride == 1;
  if (!rows && (from.row_stride != 1 || from.column_stride != source.depth)) return {};
  return {{from.data, to_size(source.depth * source.columns * kFloatBytes)}, !rows};
}

/// Packs rows of a panel into the panels at `to`. `floats`: memory that it may use.
void pack_rows(const PackedMatrix& matrix, std::int64_t panel, TileRange rows, const FillRows& fill,
               std::vector<float>& floats, std::byte* to) {
  const std::int64_t stride = matrix.stride(panel), first = matrix.type->steps(rows.begin);
  to += (matrix.column(panel) * matrix.steps() + first * stride) * matrix.type->packed_bytes;
  if (matrix.type->packs_floats()) {
    fill(matrix, panel, rows, reinterpret_cast<float*>(to));
    return;
  }
  const std::int64_t depth = rows.end - rows.begin;
  floats.resize(to_size(depth * stride));
  fill(matrix, panel, rows, floats.data());
  matrix.type->pack_columns(floats.data(), to_size(stride), to_size(depth), to_size(stride), to,
                            to_size(stride));
}

/// Bytes of a constant that are packed before their pages are released; the fewest rows, a multiple
/// of the rows of a step.
constexpr std::int64_t kReleasedBytes = 1 << 20, kFewestRows = 64;

/// Packs block after block of rows, each panel after panel. Columns are released after whole
/// panels, since a panel reads its columns only.
void pack_panels(const PackedMatrix& matrix, const FillRows& fill, const DenseConstant& constant,
                 std::byte* to) {
  const std::int64_t lines = constant.columns ? matrix.columns : matrix.depth;
  const std::int64_t bytes = lines == 0 ? 0 : std::ssize(constant.bytes) / lines;
  const auto release = [&](TileRange read) {
    if (std::ssize(constant.bytes) > kReleasedBytes)
      release_pages(constant.bytes.subspan(to_size(read.begin * bytes),
                                           to_size((read.end - read.begin) * bytes)));
  };
  const bool whole = constant.columns || std::ssize(constant.bytes) <= kReleasedBytes;
  const std::int64_t block =
      whole ? matrix.depth : std::max(kReleasedBytes / bytes / kFewestRows, 1L) * kFewestRows;
  std::vector<float> floats;
  TileRange columns{0, 0};
  for (std::int64_t begin = 0; begin < matrix.depth; begin += block) {
    const TileRange rows{begin, std::min(begin + block, matrix.depth)};
    for (std::int64_t p = 0; p < matrix.panels(); ++p) {
      pack_rows(matrix, p, rows, fill, floats, to);
      columns.end = matrix.column(p) + matrix.width(p);
      if (!constant.columns || (columns.end - columns.begin) * bytes < kReleasedBytes) continue;
      release(columns);
      columns.begin = columns.end;
    }
    if (!constant.columns) release(rows);
  }
}

void pack_halves(const PackedMatrix& matrix, const StoredMatrix& halves, std::byte* to) {
  constexpr auto kBytes = static_cast<std::int64_t>(kHalfBytes);
  for (std::int64_t p = 0; p < matrix.panels(); ++p) {
    const std::int64_t stride = matrix.stride(p);
    copy_columns<kBytes>(elements_of(halves), matrix.depth, matrix.column(p), matrix.width(p),
                         stride, to);
    to += matrix.depth * stride * kBytes;
  }
}

/// Packs the matrix that `pack` writes, of the constant `source` or else of `instead`.
Result<PackedMatrix> pack_with(PackedMatrix matrix, const std::byte* source,
                               const std::string& layout, std::function<void(std::byte*)> pack,
                               std::span<const std::byte> instead, PackedWeights& packed) {
  const auto bytes = matrix.size();
  if (!bytes)
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kOutOfMemory, {}, "packed weights do not fit 63 bits"});
  const std::string named = fmt::format("{} {} panel {} vector {}", matrix.type->name, layout,
                                        matrix.widths.panel, matrix.widths.vector);
  PX_ASSIGN(matrix.bytes, packed.get(source, named, *bytes, std::move(pack), instead));
  return matrix;
}

}  // namespace

PackedMatrix::PackedMatrix(const GemmType& of, std::int64_t rows, std::int64_t width)
    : type(&of), depth(rows), columns(width), widths(of.widths()) {}

std::int64_t PackedMatrix::panels() const {
  return tile_count(columns, static_cast<std::int64_t>(widths.panel));
}

std::int64_t PackedMatrix::column(std::int64_t panel) const {
  return panel * static_cast<std::int64_t>(widths.panel);
}

std::int64_t PackedMatrix::width(std::int64_t panel) const {
  return std::min(static_cast<std::int64_t>(widths.panel), columns - column(panel));
}

std::int64_t PackedMatrix::stride(std::int64_t panel) const {
  const auto vector = static_cast<std::int64_t>(widths.vector);
  const std::int64_t used = width(panel);
  return used == static_cast<std::int64_t>(widths.panel) ? used : rounded_up(used, vector);
}

std::optional<std::int64_t> PackedMatrix::size() const {
  const auto vector = static_cast<std::int64_t>(widths.vector);
  const auto padded = checked_mul(tile_count(columns, vector), vector);
  const auto elements = padded ? checked_mul(*padded, steps()) : std::nullopt;
  return elements ? checked_mul(*elements, type->packed_bytes) : std::nullopt;
}

const std::byte* PackedMatrix::row(std::int64_t panel, std::int64_t step) const {
  // All panels before this one are full.
  return bytes->data() + (column(panel) * steps() + step * stride(panel)) * type->packed_bytes;
}

Result<PackedMatrix> pack_matrix(PackedMatrix matrix, const std::byte* source,
                                 const std::string& layout, FillPanel fill, PackedWeights& packed,
                                 std::span<const std::byte> instead) {
  const auto fill_rows = [fill = std::move(fill)](const PackedMatrix& of, std::int64_t panel,
                                                  TileRange, float* to) { fill(of, panel, to); };
  return pack_in_order(std::move(matrix), source, layout, fill_rows, {}, packed, instead);
}

Result<PackedMatrix> pack_in_order(PackedMatrix matrix, const std::byte* source,
                                   const std::string& layout, FillRows fill, DenseConstant constant,
                                   PackedWeights& packed, std::span<const std::byte> instead) {
  const auto pack = [matrix, fill = std::move(fill), constant](std::byte* to) {
    pack_panels(matrix, fill, constant, to);
  };
  return pack_with(std::move(matrix), source, layout, pack, instead, packed);
}

Result<PackedMatrix> pack_matrix(const GemmType& type, const PackSource& source,
                                 PackedWeights& packed) {
  const std::string layout = fmt::format("matmul {}x{}{} alpha {}", source.depth, source.columns,
                                         source.transposed ? " transposed" : "", source.alpha);
  PackedMatrix matrix(type, source.depth, source.columns);
  if (&type == &half_gemm_type() && stores(source, DType::kF16)) {
    const auto pack = [matrix, halves = source.stored](std::byte* to) {
      pack_halves(matrix, halves, to);
    };
    return pack_with(std::move(matrix), source.data, layout, pack, source.stored.form->source.bytes,
                     packed);
  }
  const auto fill = [source](const PackedMatrix& of, std::int64_t panel, TileRange rows,
                             float* to) { fill_rows(source, of, panel, rows, to); };
  const std::span<const std::byte> instead =
      stores(source, DType::kF32) ? source.stored.form->source.bytes : std::span<const std::byte>();
  return pack_in_order(std::move(matrix), source.data, layout, fill, dense_floats_of(source),
                       packed, instead);
}

const void* rows_of_steps(const PackedMatrix& b, const void* from, std::int64_t rows,
                          std::byte* scratch) {
  if (!b.type->converts()) return from;
  b.type->convert_rows(from, to_size(b.depth), to_size(rows), to_size(b.depth), scratch,
                       to_size(b.steps()));
  return scratch;
}

namespace {

/// Multiplies one row with `count` panels; `all`: C and its epilogue.
void multiply_row(const MatMulPanel& all, const GemmType& type, std::size_t count) {
  MatMulRow row;
  row.a = static_cast<const float*>(all.a);
  row.b = all.b;
  row.depth = all.depth;
  row.panels = count;
  row.c = static_cast<float*>(all.c);
  row.bias = static_cast<const float*>(all.bias);
  row.residual = all.residual;
  row.bounds = all.bounds;
  type.multiply_row(row);
}

/// Multiplies rows over the whole depth with `panels`, which are full.
void multiply_full(const MatMulRows& rows, const PackedMatrix& b, TileRange panels, bool more) {
  const std::int64_t column = b.column(panels.begin), count = panels.end - panels.begin;
  const float* const residual = rows.residual == nullptr ? nullptr : rows.residual + column;
  MatMulPanel panel;
  panel.a = rows.a;
  panel.lda = panel.depth = to_size(b.steps());
  panel.b = b.row(panels.begin, 0);
  panel.c = static_cast<Step*>(rows.c) + column;
  panel.ldc = to_size(b.columns);
  panel.rows = to_size(rows.rows);
  panel.ldb = panel.columns = b.widths.panel;
  panel.bias = rows.bias == nullptr ? nullptr : static_cast<const Step*>(rows.bias) + column;
  begin_epilogue(*b.type, rows.activation, panel, residual);
  if (rows.rows == 1 && b.type->multiply_row != nullptr) {
    multiply_row(panel, *b.type, to_size(count));
  } else {
    panel.next_b = more ? b.row(panels.end, 0) : nullptr;
    b.type->multiply_panels(
        panel, {to_size(count), 0, panel.depth * panel.ldb, panel.columns, panel.columns});
  }
  panel.columns *= to_size(count);
  finish_epilogue(panel, rows.activation, residual);
}

/// Multiplies rows with panel p; `panel` has what all panels share. `block`: steps that are
/// multiplied together.
void multiply_panel(const MatMulRows& rows, const PackedMatrix& b, std::int64_t p, bool more,
                    std::int64_t block, MatMulPanel& panel) {
  const std::int64_t column = b.column(p), steps = b.steps();
  panel.ldb = to_size(b.stride(p));
  panel.c = static_cast<Step*>(rows.c) + column;
  panel.columns = to_size(b.width(p));
  panel.bias = rows.bias == nullptr ? nullptr : static_cast<const Step*>(rows.bias) + column;
  const float* residual = rows.residual == nullptr ? nullptr : rows.residual + column;
  panel.residual = nullptr;
  panel.bounds = {};
  for (std::int64_t begin = 0; begin < steps; begin += block) {
    const std::int64_t end = std::min(begin + block, steps);
    panel.a = static_cast<const Step*>(rows.a) + begin;
    panel.b = b.row(p, begin);
    panel.depth = to_size(end - begin);
    panel.accumulate = begin > 0;
    if (end == steps) begin_epilogue(*b.type, rows.activation, panel, residual);
    panel.next_b = end < steps ? b.row(p, end) : more ? b.row(p + 1, 0) : nullptr;
    b.type->multiply(panel);
  }
  finish_epilogue(panel, rows.activation, residual);
}

}  // namespace

void multiply(const MatMulRows& rows, const PackedMatrix& b, TileRange panels, bool more) {
  const bool one = rows.rows == 1 && b.type->multiply_row != nullptr;
  if (one || (rows.depth_blocks == 1 && b.type->multiply_panels != nullptr)) {
    const std::int64_t full = b.columns / static_cast<std::int64_t>(b.widths.panel);
    const std::int64_t end = std::clamp(full, panels.begin, panels.end);
    if (panels.begin < end) multiply_full(rows, b, {panels.begin, end}, more || end < panels.end);
    panels.begin = end;
  }
  if (panels.begin == panels.end) return;
  MatMulPanel panel;
  panel.lda = to_size(b.steps());
  panel.ldc = to_size(b.columns);
  panel.rows = to_size(rows.rows);
  const std::int64_t block = rounded_up(tile_count(b.steps(), rows.depth_blocks), 4);
  for (std::int64_t p = panels.begin; p < panels.end; ++p)
    multiply_panel(rows, b, p, more || p + 1 < panels.end, block, panel);
}

}  // namespace parallax
