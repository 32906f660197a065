// The right operand of MatMulNBits as it lies in the file, and its loops for the instruction set of
// this machine. Thread-safe; sizes count elements unless said.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/quantised.h"

namespace parallax {

/// Weights (w - zero) * scale; arrays have any alignment. Columns lie one after the other, each of
/// blocks() * block_bytes() bytes, its first element in the lowest bits.
struct BitsMatrix {
  BitsProduct sizes;  ///< the block is a power of two
  const std::byte* weights = nullptr;
  const std::byte* scales = nullptr;  ///< f32 [columns, blocks]
  /// Zero points: f32 [columns, blocks], or packed [columns, zero_bytes()]; null: 2^(bits - 1).
  const std::byte* zeros = nullptr;
  /// Whether `zeros` has integers of `bits` bits instead of f32.
  bool packed_zeros = false;
};

/// Returns the floats of a row in the order that multiply_bits() reads: elements of a word of
/// weights lie a vector apart, and are followed by their sum.
std::int64_t bits_row_floats(const BitsProduct& sizes);
/// `to` has bits_row_floats() floats; elements past the depth become zeros.
void arrange_bits_row(const BitsProduct& sizes, const float* row, float* to);

/// Rows times columns [begin, end) of a matrix. Results are f32 in rows of sizes.columns.
struct BitsRows {
  const float* rows = nullptr;  ///< arranged, one after the other
  std::int64_t count = 0, begin = 0, end = 0;
  const std::byte* bias = nullptr;  ///< f32 [columns] of any alignment, or null
  float* to = nullptr;              ///< row 0, column 0 of the result
};
/// Computes the products, whose bits depend on the row and the column only. Runs on the calling
/// thread; tiles take ranges of columns.
void multiply_bits(const BitsMatrix& matrix, const BitsRows& product);

/// Most rows of a part of a panel; parts begin at multiples of it.
inline constexpr std::int64_t kBitsPartDepth = 256;
/// A part of a panel: `columns` columns from `column` on, `depth` elements of each from `begin` on.
struct BitsPart {
  std::int64_t column = 0, columns = 0, begin = 0, depth = 0;
};
/// Writes weights as f32 in rows of `columns`, rounded up to a multiple of MatMulWidths::vector.
/// Writes up to kBitsPartDepth rows. For products of many rows, which the micro-kernel of f32 then
/// computes.
void widen_bits(const BitsMatrix& matrix, const BitsPart& part, float* to);

}  // namespace parallax
