// Checks of options. Internal to session/.
#pragma once

#include "parallax/options.h"

namespace parallax {

/// Checks the options of a session. Errors: kInvalidInput for values out of range and combinations
/// that contradict each other; kUnsupported for a precision that this CPU does not support, and for
/// a pinned plan with several delegates.
Status check_options(const SessionOptions& options);
/// Checks the options of a plan. Errors: kInvalidInput for a number that is no enumerator.
Status check_options(const PlanOptions& options);

}  // namespace parallax
