// The type of functions that distribute work over threads (Workers::on() of session/workers.h makes
// one), and the one that uses the calling thread alone. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>

namespace parallax {

/// Runs body(0) .. body(count - 1) in any order, several of them concurrently if possible; returns
/// when all are done. `body` must be thread-safe, and must neither throw nor call a ParallelFor. A
/// `count` of 0 runs none.
using ParallelFor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;
/// Runs the iterations in order on the calling thread.
inline void serial_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace parallax
