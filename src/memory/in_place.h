// Finds buffers that may overwrite another one that is dead once they are computed. Internal to
// memory/. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/memory.h"

namespace parallax {

/// Buffers that share memory and are treated as one buffer.
struct InPlace {
  std::vector<std::int32_t> joined;  ///< for each buffer of the problem: the joined buffer that
                                     ///< contains it
  std::size_t buffers = 0;           ///< number of joined buffers

  /// Returns whether any buffers were joined.
  bool any() const { return buffers < joined.size(); }
  /// Returns the problem of the joined buffers; `original`: the argument of join_in_place().
  MemoryProblem problem(const MemoryProblem& original) const;
  /// Converts offsets of the joined buffers to those of the original problem.
  Offsets split(const Offsets& offsets) const;
};

/// Joins each buffer with the latest one that its node may overwrite, if in every execution of
/// `steps` all other readers of that one are done by then, and if `wanted` accepts the pair (empty:
/// all pairs). O(V+E).
InPlace join_in_place(
    const MemoryProblem& problem, const Steps& steps,
    const std::function<bool(std::size_t buffer, std::size_t overwritten)>& wanted = {});

}  // namespace parallax
