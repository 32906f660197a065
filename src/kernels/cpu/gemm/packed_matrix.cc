#include "kernels/cpu/gemm/packed_matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/gemm/epilogue.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

void fill_panel(const PackSource& source, std::int64_t column, std::int64_t width,
                std::int64_t stride, float* to) {
  if (width < stride) std::fill(to, to + source.depth * stride, 0.0F);
  if (source.transposed) {
    for (std::int64_t j = 0; j < width; ++j) {
      const std::byte* from = source.data + (column + j) * source.depth * kFloatBytes;
      for (std::int64_t k = 0; k < source.depth; ++k)
        std::memcpy(to + k * stride + j, from + k * kFloatBytes, kFloatBytes);
    }
  } else {
    for (std::int64_t k = 0; k < source.depth; ++k)
      std::memcpy(to + k * stride, source.data + (k * source.columns + column) * kFloatBytes,
                  static_cast<std::size_t>(width * kFloatBytes));
  }
  if (source.alpha != 1.0F)
    std::for_each(to, to + source.depth * stride, [&](float& x) { x *= source.alpha; });
}

/// Packs panel after panel.
void pack_panels(const PackedMatrix& matrix, const FillPanel& fill, std::byte* to) {
  std::vector<float> rows;
  for (std::int64_t p = 0; p < matrix.panels(); ++p) {
    const std::int64_t stride = matrix.stride(p);
    if (matrix.type->packs_floats()) {
      fill(matrix, p, reinterpret_cast<float*>(to));
    } else {
      rows.resize(to_size(matrix.depth * stride));
      fill(matrix, p, rows.data());
      matrix.type->pack_columns(rows.data(), to_size(stride), to_size(matrix.depth),
                                to_size(stride), to, to_size(stride));
    }
    to += matrix.steps() * stride * matrix.type->packed_bytes;
  }
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
  return tile_count(width(panel), vector) * vector;
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
                                 const std::string& layout, FillPanel fill, PackedWeights& packed) {
  const auto bytes = matrix.size();
  if (!bytes)
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kOutOfMemory, {}, "packed weights do not fit 63 bits"});
  const std::string named = fmt::format("{} {} panel {} vector {}", matrix.type->name, layout,
                                        matrix.widths.panel, matrix.widths.vector);
  const auto pack = [matrix, fill = std::move(fill)](std::byte* to) {
    pack_panels(matrix, fill, to);
  };
  PX_ASSIGN(matrix.bytes, packed.get(source, named, *bytes, pack));
  return matrix;
}

Result<PackedMatrix> pack_matrix(const GemmType& type, const PackSource& source,
                                 PackedWeights& packed) {
  const std::string layout = fmt::format("matmul {}x{}{} alpha {}", source.depth, source.columns,
                                         source.transposed ? " transposed" : "", source.alpha);
  const auto fill = [source](const PackedMatrix& matrix, std::int64_t p, float* to) {
    fill_panel(source, matrix.column(p), matrix.width(p), matrix.stride(p), to);
  };
  return pack_matrix(PackedMatrix(type, source.depth, source.columns), source.data, layout, fill,
                     packed);
}

const void* rows_of_steps(const PackedMatrix& b, const void* from, std::int64_t rows,
                          std::byte* scratch) {
  if (!b.type->converts()) return from;
  b.type->convert_rows(from, to_size(b.depth), to_size(rows), to_size(b.depth), scratch,
                       to_size(b.steps()));
  return scratch;
}

void multiply(const MatMulRows& rows, const PackedMatrix& b, std::int64_t p, bool more) {
  MatMulPanel panel;
  panel.lda = to_size(b.steps());
  panel.ldb = to_size(b.stride(p));
  panel.ldc = to_size(b.columns);
  panel.c = static_cast<Step*>(rows.c) + b.column(p);
  panel.rows = to_size(rows.rows);
  panel.columns = to_size(b.width(p));
  panel.bias = rows.bias == nullptr ? nullptr : static_cast<const Step*>(rows.bias) + b.column(p);
  for (std::int64_t block = 0; block < rows.depth_blocks; ++block) {
    const auto k = tile_range(b.steps(), rows.depth_blocks, block, 4);
    const bool last = block + 1 == rows.depth_blocks;
    panel.a = static_cast<const Step*>(rows.a) + k.begin;
    panel.b = b.row(p, k.begin);
    panel.depth = to_size(k.end - k.begin);
    panel.accumulate = block > 0;
    if (last) begin_epilogue(*b.type, rows.activation, panel);
    panel.next_b = !last ? b.row(p, k.end) : more ? b.row(p + 1, 0) : nullptr;
    b.type->multiply(panel);
  }
  finish_epilogue(panel, rows.activation);
}

}  // namespace parallax
