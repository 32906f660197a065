// Finds buffers that may overwrite another one that is dead once they are computed. Internal to
// memory/. Thread-safety: pure functions. Only plan_steps(), plan_like(), the peaks and
// check_offsets() join buffers; the baselines do not.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/memory.h"

namespace parallax {

/// Buffers that share memory and are treated as one buffer.
struct InPlace {
  /// For each buffer of the problem: the joined buffer that contains it. Numbers ascend in the
  /// order of the first buffer of each group.
  std::vector<std::int32_t> joined;
  std::size_t buffers = 0;  ///< number of joined buffers

  /// Returns whether any buffers were joined.
  bool any() const { return buffers < joined.size(); }
  /// Returns the problem of the joined buffers; `original`: the argument of join_in_place(). A
  /// joined buffer is written by the first of its buffers and read by the readers of them all; its
  /// `over` is empty.
  MemoryProblem problem(const MemoryProblem& original) const;
  /// Converts offsets of the joined buffers to those of the original problem. All buffers of a
  /// group get the same offset; the total of bytes is unchanged.
  Offsets split(const Offsets& offsets) const;
};

/// Joins each buffer with the latest one that its node may overwrite, if in every execution of
/// `steps` all other readers of that one are done by then, and if `wanted` accepts the pair (empty:
/// all pairs). O(V+E). REQUIRES: check_problem accepts `problem` for `steps`. A buffer is
/// overwritten by one other buffer at most, the first that may; chains of any length become one
/// joined buffer. Only buffers with the same unrounded size are joined. `wanted` is called on this
/// thread, only for pairs of equal size of which the earlier is not overwritten yet.
InPlace join_in_place(
    const MemoryProblem& problem, const Steps& steps,
    const std::function<bool(std::size_t buffer, std::size_t overwritten)>& wanted = {});

}  // namespace parallax
