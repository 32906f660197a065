// Buffers that take the place of one that dies as they are made. Internal to memory/.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/memory.h"

namespace parallax {

/// Which buffers share their place, and are one buffer then.
struct InPlace {
  std::vector<std::int32_t> joined;  ///< of each buffer of the problem: the one it is part of
  std::size_t buffers = 0;           ///< that are left

  bool any() const { return buffers < joined.size(); }
  /// The problem of what is left; `original` as it was given.
  MemoryProblem problem(const MemoryProblem& original) const;
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
