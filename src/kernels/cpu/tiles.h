// How the kernels of this folder cut their work into tiles: by shape and machine alone, whatever
// the number of threads, so that results do not depend on it. Tiles cost some 20-100 microseconds,
// and their operands fit a second-level cache; small nodes have 2, 4 or 8 smaller tiles. Pure
// functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/machine.h"
#include "kernels/kernel.h"

namespace parallax {

/// Returns the number of tiles for `units` that cost `work` each; a tile of the usual size costs
/// `most`. A node with fewer than eight tiles of that size is cut into smaller ones, down to an
/// eighth of it, some 5 microseconds (offering a tile to another thread costs half a microsecond),
/// and into a power of two, which a few threads share evenly. At most `units`, unless that is 0.
/// `work` and `most` have the same unit, e.g. multiply-accumulates or elements of a tile. 0 units
/// give no tiles.
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
/// Returns the number of tiles for elements that cost 1 each.
inline std::int64_t count_tiles(std::int64_t elements, std::int64_t most) {
  return count_tiles(elements, 1, most);
}

/// Returns `tiles`, or one more if they are few and odd, so that two threads share them evenly: of
/// three tiles one thread has two. At most `units`.
inline std::int64_t even_tiles(std::int64_t tiles, std::int64_t units) {
  const bool odd = tiles > 1 && tiles < kSmallNodeTiles && tiles % 2 == 1;
  return odd && tiles < units ? tiles + 1 : tiles;
}

/// Returns how many groups of columns each of `runs` tiles of a small node is cut into, if `wanted`
/// tiles are wanted and each group copies or transforms the same inputs again: 32 columns pay for
/// it.
inline std::int64_t copying_groups(std::int64_t wanted, std::int64_t runs, std::int64_t columns) {
  constexpr std::int64_t kFewestColumns = 32;
  wanted = std::min(wanted, kSmallNodeTiles);
  return std::clamp<std::int64_t>(
      columns / kFewestColumns, 1,
      std::max<std::int64_t>(wanted / std::max<std::int64_t>(runs, 1), 1));
}

/// Most floats that a tile of a convolution may copy (64 MiB): larger ones are left to other
/// kernels.
inline constexpr double kMaxScratchElements = 1 << 24;

/// Returns a kernel that calls `run` for each tile: make_lambda_kernel() with the type that
/// factories return. `run` must be thread-safe, since tiles run concurrently. The result always has
/// a kernel.
inline Result<std::unique_ptr<Kernel>> tiled_kernel(LambdaKernelOptions options, TileFunction run) {
  return make_lambda_kernel(options, std::move(run));
}

/// Returns the result of a factory for a request that it does not cover: a null kernel, so that the
/// next factory is asked.
inline Result<std::unique_ptr<Kernel>> not_covered() { return std::unique_ptr<Kernel>(); }

/// Returns a kernel without tiles, for outputs without elements.
inline Result<std::unique_ptr<Kernel>> empty_kernel() {
  LambdaKernelOptions options;
  options.tiles = 0;
  return tiled_kernel(options, [](std::int64_t, const KernelArgs&) -> Status { return {}; });
}

/// Returns element 0 of a tensor that is known at plan time, at any alignment. For scalars such as
/// the bounds of a Clip. REQUIRES: `data` is not null, T is its type.
template <class T>
T first_element(const TensorDesc& tensor) {
  T value{};
  __builtin_memcpy(&value, tensor.data, sizeof(T));
  return value;
}

/// Returns `n` rounded up to a multiple of `to`. The result must fit 63 bits. REQUIRES: n >= 0, to
/// > 0.
inline std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return tile_count(n, to) * to; }

/// Converts a size that is known not to be negative.
inline std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace parallax
