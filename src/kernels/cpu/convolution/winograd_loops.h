// The transforms of Winograd's minimal filtering, for the instruction set of this machine. F(m, 3)
// computes m outputs of a filter of 3 taps with m + 2 multiplications: inputs, weights and products
// are mapped by small constant matrices. A two-dimensional filter is mapped along both axes.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// The kind of transform, named by the outputs of a tile along H and W. Filters have 3 taps along
/// axes with several outputs, else 1.
enum class WinogradForm : std::uint8_t {
  k2x2,  ///< F(2x2, 3x3): 16 multiplications instead of 36
  k4x4,  ///< F(4x4, 3x3): 36 instead of 144
  k1x4,  ///< F(4, 3) along W, for filters of 1x3: 6 instead of 12
  k4x1,  ///< the same along H, for filters of 3x1
  /// k1x4 with stride 2, 9 instead of 12: F(4, 2) of the even inputs, and the odd as they are.
  k1x4Stride2,
};
struct WinogradSizes {
  std::int64_t out_h, out_w;  ///< outputs of a tile
  std::int64_t in_h, in_w;    ///< inputs that these read
  std::int64_t matrices;      ///< matrices of weights; later points use the last
  std::int64_t points() const { return in_h * in_w; }  ///< elements of a transformed tile
  std::int64_t outputs() const { return out_h * out_w; }
};
/// Returns the sizes of a form; they do not depend on the machine.
WinogradSizes winograd_sizes(WinogradForm form);

/// Transforms the inputs of a tile: element c of point p goes to to[p * stride + c], for c below
/// `channels` rounded up to whole vectors, zeros past the channels. `from` are the in_h * in_w
/// pixels of the tile, row by row. Pixels outside the image point to zeros that the caller
/// provides. REQUIRES: stride is at least the rounded number of channels.
void winograd_input(WinogradForm form, const float* const* from, std::size_t channels, float* to,
                    std::size_t stride);

/// Transforms products to outputs: sums of from[p * stride + k] give to[i * columns + k] for output
/// i, k < columns. REQUIRES: columns is a multiple of the vector. bias: [columns], or null.
void winograd_output(WinogradForm form, const float* from, std::size_t stride, std::size_t columns,
                     const float* bias, float* to);

/// The filters of one channel: tap t of filter k, an unaligned f32, is `k * filter + t * tap` bytes
/// behind `data`. Taps are counted row by row.
struct ChannelFilters {
  const std::byte* data;
  std::int64_t filter, tap;
  std::int64_t count;  ///< filters
};
/// Transforms them, in f64 and rounded once: filter k gives to[p * stride + k] for the matrices p.
/// Called when weights are packed.
void winograd_weights(WinogradForm form, const ChannelFilters& from, float* to, std::size_t stride);

}  // namespace parallax
