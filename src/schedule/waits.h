// Which branches each branch must wait for, given where the bytes lie. Internal to schedule/.
#pragma once

#include "branch/branch.h"
#include "memory/memory.h"

namespace parallax {

/// A branch waits for those it depends on and for those that must be done with bytes before it may
/// write over them; for nothing else that `steps` order. Every execution in which a branch starts
/// when all it waits for are done keeps what `offsets` promise. Edges that others imply are left
/// out up to kMaxReduced branches; where a graph would need very many edges, each branch waits for
/// the whole step before its own. Close to O(V+E), plus kMaxReduced^2 / 64 words for small graphs.
Waits make_waits(const BranchGraph& branches, const MemoryProblem& problem, const Steps& steps,
                 const Offsets& offsets);
inline constexpr std::size_t kMaxReduced = 4096;

}  // namespace parallax
