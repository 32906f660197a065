// The inner loops of attention with queries in lanes: every row of a block belongs to a key (or to
// a column of V) and has an element for each query. Rows are `stride` elements apart, a multiple of
// MatMulWidths::vector, and all of them is computed. For the instruction set of this machine.
#pragma once

#include <cstddef>

namespace parallax {

/// What is known of the queries so far, a number for each (Milakov and Gimelshein, Online
/// normalizer calculation for softmax).
struct LaneSums {
  float* largest = nullptr;  ///< masked score
  float* sum = nullptr;      ///< of the weights, against `largest`
  float* shrink = nullptr;   ///< by how much the last block changed the weights before it
};

struct LaneScores {
  float* x = nullptr;  ///< [keys, stride]
  std::size_t stride = 0, keys = 0;
  const float* key_mask = nullptr;    ///< [keys], for all queries; or null
  const float* query_mask = nullptr;  ///< [keys, stride]; or null
  bool first = true;                  ///< nothing was seen before these keys
  LaneSums sums;
};
/// Makes scores weights and brings the sums up to date: e^(score + mask - largest) with a mask,
/// 2^(score - largest) without.
void lane_weights(const LaneScores& scores);

/// x[0, n) *= factor, n a multiple of the vector.
void lane_scale(float* x, std::size_t n, float factor);

struct LaneValues {
  const float* v = nullptr;  ///< [keys, width], rows `v_stride` elements apart
  std::size_t v_stride = 0;
  const float* x = nullptr;  ///< [keys, stride]: weights
  std::size_t keys = 0, stride = 0;
  float* y = nullptr;             ///< [width, stride]
  const float* shrink = nullptr;  ///< [stride]: times what y holds; null: y holds nothing yet
  std::size_t width = 0;
};
/// y = shrink * y + V^T x.
void lane_values(const LaneValues& values);

/// Divides each row of y [width, stride] by `sum` [stride].
void lane_divide(float* y, std::size_t width, std::size_t stride, const float* sum);

}  // namespace parallax
