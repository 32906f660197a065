// Explains in words and numbers why a branch of a plan runs alone or with others. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bind/program.h"
#include "parallax/options.h"
#include "parallax/report.h"

namespace parallax {

/// Returns the reason for one branch, such as "waits: 18.4 MiB over the budget of 64.0 MiB".
/// `layer`: the index of its layer; `step`: the branches that share its step, itself included;
/// `refinement`: the option that the plan was made with, which must be explained (Plan::explained).
std::string branch_reason(const Program& program, BranchId id, int layer,
                          const std::vector<BranchId>& step, Refinement refinement);

/// Returns the reason for a layer, one line: "3 of 4 branches in parallel; branch 12 waits: ...".
/// `branches`: the reports of its branches.
std::string layer_reason(const std::vector<const BranchReport*>& branches);

}  // namespace parallax
