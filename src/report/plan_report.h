// Converts a program to the public report. Pure function, but slow: it lays the program out again
// for other numbers of threads.
#pragma once

#include "bind/program.h"
#include "parallax/report.h"
#include "planning/delegated_plan.h"

namespace parallax {

/// Reports `program`, whose plan must be explained (Plan::explained). `refinement`: the option that
/// it was planned with. `passes` and `budget_bytes` of the result are left to the session.
PlanReport report_of(const Program& program, Refinement refinement);
/// Reports plan.program, which must not be null, with the regions of delegates and the reasons for
/// them; `passes` are those that ran on the CPU's part.
PlanReport report_of(const DelegatedPlan& plan, Refinement refinement);

}  // namespace parallax
