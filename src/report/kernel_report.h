// Which kernels the nodes of a plan get. Pure function.
#pragma once

#include <vector>

#include "compile/compiled.h"
#include "parallax/report.h"

namespace parallax {

/// One for each operator and kernel, those of most nodes first; nodes of bodies included.
std::vector<KernelReport> kernel_reports(const Compiled& compiled);

}  // namespace parallax
