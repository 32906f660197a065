#include "kernels/simd/bf16_matrix.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/simd/tiles.h"

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
  PX_ASSIGN(matrix.panels.bytes,
            packed.get(source, "bf16 " + layout, *bytes,
                       [matrix, fill = std::move(fill)](std::byte* to) {
                         std::vector<float> rows;
                         for (std::int64_t p = 0; p < matrix.panels.panels(); ++p)
                           pack_panel(matrix, p, fill, rows,
                                      reinterpret_cast<Bf16Pair*>(to) +
                                          matrix.panels.column(p) * matrix.pairs());
                       }));
  return matrix;
}

}  // namespace parallax
