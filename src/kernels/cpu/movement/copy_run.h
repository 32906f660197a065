// memcpy for loops over runs that may be a few bytes short: those are copied without a call.
#pragma once

#include <cstddef>
#include <cstring>

namespace parallax {

/// to[0, bytes) = from[0, bytes); they do not overlap.
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
