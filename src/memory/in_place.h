// Finds buffers that may take the place of one that dies when they are made. Internal to memory/.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/memory.h"

namespace parallax {

/// Buffers that share a place and become one buffer.
struct InPlace {
  std::vector<std::int32_t> joined;  ///< by buffer of the problem: the joined one it is part of
  std::size_t buffers = 0;           ///< joined ones

  bool any() const { return buffers < joined.size(); }
  /// The problem of the joined buffers; `original`: that of join_in_place().
  MemoryProblem problem(const MemoryProblem& original) const;
  /// Turns offsets of the joined buffers into those of the original problem.
  Offsets split(const Offsets& offsets) const;
};

/// Joins each buffer with the latest one that its node may overwrite, if in every execution of
/// `steps` all other readers of that one are done by then, and if `wanted` accepts the pair.
/// O(V+E).
InPlace join_in_place(
    const MemoryProblem& problem, const Steps& steps,
    const std::function<bool(std::size_t buffer, std::size_t overwritten)>& wanted = {});

}  // namespace parallax
