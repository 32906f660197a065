// Depthwise convolutions of bytes in NHWC with AVX-512 VNNI. The taps of four rows of a filter lie
// side by side in a step, so that one instruction multiplies them. Sums are i32 and exact.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Channels that are computed together, and bytes of a column of up to four rows of them.
inline constexpr std::size_t kDepthwiseChannels = 64, kDepthwiseColumnBytes = 256;
/// Outputs of a row that are computed together: the columns that they read stay in the cache.
inline constexpr std::size_t kDepthwiseOutputs = 32;

/// Rows of outputs of one image. Sizes count pixels, rows or channels; entry 0 of pairs is the axis
/// H, entry 1 the axis W.
struct DepthwiseRows {
  const std::uint8_t* x = nullptr;  ///< the image, [in[0], in[1], channels]
  std::size_t channels = 0;
  std::ptrdiff_t in[2] = {}, kernel[2] = {}, stride[2] = {}, dilation[2] = {}, pad_begin[2] = {};
  std::ptrdiff_t out_columns = 0;         ///< outputs of a row
  std::ptrdiff_t begin = 0, end = 0;      ///< rows of outputs that are computed
  std::uint8_t flip = 0;                  ///< 0x80 if X is signed, else 0
  std::uint8_t zero = 0;                  ///< zero point of X, as an unsigned byte
  const std::uint8_t* weights = nullptr;  ///< as pack_depthwise() writes them
  const std::int32_t* start = nullptr;    ///< [channels], first of the sums
  Requantise requantise;                  ///< to bytes
  std::uint8_t* columns = nullptr;        ///< scratch of depthwise_column_bytes()
  std::uint8_t* y = nullptr;              ///< the result, [out rows, out_columns, channels]

  /// Groups of four rows of the filter.
  std::ptrdiff_t groups() const { return (kernel[0] + 3) / 4; }
  /// Columns that `outputs` outputs of a row read.
  std::ptrdiff_t columns_of(std::ptrdiff_t outputs) const {
    return (outputs - 1) * stride[1] + (kernel[1] - 1) * dilation[1] + 1;
  }
};

/// Returns the index of the weight of a channel for a tap in packed weights: a block of channels,
/// then groups of four rows, columns, and the lanes in which the sums of the channels are.
std::size_t depthwise_weight_index(const DepthwiseRows& of, std::size_t channel, std::ptrdiff_t row,
                                   std::ptrdiff_t column);

/// Computes the rows [begin, end) of outputs. REQUIRES: cpu_has_vnni(); `requantise` gives bytes;
/// `start` and the arrays of `requantise` are readable up to a multiple of kDepthwiseChannels.
void vnni_depthwise(const DepthwiseRows& rows);

}  // namespace parallax
