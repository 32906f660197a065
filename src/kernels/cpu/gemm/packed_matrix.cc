#include "kernels/cpu/gemm/packed_matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/status.h"

namespace parallax {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

}  // namespace

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

const float* PackedMatrix::row(std::int64_t panel, std::int64_t k) const {
  // All panels before this one are full.
  return reinterpret_cast<const float*>(bytes->data()) + column(panel) * depth + k * stride(panel);
}

void fill_panel(const PackSource& source, std::int64_t column, std::int64_t width,
                std::int64_t stride, float* to) {
  if (width < stride) std::fill(to, to + source.depth * stride, 0.0F);
  if (source.transposed) {
    for (std::int64_t j = 0; j < width; ++j) {
      const std::byte* from = source.data + (column + j) * source.depth * kFloat;
      for (std::int64_t k = 0; k < source.depth; ++k)
        std::memcpy(to + k * stride + j, from + k * kFloat, kFloat);
    }
  } else {
    for (std::int64_t k = 0; k < source.depth; ++k)
      std::memcpy(to + k * stride, source.data + (k * source.columns + column) * kFloat,
                  static_cast<std::size_t>(width * kFloat));
  }
  if (source.alpha != 1.0F)
    std::for_each(to, to + source.depth * stride, [&](float& x) { x *= source.alpha; });
}

Result<PackedMatrix> pack_matrix(const PackSource& source, PackedWeights& packed) {
  PackedMatrix matrix{source.depth, source.columns, matmul_widths(), nullptr};
  const auto vector = static_cast<std::int64_t>(matrix.widths.vector);
  const auto padded = checked_mul(tile_count(source.columns, vector), vector);
  const auto elements = padded ? checked_mul(*padded, source.depth) : std::nullopt;
  const auto bytes = elements ? checked_mul(*elements, sizeof(float)) : std::nullopt;
  if (!bytes)
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kOutOfMemory, {}, "packed weights do not fit 63 bits"});
  const std::string layout = fmt::format("matmul {}x{} panel {} vector {}{} alpha {}", source.depth,
                                         source.columns, matrix.widths.panel, matrix.widths.vector,
                                         source.transposed ? " transposed" : "", source.alpha);
  PX_ASSIGN(matrix.bytes, packed.get(source.data, layout, *bytes, [source, matrix](std::byte* to) {
    auto* floats = reinterpret_cast<float*>(to);
    for (std::int64_t p = 0; p < matrix.panels(); ++p)
      fill_panel(source, matrix.column(p), matrix.width(p), matrix.stride(p),
                 floats + matrix.column(p) * source.depth);
  }));
  return matrix;
}

}  // namespace parallax
