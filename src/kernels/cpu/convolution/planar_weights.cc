#include "kernels/cpu/convolution/planar_weights.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/convolution/planar_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Most channels times taps of a block, which is summed before the next is copied; at least one
/// channel.
constexpr std::int64_t kDepth = 1152;
/// Fewest products per sum for which transposing results pays.
constexpr std::int64_t kFewestTurned = 64;

}  // namespace

PlanarWeights::PlanarWeights(const ConvolutionShape& s, bool by_pixels)
    : groups(s.groups),
      filters(s.out_channels / s.groups),
      channels(s.in_channels / s.groups),
      taps(s.planes.kernel * s.kernel[0] * s.kernel[1]) {
  const PlanarWidths widths = planar_widths();
  if (by_pixels) unit = static_cast<std::int64_t>(widths.vector);
  units = tile_count(filters, unit);
  blocks = tile_count(channels, std::max<std::int64_t>(kDepth / taps, 1));
  panels =
      tile_count(units, by_pixels ? static_cast<std::int64_t>(widths.run) / unit : kPlanarRows);
}

void pack_planar(const PlanarWeights& w, const std::byte* source, std::byte* to) {
  const float zero = 0;
  for (std::int64_t g = 0; g < w.groups; ++g)
    for (std::int64_t b = 0; b < w.blocks; ++b)
      for (std::int64_t p = 0; p < w.panels; ++p) {
        const TileRange channels = w.block(b), filters = w.panel(p);
        for (std::int64_t k = channels.begin * w.taps; k < channels.end * w.taps; ++k)
          for (std::int64_t m = filters.begin; m < filters.end; ++m, to += kFloatBytes) {
            const std::byte* from =
                source + ((g * w.filters + m) * w.channels * w.taps + k) * kFloatBytes;
            std::memcpy(to, m < w.filters ? from : reinterpret_cast<const std::byte*>(&zero),
                        sizeof(float));
          }
      }
}

bool filters_in_vectors(const ConvolutionShape& s) {
  const auto vector = static_cast<std::int64_t>(planar_widths().vector);
  const std::int64_t filters = s.out_channels / s.groups;
  const std::int64_t depth = s.in_channels / s.groups * s.planes.kernel * s.kernel[0] * s.kernel[1];
  return depth >= kFewestTurned && 8 * filters >= 7 * vector * tile_count(filters, vector);
}

}  // namespace parallax
