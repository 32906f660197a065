// The softmax between the two products of attention, vectorized for the instruction set of this
// machine. Thread-safe. The kernel in attention.cc calls it between two matrix products, for each
// block of keys; the loops with queries in lanes (lane_attention_loops.h) do not use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/params/fused_attention.h"

namespace parallax {

/// Scores of a block of keys for some queries, and the state of a softmax that processes keys block
/// by block (Milakov and Gimelshein, Online normalizer calculation for softmax). The caller owns
/// all memory. A row belongs to a query, an element of it to a key.
struct AttentionScores {
  /// [rows, keys], aligned and padded to a multiple of the vector. Products Q K on entry, weights
  /// afterwards; elements between the last key and the next multiple of the vector are overwritten
  /// with weights of 0.
  float* x = nullptr;
  /// Elements from one row of x to the next, a multiple of the vector; number of queries; number of
  /// keys, at least 1.
  std::size_t stride = 0, rows = 0, keys = 0;
  /// Factor of the products. If it is positive and there is neither mask nor choice, the exponent
  /// applies it.
  float scale = 1;
  const float* mask = nullptr;           ///< a row of `keys` for each row, or null
  std::size_t mask_stride = 0;           ///< elements from one of its rows to the next
  const std::uint8_t* choice = nullptr;  ///< bytes that `fill` tests, laid out like `mask`; or null
  /// Bytes from one of its rows to the next; 0: all queries share one.
  std::size_t choice_stride = 0;
  /// Says which bytes choose a score, its new value, and whether it replaces the score before or
  /// after the mask is added.
  AttentionFill fill;
  bool first = true;  ///< these are the first keys: `largest`, `sum`, `y` are unset
  /// [rows]: the largest scaled and masked score so far. At least the lowest finite f32, so that a
  /// row of -inf gives weights of 0 instead of NaN.
  float* largest = nullptr;
  float* sum = nullptr;  ///< [rows]: the sum of the weights so far
  float* y = nullptr;    ///< [rows, width]: the weighted values so far
  /// Elements from one row of y to the next; elements of a row.
  std::size_t y_stride = 0, width = 0;
};
/// Replaces scores with weights e^(scale * score + mask - largest), except where `fill` is chosen;
/// updates `largest` and `sum`, and scales `y` down in rows whose `largest` grew. Sums are folded
/// in two vectors per row, so their order depends on `keys` and the number of lanes alone. The
/// caller adds weights times V to y afterwards.
void attention_weights(const AttentionScores& scores);

/// Divides each row of `y` [rows, width] by its sum. Multiplies by the reciprocal of the sum.
/// Called once, after the last block of keys.
void attention_divide(float* y, std::size_t y_stride, std::size_t rows, std::size_t width,
                      const float* sum);

}  // namespace parallax
