// The delegate "opencl" behind parallax/delegate.h: regions of f32 on the first OpenCL device, or
// on the one that --delegate opencl:TEXT names by its number or by a part of its name.
// Thread-safety: as delegate.h says.
#pragma once

#include "parallax/delegate.h"

namespace parallax {

/// Its table; lives as long as the process. A machine without OpenCL learns of that from open.
extern "C" const px_delegate* px_opencl_delegate(void);

}  // namespace parallax
