// The constant right operand of a matrix product in panels that the inner loops read in order.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cpu/gemm/matmul_loops.h"
#include "kernels/kernel.h"

namespace parallax {

/// [depth, columns] f32 in panels of MatMulWidths::panel columns, each [depth, its width]; the last
/// one is padded with zeros to a multiple of MatMulWidths::vector.
struct PackedMatrix {
  std::int64_t depth = 0, columns = 0;
  MatMulWidths widths{};
  std::shared_ptr<const AlignedBytes> bytes;

  std::int64_t panels() const;
  /// First column of a panel, and how many it has.
  std::int64_t column(std::int64_t panel) const;
  std::int64_t width(std::int64_t panel) const;
  /// Elements from one row of a panel to the next.
  std::int64_t stride(std::int64_t panel) const;
  const float* row(std::int64_t panel, std::int64_t k) const;
};

/// alpha * B, where `data` is B [depth, columns], or its transpose.
struct PackSource {
  const std::byte* data = nullptr;  ///< any alignment
  std::int64_t depth = 0, columns = 0;
  bool transposed = false;
  float alpha = 1;
};
/// Packs it. Shared through `packed` with every kernel that asks for the same. Errors:
/// kOutOfMemory.
Result<PackedMatrix> pack_matrix(const PackSource& source, PackedWeights& packed);
/// `width` columns of it from `column` on, as rows `stride` elements apart, padded with zeros.
void fill_panel(const PackSource& source, std::int64_t column, std::int64_t width,
                std::int64_t stride, float* to);

}  // namespace parallax
