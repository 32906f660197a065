// OpenCL's types, of the oldest version that devices are expected to have. Only delegates/opencl
// includes this.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
