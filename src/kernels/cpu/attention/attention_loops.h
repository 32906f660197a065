// The softmax between the two products of attention, vectorized for the instruction set of this
// machine. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/params/fused_attention.h"

namespace parallax {

/// Scores of a block of keys for some queries, and the state of a softmax that processes keys block
/// by block (Milakov and Gimelshein, Online normalizer calculation for softmax).
struct AttentionScores {
  float* x = nullptr;  ///< [rows, keys], aligned and padded to a multiple of the vector
  std::size_t stride = 0, rows = 0, keys = 0;
  float scale = 1;
  const float* mask = nullptr;           ///< a row of `keys` for each row, or null
  std::size_t mask_stride = 0;           ///< elements from one of its rows to the next
  const std::uint8_t* choice = nullptr;  ///< bytes that `fill` tests, laid out like `mask`; or null
  std::size_t choice_stride = 0;
  AttentionFill fill;
  bool first = true;         ///< these are the first keys: `largest`, `sum`, `y` are unset
  float* largest = nullptr;  ///< [rows]: the largest scaled and masked score so far
  float* sum = nullptr;      ///< [rows]: the sum of the weights so far
  float* y = nullptr;        ///< [rows, width]: the weighted values so far
  std::size_t y_stride = 0, width = 0;
};
/// Replaces scores with weights e^(scale * score + mask - largest), except where `fill` is chosen;
/// updates `largest` and `sum`, and scales `y` down in rows whose `largest` grew.
void attention_weights(const AttentionScores& scores);

/// Divides each row of `y` [rows, width] by its sum.
void attention_divide(float* y, std::size_t y_stride, std::size_t rows, std::size_t width,
                      const float* sum);

}  // namespace parallax
