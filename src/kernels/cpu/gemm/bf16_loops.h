// The inner loops of matrix products of bf16 with sums in f32. A bf16 is the upper half of an f32;
// products of two are exact in f32. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Two bf16 that follow each other in depth, the first in the low half.
using Bf16Pair = std::uint32_t;

/// Columns of a panel, and the vector that every panel is a multiple of.
inline constexpr std::size_t kBf16Panel = 64, kBf16Vector = 16;

/// `rows` rows of `depth` f32 each, `stride` elements apart, times `factor`, rounded to the nearest
/// bf16 (to even where two are as near; a NaN stays one, what is too large becomes an infinity,
/// denormals zero), into rows of (depth + 1) / 2 pairs, `pairs` apart; a last odd element is paired
/// with zero. REQUIRES here and below: cpu_multiplies_bf16().
void round_to_bf16(const float* from, std::size_t stride, std::size_t rows, std::size_t depth,
                   Bf16Pair* to, std::size_t pairs, float factor = 1);

inline std::int64_t pairs_of(std::int64_t depth) { return (depth + 1) / 2; }

/// `rows` rows of scratch, rounded where they stand and closed up: [rows, pairs_of(depth)].
inline Bf16Pair* round_in_place(float* x, std::size_t stride, std::size_t rows, std::size_t depth) {
  auto* const to = reinterpret_cast<Bf16Pair*>(x);
  round_to_bf16(x, stride, rows, depth, to, (depth + 1) / 2);
  return to;
}

/// `n` columns of two rows, rounded in the same way, into one row of pairs, zeros up to a multiple
/// of kBf16Vector. second may be null: zeros.
void pair_rows(const float* first, const float* second, std::size_t n, Bf16Pair* to);

/// C[rows, columns] (+)= A[rows, 2 pairs] B[2 pairs, columns].
struct Bf16Panel {
  const Bf16Pair* a = nullptr;
  std::size_t lda = 0;  ///< pairs from one row of A to the next
  /// Rows of pairs, readable up to a multiple of kBf16Vector columns.
  const Bf16Pair* b = nullptr;
  std::size_t ldb = 0;
  float* c = nullptr;
  std::size_t ldc = 0;
  std::size_t rows = 0, pairs = 0;
  std::size_t columns = 0;      ///< 1 to kBf16Panel
  const float* bias = nullptr;  ///< [columns], added to each row where not `accumulate`; or null
  bool accumulate = false;      ///< add to what C holds
  /// As many bytes as B has here that will be wanted next; or null.
  const Bf16Pair* next_b = nullptr;
};
void bf16_panel(const Bf16Panel& panel);

}  // namespace parallax
