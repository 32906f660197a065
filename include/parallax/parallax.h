// All of the C++ API. Users who compile often include single headers instead.
//
// A program makes a Runtime (threads, memory, delegates; runtime.h), loads a Model from a file
// (model.h), creates a Session of it (session.h) and runs that with views of tensors (tensor.h).
// Every fallible function returns a Result (result.h). Not included: delegate.h, the C interface
// that authors of delegates implement, and c_types.h, which it shares with other C interfaces.
#pragma once

#include "parallax/dtype.h"
#include "parallax/elements.h"
#include "parallax/model.h"
#include "parallax/object.h"
#include "parallax/options.h"
#include "parallax/planner.h"
#include "parallax/report.h"
#include "parallax/result.h"
#include "parallax/runtime.h"
#include "parallax/session.h"
#include "parallax/state.h"
#include "parallax/tensor.h"
#include "parallax/version.h"
