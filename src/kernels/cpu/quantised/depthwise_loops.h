// Depthwise convolutions of bytes in NHWC. Sums are f32 and exact: up to kMaxByteDepthwiseTaps
// products of nine bits each stay below 2^24. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Outputs of one row that find the same taps inside the image. Strides of X count bytes, those of
/// weights floats. Weights are integers minus their zero point.
struct DepthwiseBytes {
  const std::uint8_t* x = nullptr;               ///< input of the first tap of the first output
  std::size_t next_row = 0, next_tap = 0;        ///< bytes of X to the tap below, and to the right
  std::size_t next_output = 0;                   ///< bytes of X from an output to the next
  const float* weights = nullptr;                ///< weights of the first tap, [channels]
  std::size_t weights_row = 0, weights_tap = 0;  ///< floats to the tap below, and to the right
  std::size_t rows = 0, columns = 0;             ///< taps in each direction
  /// Output pixels; channels, a vector of which is summed together.
  std::size_t outputs = 0, channels = 0;
  std::uint8_t flip = 0;  ///< 0x80 if X is signed, else 0
  float zero = 0;         ///< zero point of X, as an unsigned byte
  float* sums = nullptr;  ///< [outputs, channels]
};
/// Writes the sum of (x - zero) * weights over all taps to `sums`.
void depthwise_bytes(const DepthwiseBytes& job);

/// Requantises `rows` rows of sums, `columns` each, one after the other, and writes them to C, as a
/// MatMulPanel does. Sums become i32 if there is no scale.
void requantise_sums(const Requantise& to, const float* sums, void* c, std::size_t rows,
                     std::size_t columns);

}  // namespace parallax
