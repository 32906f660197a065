// A program as the public report. Pure function. Internal to session/.
#pragma once

#include "execute/program.h"
#include "parallax/report.h"

namespace parallax {

PlanReport report_of(const Program& program);

}  // namespace parallax
