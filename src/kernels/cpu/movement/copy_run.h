// memcpy for loops over short runs: runs of one to four elements are copied without a call.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/tiles.h"

namespace parallax {

/// Bytes that a tile copies.
inline constexpr std::int64_t kCopyTileBytes = kTileElements * 4;
/// Concat and Pad copy rows up to this length, in bytes, with copy_runs(): a call for each run of a
/// few elements took 3 ns.
inline constexpr std::int64_t kShortRowBytes = 256;

/// Returns the bytes of one slice over dims[begin..). The whole tensor's must fit 63 bits.
inline std::int64_t inner_bytes(const Dims& dims, int begin, DType dtype) {
  std::int64_t bytes = size_of(dtype);
  for (int d = begin; d < dims.rank(); ++d) bytes *= dims[d];
  return bytes;
}

/// Copies `bytes` bytes at any alignment; source and destination must not overlap. The compiler
/// turns the copies of constant size into one load and one store, several times faster than a call.
/// Gather and strided copies call it for each run of contiguous elements.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 4) {
    std::memcpy(to, from, 4);
  } else if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (bytes == 16) {
    std::memcpy(to, from, 16);
  } else {
    std::memcpy(to, from, bytes);
  }
}

/// Copies `count` runs of kBytes bytes, which lie as far apart as the steps say.
template <std::size_t kBytes>
void copy_runs_of(std::byte* to, std::int64_t to_step, const std::byte* from,
                  std::int64_t from_step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    std::memcpy(to, from, kBytes);
}
/// Copies `count` runs of `bytes` bytes, which lie as far apart as the steps say, in bytes. Runs of
/// common lengths are copied without a call.
inline void copy_runs(std::byte* to, std::int64_t to_step, const std::byte* from,
                      std::int64_t from_step, std::int64_t bytes, std::int64_t count) {
  switch (bytes) {
    case 4:
      return copy_runs_of<4>(to, to_step, from, from_step, count);
    case 8:
      return copy_runs_of<8>(to, to_step, from, from_step, count);
    case 12:
      return copy_runs_of<12>(to, to_step, from, from_step, count);
    case 16:
      return copy_runs_of<16>(to, to_step, from, from_step, count);
    case 32:
      return copy_runs_of<32>(to, to_step, from, from_step, count);
    case 64:
      return copy_runs_of<64>(to, to_step, from, from_step, count);
    default:
      break;
  }
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace parallax
