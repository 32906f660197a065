// The plans of If, Loop and Scan bodies as the public report. Pure function.
#pragma once

#include <vector>

#include "compile/compiled.h"
#include "parallax/report.h"

namespace parallax {

std::vector<BodyReport> body_reports(const Compiled& compiled);

}  // namespace parallax
