#include "kernels/cpu/gemm/bf16_matrix.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

void pack_panel(const Bf16Matrix& matrix, std::int64_t panel, const FillPanel& fill,
                std::vector<float>& rows, Bf16Pair* to) {
  const std::size_t stride = to_size(matrix.panels.stride(panel));
  const std::size_t pairs = to_size(matrix.pairs());
  rows.assign(2 * pairs * stride, 0.0F);
  fill(matrix.panels, panel, rows.data());
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const float* const first = rows.data() + 2 * pair * stride;
    pair_rows(first, first + stride, stride, to + pair * stride);
  }
}

}  // namespace

Result<Bf16Matrix> pack_bf16(const std::byte* source, const std::string& layout, std::int64_t depth,
                             std::int64_t columns, FillPanel fill, PackedWeights& packed) {
  Bf16Matrix matrix{{depth, columns, {kBf16Panel, kBf16Vector}, nullptr}};
  constexpr auto kVector = static_cast<std::int64_t>(kBf16Vector);
  const auto padded = checked_mul(tile_count(columns, kVector), kVector);
  const auto pairs = padded ? checked_mul(*padded, matrix.pairs()) : std::nullopt;
  const auto bytes = pairs ? checked_mul(*pairs, sizeof(Bf16Pair)) : std::nullopt;
  if (!bytes)
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kOutOfMemory, {}, "packed weights do not fit 63 bits"});
  PX_ASSIGN(
      matrix.panels.bytes,
      packed.get(source, "bf16 " + layout, *bytes, [matrix, fill = std::move(fill)](std::byte* to) {
        std::vector<float> rows;
        for (std::int64_t p = 0; p < matrix.panels.panels(); ++p)
          pack_panel(matrix, p, fill, rows,
                     reinterpret_cast<Bf16Pair*>(to) + matrix.panels.column(p) * matrix.pairs());
      }));
  return matrix;
}

void multiply(const Bf16Rows& rows, const Bf16Matrix& b, std::int64_t p, bool more) {
  const PackedMatrix& shape = b.panels;
  Bf16Panel panel;
  panel.lda = to_size(b.pairs());
  panel.ldb = to_size(shape.stride(p));
  panel.ldc = to_size(shape.columns);
  panel.c = rows.c + shape.column(p);
  panel.rows = to_size(rows.rows);
  panel.columns = to_size(shape.width(p));
  panel.bias = rows.bias == nullptr ? nullptr : rows.bias + shape.column(p);
  for (std::int64_t block = 0; block < rows.depth_blocks; ++block) {
    const auto k = tile_range(b.pairs(), rows.depth_blocks, block, 4);
    panel.a = rows.a + k.begin;
    panel.b = b.row(p, k.begin);
    panel.pairs = to_size(k.end - k.begin);
    panel.accumulate = block > 0;
    const bool last = block + 1 == rows.depth_blocks;
    panel.next_b = !last ? b.row(p, k.end) : more ? b.row(p + 1, 0) : nullptr;
    bf16_panel(panel);
  }
  if (rows.activation == UnaryFunction::kNone) return;
  if (panel.columns == panel.ldc) {
    apply_unary(rows.activation, panel.c, panel.c, panel.rows * panel.columns);
  } else {
    apply_unary_rows(rows.activation, panel.c, panel.ldc, panel.rows, panel.columns);
  }
}

}  // namespace parallax
