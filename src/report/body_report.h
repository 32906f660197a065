// Reports the plans of If, Loop and Scan bodies. Pure function.
#pragma once

#include <vector>

#include "compile/compiled.h"
#include "parallax/report.h"

namespace parallax {

/// Returns a report for each body at any depth, in the order of nodes, outer ones first. A body
/// that could not be planned has an error, and no reports for bodies inside it.
std::vector<BodyReport> body_reports(const Compiled& compiled);

}  // namespace parallax
