// Says in words and numbers why a branch of a plan runs as it does. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bind/program.h"
#include "parallax/options.h"
#include "parallax/report.h"

namespace parallax {

/// "runs at once with branch 3"; "waits: 18.4 MiB over the budget of 64.0 MiB"; ...
/// `step`: the branches that share its step, itself included.
std::string branch_reason(const Program& program, BranchId id, int layer,
                          const std::vector<BranchId>& step, Refinement refinement);

/// "3 of 4 branches in parallel; branch 12 waits: ...". `branches`: those of the layer.
std::string layer_reason(const std::vector<const BranchReport*>& branches);

}  // namespace parallax
