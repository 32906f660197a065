// The OpenCL devices of this machine. Thread-safety: pure functions, but for the drivers' answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "delegates/opencl/device/cl_library.h"

namespace parallax::opencl {

/// A device and its properties, as reported by the driver. Properties that the driver does not have
/// are 0 or empty.
struct ClDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::string name, vendor, version, driver;
  bool is_cpu = false;  ///< selects kernels: a CPU gains nothing by local memory
  /// With the host. As CL_DEVICE_HOST_UNIFIED_MEMORY says.
  bool shares_memory = false;
  bool is_pocl = false;           ///< pocl compiles a kernel again for other kinds of grids
  std::int64_t memory_bytes = 0;  ///< bytes of global memory
  /// Size limit of one buffer. Larger requests of ClContext fail with kOutOfMemory.
  std::int64_t max_buffer_bytes = 0;
  std::size_t max_group = 1;     ///< maximum work-items of a work-group
  int compute_units = 1;         ///< parallel cores, of any kind
  std::int64_t local_bytes = 0;  ///< local memory of a work-group

  /// Returns whether its buffers are in host memory, mapped or not.
  bool in_host_memory() const { return shares_memory || is_cpu; }
  /// Identifies everything apart from its source that a compiled program depends on.
  std::string fingerprint() const { return name + '\n' + vendor + '\n' + version + '\n' + driver; }
};

/// Returns all devices with a compiler, accelerators before CPUs. Empty if no driver is installed.
/// Errors: those of cl_library(); kUnsupported in a child of fork() whose parent has called this.
/// Devices that are not available or not little-endian are left out. The order within both groups
/// is the driver's; the text of the option "opencl:NUMBER" counts in this list. The first call
/// loads libOpenCL.
Result<std::vector<ClDevice>> find_devices();

}  // namespace parallax::opencl
