// Checks of options. Internal to session/. All errors have stage kSession. Pure functions; safe to
// call concurrently. They do not look at the model or at files.
#pragma once

#include "parallax/options.h"

namespace parallax {

/// Checks the options of a session. Errors: kInvalidInput for values out of range and combinations
/// that contradict each other; kUnsupported for a precision that this CPU does not support, and for
/// a pinned plan with several delegates. Ranges: 0 to kMaxThreads threads, 0 to 1e11 ms for time
/// limits, no negative bytes or trips. Session::create() calls it before it opens delegates.
Status check_options(const SessionOptions& options);
/// Checks the options of a plan. Errors: kInvalidInput for a number that is no enumerator. Planner
/// calls it; only `offload` and `cost_model` are checked.
Status check_options(const PlanOptions& options);

}  // namespace parallax
