// The delegate "opencl" (parallax/delegate.h): runs regions of f32 on the first OpenCL device, or
// on the one that --delegate opencl:TEXT names by its number or a part of its name. Thread-safety:
// as delegate.h requires.
#pragma once

#include "parallax/delegate.h"

namespace parallax {

/// Returns its table, which lives as long as the process. On a machine without OpenCL, open fails.
extern "C" const px_delegate* px_opencl_delegate(void);

}  // namespace parallax
