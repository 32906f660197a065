#include "delegates/opencl/device/cl_device.h"

#include <algorithm>
#include <atomic>

#include "base/machine/fork.h"
#include "base/status.h"

namespace parallax::opencl {
namespace {

/// Returns a property of fixed size; 0 if the driver does not have it.
template <class T>
T number_of(const ClLibrary& cl, cl_device_id device, cl_device_info what) {
  T value{};
  cl.clGetDeviceInfo(device, what, sizeof(value), &value, nullptr);
  return value;
}

std::string text_of(const ClLibrary& cl, cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  if (cl.clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (cl.clGetDeviceInfo(device, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

ClDevice facts_of(const ClLibrary& cl, cl_platform_id platform, cl_device_id id) {
  ClDevice device;
  device.platform = platform;
  device.id = id;
  device.name = text_of(cl, id, CL_DEVICE_NAME);
  device.vendor = text_of(cl, id, CL_DEVICE_VENDOR);
  device.version = text_of(cl, id, CL_DEVICE_VERSION);
  device.driver = text_of(cl, id, CL_DRIVER_VERSION);
  device.is_pocl = device.version.find("pocl") != std::string::npos ||
                   device.version.find("PoCL") != std::string::npos;
  device.is_cpu = (number_of<cl_device_type>(cl, id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  device.shares_memory = number_of<cl_bool>(cl, id, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
  device.memory_bytes =
      static_cast<std::int64_t>(number_of<cl_ulong>(cl, id, CL_DEVICE_GLOBAL_MEM_SIZE));
  device.max_buffer_bytes =
      static_cast<std::int64_t>(number_of<cl_ulong>(cl, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  device.max_group = number_of<std::size_t>(cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  device.compute_units = static_cast<int>(number_of<cl_uint>(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS));
  device.local_bytes =
      static_cast<std::int64_t>(number_of<cl_ulong>(cl, id, CL_DEVICE_LOCAL_MEM_SIZE));
  return device;
}

bool usable(const ClLibrary& cl, cl_device_id id) {
  return number_of<cl_bool>(cl, id, CL_DEVICE_AVAILABLE) == CL_TRUE &&
         number_of<cl_bool>(cl, id, CL_DEVICE_COMPILER_AVAILABLE) == CL_TRUE &&
         number_of<cl_bool>(cl, id, CL_DEVICE_ENDIAN_LITTLE) == CL_TRUE;
}

/// Drivers have threads, which a child of fork() lacks: it would wait for them forever. Errors:
/// kUnsupported in a child whose parent has used OpenCL.
Status check_same_process() {
  constexpr std::uint64_t kUnused = ~std::uint64_t{0};
  static std::atomic<std::uint64_t> user{kUnused};
  std::uint64_t before = kUnused;
  if (user.compare_exchange_strong(before, process_number()) || before == process_number())
    return {};
  return tl::unexpected(Error{Stage::kSession,
                              ErrorCode::kUnsupported,
                              {},
                              "OpenCL was used before this process was forked"});
}

}  // namespace

Result<std::vector<ClDevice>> find_devices() {
  PX_RETURN_IF_ERROR(check_same_process());
  PX_ASSIGN(const ClLibrary* cl, cl_library());
  std::vector<ClDevice> devices;
  cl_uint count = 0;
  // The loader returns an error if it finds no driver.
  if (cl->clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return devices;
  std::vector<cl_platform_id> platforms(count);
  PX_RETURN_IF_ERROR(
      cl_check("clGetPlatformIDs", cl->clGetPlatformIDs(count, platforms.data(), nullptr)));
  for (cl_platform_id platform : platforms) {
    cl_uint found = 0;
    if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &found) != CL_SUCCESS)
      continue;
    std::vector<cl_device_id> ids(found);
    if (found == 0 ||
        cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, found, ids.data(), nullptr) != CL_SUCCESS)
      continue;
    for (cl_device_id id : ids)
      if (usable(*cl, id)) devices.push_back(facts_of(*cl, platform, id));
  }
  std::stable_partition(devices.begin(), devices.end(),
                        [](const ClDevice& d) { return !d.is_cpu; });
  return devices;
}

}  // namespace parallax::opencl
