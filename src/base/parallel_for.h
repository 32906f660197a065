// The type of functions that distribute work over threads, and the one that uses the calling thread
// alone. A session gets one from Workers::on() (session/workers.h) and gives it to its PlanCache,
// with which bind() computes deferred constants and packs weights.
#pragma once

#include <cstdint>
#include <functional>

namespace parallax {

/// Runs body(0) .. body(count - 1) in any order, several of them concurrently if possible; returns
/// when all are done. `body` must be thread-safe, and must neither throw nor call a ParallelFor of
/// workers. A `count` of 0 runs none. Several threads may call one concurrently, each holding no
/// lock but turns (base/lock_order.h). The workers that it uses must outlive it.
using ParallelFor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;
/// Runs the iterations in order on the calling thread.
inline void serial_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace parallax
