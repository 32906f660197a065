// Distributes work over several threads. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>

namespace parallax {

/// Runs body(0) .. body(count - 1) in any order, several of them concurrently if possible; returns
/// when all are done. `body` must not throw and must be thread-safe.
using ParallelFor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;
/// Runs the iterations in order on the calling thread.
inline void serial_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace parallax
