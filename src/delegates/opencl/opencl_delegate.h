// The delegate "opencl" (parallax/delegate.h): runs regions of f32 on the first OpenCL device, or
// on the one that --delegate opencl:TEXT names by its number or a part of its name. Thread-safety:
// as delegate.h requires.
//
// The text "f16", alone or as "f16,TEXT", makes regions store floats in 16 bits. Opening fails with
// kUnsupported if there is no libOpenCL, no device with a compiler, a device with work-groups of
// fewer than 256 items, or if a parent process used OpenCL before fork(); with kInvalidInput for a
// TEXT that names no device.
#pragma once

#include "parallax/delegate.h"

namespace parallax {

/// Returns its table, which lives as long as the process. On a machine without OpenCL, open fails.
extern "C" const px_delegate* px_opencl_delegate(void);

}  // namespace parallax
