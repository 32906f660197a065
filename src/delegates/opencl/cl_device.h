// The OpenCL devices of this machine. Thread-safety: pure but for what drivers answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "delegates/opencl/cl_library.h"

namespace parallax::opencl {

/// A device and what its driver says of it.
struct ClDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::string name, vendor, version, driver;
  bool is_cpu = false;         ///< kernels are chosen by it: a CPU gains nothing by local memory
  bool shares_memory = false;  ///< with the host
  bool is_pocl = false;        ///< compiles a kernel once more for grids of another kind
  std::int64_t memory_bytes = 0;
  std::int64_t max_buffer_bytes = 0;
  std::size_t max_group = 1;  ///< work-items
  int compute_units = 1;
  std::int64_t local_bytes = 0;

  /// Whether its buffers are memory of the host's, mapped or not.
  bool in_host_memory() const { return shares_memory || is_cpu; }
  /// What a compiled program depends on beside its source.
  std::string fingerprint() const { return name + '\n' + vendor + '\n' + version + '\n' + driver; }
};

/// All devices with a compiler, accelerators before CPUs. Empty where no driver is installed.
/// Errors: of cl_library(); kUnsupported in a child of fork() whose parent has called this.
Result<std::vector<ClDevice>> find_devices();

}  // namespace parallax::opencl
