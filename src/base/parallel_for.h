// How work is handed to several threads. Pure functions.
#pragma once

#include <cstdint>
#include <functional>

namespace parallax {

/// Runs body(0) .. body(count - 1), in any order, several at once where it can; returns when all
/// are done. `body` must not throw.
using ParallelFor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;
/// One after the other on the calling thread.
inline void serial_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace parallax
