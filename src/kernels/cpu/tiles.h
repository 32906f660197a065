// How the kernels of this folder cut their work: by shape and machine alone, into pieces of some
// 20-100 microseconds whose operands fit a second-level cache, small nodes into 2, 4 or 8 smaller
// ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/machine.h"
#include "kernels/kernel.h"

namespace parallax {

/// Tiles of `units` that cost `work` each, of which `most` make a tile of the usual size. A node of
/// less than eight of those is cut into tiles down to an eighth of it, some 5 microseconds
/// (offering them to another thread costs half a microsecond), and into a power of two, which a few
/// threads share evenly.
inline std::int64_t count_tiles(std::int64_t units, std::int64_t work, std::int64_t most) {
  most = std::max<std::int64_t>(most, 1);
  work = std::clamp<std::int64_t>(work, 1, most);
  const std::int64_t usual = tile_count(units, most / work);
  if (usual >= kSmallNodeTiles) return usual;
  const std::int64_t least = std::max<std::int64_t>(most / kSmallNodeTiles, 1);
  const auto wanted =
      static_cast<std::uint64_t>(std::min(tile_count(units * work, least), kSmallNodeTiles));
  return std::max(usual, std::min(units, static_cast<std::int64_t>(std::bit_ceil(wanted))));
}
/// The same of elements.
inline std::int64_t count_tiles(std::int64_t elements, std::int64_t most) {
  return count_tiles(elements, 1, most);
}

/// Most floats that a tile of a convolution may copy (64 MiB): larger ones are left to other
/// kernels.
inline constexpr double kMostScratchElements = 1 << 24;

/// make_lambda_kernel as the Result that factories return.
inline Result<std::unique_ptr<Kernel>> tiled_kernel(LambdaKernelOptions options, TileFunction run) {
  return make_lambda_kernel(options, std::move(run));
}

/// Returns the result of a factory for a request that it does not cover: a null kernel, so that the
/// next factory is asked.
inline Result<std::unique_ptr<Kernel>> not_covered() { return std::unique_ptr<Kernel>(); }

/// A kernel of no tiles, for outputs without elements.
inline Result<std::unique_ptr<Kernel>> empty_kernel() {
  LambdaKernelOptions options;
  options.tiles = 0;
  return tiled_kernel(options, [](std::int64_t, const KernelArgs&) -> Status { return {}; });
}

/// Element 0 of a tensor known at plan time. REQUIRES: data is not null, T is its type.
template <class T>
T first_element(const TensorDesc& tensor) {
  T value{};
  __builtin_memcpy(&value, tensor.data, sizeof(T));
  return value;
}

/// `n` up to the next multiple of `to`.
inline std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return tile_count(n, to) * to; }

inline std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace parallax
