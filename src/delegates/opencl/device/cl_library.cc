#include "delegates/opencl/device/cl_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstring>

namespace parallax::opencl {
namespace {

/// Debian's, others', and where phones keep the vendor's.
constexpr const char* kLibraryNames[] = {"libOpenCL.so.1", "libOpenCL.so",
                                         "/vendor/lib64/libOpenCL.so",
                                         "/system/vendor/lib64/libOpenCL.so"};

tl::unexpected<Error> no_library(std::string message) {
  return tl::unexpected(Error{Stage::kCompile, ErrorCode::kUnsupported, {}, std::move(message)});
}

/// Sets `function` to the library's function of that name.
template <class Function>
bool find_function(void* library, const char* name, Function& function) {
  void* found = dlsym(library, name);
  static_assert(sizeof(found) == sizeof(function));
  std::memcpy(&function, &found, sizeof(function));  // a cast would not be portable
  return found != nullptr;
}

Result<const ClLibrary*> load_library() {
#ifdef PX_NO_DLOPEN
  return no_library("a static program loads no libOpenCL");
#endif
  void* library = nullptr;
  for (const char* name : kLibraryNames)
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return no_library("this machine has no libOpenCL");
  static ClLibrary functions;
#define PX_CL_FUNCTION(name)                          \
  if (!find_function(library, #name, functions.name)) \
    return no_library(fmt::format("libOpenCL has no {}", #name));
#include "delegates/opencl/device/cl_functions.def"
#undef PX_CL_FUNCTION
  return &functions;
}

const char* name_of(cl_int code) {
  switch (code) {
#define PX_CL_CODE(name) \
  case name:             \
    return #name;
    PX_CL_CODE(CL_DEVICE_NOT_FOUND)
    PX_CL_CODE(CL_DEVICE_NOT_AVAILABLE)
    PX_CL_CODE(CL_COMPILER_NOT_AVAILABLE)
    PX_CL_CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    PX_CL_CODE(CL_OUT_OF_RESOURCES)
    PX_CL_CODE(CL_OUT_OF_HOST_MEMORY)
    PX_CL_CODE(CL_BUILD_PROGRAM_FAILURE)
    PX_CL_CODE(CL_INVALID_VALUE)
    PX_CL_CODE(CL_INVALID_MEM_OBJECT)
    PX_CL_CODE(CL_INVALID_BINARY)
    PX_CL_CODE(CL_INVALID_KERNEL_NAME)
    PX_CL_CODE(CL_INVALID_KERNEL_ARGS)
    PX_CL_CODE(CL_INVALID_ARG_INDEX)
    PX_CL_CODE(CL_INVALID_ARG_SIZE)
    PX_CL_CODE(CL_INVALID_WORK_GROUP_SIZE)
    PX_CL_CODE(CL_INVALID_GLOBAL_WORK_SIZE)
    PX_CL_CODE(CL_INVALID_BUFFER_SIZE)
    PX_CL_CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
#undef PX_CL_CODE
    default:
      return "an error";
  }
}

}  // namespace

Result<const ClLibrary*> cl_library() {
  static const Result<const ClLibrary*> kLoaded = load_library();
  return kLoaded;
}

tl::unexpected<Error> cl_error(std::string_view call, cl_int code) {
  const bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                      code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
  return tl::unexpected(Error{Stage::kRun,
                              memory ? ErrorCode::kOutOfMemory : ErrorCode::kInternal,
                              {},
                              fmt::format("OpenCL: {} gave {} ({})", call, name_of(code), code)});
}

Status cl_check(std::string_view call, cl_int code) {
  if (code == CL_SUCCESS) return {};
  return cl_error(call, code);
}

Status set_argument(const ClLibrary& cl, cl_kernel kernel, cl_uint& at, const void* value,
                    std::size_t bytes) {
  return cl_check("clSetKernelArg", cl.clSetKernelArg(kernel, at++, bytes, value));
}

}  // namespace parallax::opencl
