// memcpy for loops over short runs: runs of one to four elements are copied without a call.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstring>

namespace parallax {

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

}  // namespace parallax
