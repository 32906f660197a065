// Refuses options that make no sense. Internal to session/.
#pragma once

#include "parallax/options.h"

namespace parallax {

/// Errors: kInvalidInput for options that no session could have, kUnsupported for a precision that
/// this CPU does not have.
Status check_options(const SessionOptions& options);
/// Errors: kInvalidInput.
Status check_options(const PlanOptions& options);

}  // namespace parallax
