// Reports the kernels of the nodes of a plan. Pure function.
#pragma once

#include <vector>

#include "compile/compiled.h"
#include "parallax/report.h"

namespace parallax {

/// Returns a report for each pair of operator and kernel, in descending order of nodes; nodes in
/// bodies included, unless the body could not be planned.
std::vector<KernelReport> kernel_reports(const Compiled& compiled);

}  // namespace parallax
