// Buffers that take the place of one that dies as they are made. Internal to memory/.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/memory.h"

namespace parallax {

/// A problem in which buffers that share their place are one buffer.
struct InPlace {
  MemoryProblem problem;
  std::vector<std::int32_t> joined;  ///< of each buffer of the original: the one it is part of

  bool any() const { return problem.buffers.size() < joined.size(); }
  /// Offsets of the original problem.
  Offsets split(const Offsets& offsets) const;
};

/// Joins each buffer with the latest one that its node may overwrite, if all other readers of that
/// one are done by then in every execution of `steps` and `wanted` (where given) accepts the pair.
/// O(V+E).
InPlace join_in_place(
    const MemoryProblem& problem, const Steps& steps,
    const std::function<bool(std::size_t buffer, std::size_t overwritten)>& wanted = {});

}  // namespace parallax
