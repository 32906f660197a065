// Reductions of f32, for the instruction set of this machine. The order of sums depends only on
// sizes and the number of lanes. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// The ONNX operators ReduceSum, ReduceSumSquare and so on. kMax and kMin give NaN if an element is
/// NaN. An empty row gives 0 for kSum, kSquares, kL1 and kL2, -inf for kMax, inf for kMin.
enum class Reduction : std::uint8_t {
  kSum,
  kSquares,  ///< sum of x * x
  kMean,
  kMax,
  kMin,
  kL1,         ///< sum of |x|
  kL2,         ///< square root of the sum of x * x
  kLogSum,     ///< log of the sum
  kLogSumExp,  ///< for reduce_rows() only
};

/// Writes the reduction of row r to y[r], for `rows` dense rows of `n` elements. Each row is folded
/// in four vectors that are added at the end (row_inl.h). Rows may have any alignment of a float.
void reduce_rows(Reduction reduction, const float* x, float* y, std::size_t rows, std::size_t n);
/// Writes the reduction of column c to y[c]; its `n` elements begin at x[c] and lie `stride`
/// elements apart. Four vectors of columns go together. Sums of more than 128 elements are made of
/// sums of 128, whose errors grow less. y must not overlap x. REQUIRES: the reduction is not
/// kLogSumExp.
void reduce_columns(Reduction reduction, const float* x, float* y, std::size_t columns,
                    std::size_t n, std::size_t stride);

}  // namespace parallax
