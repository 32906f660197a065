// Reductions of f32, for the instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

enum class Reduction : std::uint8_t {
  kSum,
  kSquares,
  kMean,
  kMax,
  kMin,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,  ///< for reduce_rows() only
};

/// y[r] = reduction of row r, for `rows` rows of `n` elements.
void reduce_rows(Reduction reduction, const float* x, float* y, std::size_t rows, std::size_t n);
/// y[c] = reduction of column c, whose `n` elements lie `stride` elements apart.
void reduce_columns(Reduction reduction, const float* x, float* y, std::size_t columns,
                    std::size_t n, std::size_t stride);

}  // namespace parallax
