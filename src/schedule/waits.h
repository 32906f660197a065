// Finds the branches that each branch must wait for, given the places of buffers. Internal to
// schedule/.
#pragma once

#include "branch/branch.h"
#include "memory/memory.h"

namespace parallax {

/// Returns the waits: a branch waits for those that it depends on, and for the users of bytes that
/// it overwrites, but for no other branches of earlier `steps`. Every execution in which a branch
/// starts when all that it waits for are done uses `offsets` safely. Edges that others imply are
/// removed in graphs of up to kMaxReduced branches; if a graph would need very many edges, each
/// branch waits for the whole step before its own. Close to O(V+E), plus kMaxReduced^2 / 64 words
/// for small graphs.
Waits make_waits(const BranchGraph& branches, const MemoryProblem& problem, const Steps& steps,
                 const Offsets& offsets);
inline constexpr std::size_t kMaxReduced = 4096;

}  // namespace parallax
