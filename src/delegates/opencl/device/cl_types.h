// OpenCL's types, for the oldest version that devices are expected to have. Include this in
// delegates/opencl only. They need no library to link with: functions are loaded at run time
// (cl_library.h).
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
