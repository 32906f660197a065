// Session.run() of Python. Threads: called with the GIL, which it releases while the model runs.
#pragma once

#include "handles.h"

namespace parallax::python {

/// Runs the model once and returns a dict of the outputs; session.cc has the text for users.
/// `outputs`: names, or None. `state` and `stop` may be null.
nb::dict run_session(SessionHandle& self, nb::handle inputs, nb::handle outputs, StateHandle* state,
                     StopHandle* stop);

}  // namespace parallax::python
