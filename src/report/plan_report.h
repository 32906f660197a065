// A program as the public report. Pure function.
#pragma once

#include "bind/program.h"
#include "parallax/report.h"
#include "planning/delegated_plan.h"

namespace parallax {

/// `program` has a plan that is explained.
PlanReport report_of(const Program& program, Refinement refinement);
/// The same for plan.program, with what the delegate runs and why.
PlanReport report_of(const DelegatedPlan& plan, Refinement refinement);

}  // namespace parallax
