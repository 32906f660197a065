// All of the C++ API. Users who compile often include single headers instead.
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
