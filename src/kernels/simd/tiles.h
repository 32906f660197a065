// How the kernels of this folder cut their work: by shape alone, into pieces of some 20-100
// microseconds whose operands fit a second-level cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.h"

namespace parallax {

/// Elements per tile where each costs a load, a store and a few instructions.
inline constexpr std::int64_t kTileElements = std::int64_t{1} << 16;
/// The same for exp, erf and their like.
inline constexpr std::int64_t kTileCostlyElements = std::int64_t{1} << 15;
/// Tiles begin at multiples of this many elements where they can, so that no cache line is shared.
inline constexpr std::int64_t kTileGranule = 64;

/// make_lambda_kernel as the Result that factories return.
inline Result<std::unique_ptr<Kernel>> tiled_kernel(LambdaKernelOptions options, TileFunction run) {
  return make_lambda_kernel(options, std::move(run));
}

/// What a factory returns for requests it does not cover.
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

inline std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace parallax
