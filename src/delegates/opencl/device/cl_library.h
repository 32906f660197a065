// libOpenCL, loaded at run time: on a machine without it only this delegate is missing.
// Thread-safety: all functions may be called by any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "delegates/opencl/device/cl_types.h"
#include "parallax/result.h"

namespace parallax::opencl {

/// The functions of cl_functions.def; none is null. They are those of OpenCL 1.2.
struct ClLibrary {
#define PX_CL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "delegates/opencl/device/cl_functions.def"
#undef PX_CL_FUNCTION
};

/// Returns the library of this process, loaded by the first call and never unloaded, because
/// drivers leave threads behind. Errors: kUnsupported if it is missing or lacks a function. A
/// failure is remembered for the life of the process. Static programs cannot load it. Stage
/// kCompile.
Result<const ClLibrary*> cl_library();

/// Returns an error for `call`, which returned `code`: kOutOfMemory if the device has no memory
/// left, kInternal otherwise; the message contains OpenCL's name of the code. Stage kRun.
/// CL_OUT_OF_RESOURCES and CL_INVALID_BUFFER_SIZE count as kOutOfMemory, too.
tl::unexpected<Error> cl_error(std::string_view call, cl_int code);
/// Returns cl_error(), or success for CL_SUCCESS.
Status cl_check(std::string_view call, cl_int code);

/// Sets the kernel's argument number `at`, and increments `at`. `at` is incremented also on
/// failure. Threads that share a kernel must hold Commands.
Status set_argument(const ClLibrary& cl, cl_kernel kernel, cl_uint& at, const void* value,
                    std::size_t bytes);

/// Owns one reference to an OpenCL object, which the destructor releases. Move-only; empty if
/// default-constructed. The library must outlive it, which it does: it is never unloaded.
template <class T, auto kRelease>
/// The library must outlive it, which holds for cl_library().
class ClOwned {
 public:
  ClOwned() = default;
  ClOwned(const ClLibrary& library, T object) : library_(&library), object_(object) {}
  ClOwned(ClOwned&& other) noexcept
      : library_(other.library_), object_(std::exchange(other.object_, nullptr)) {}
  ClOwned& operator=(ClOwned&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(object_, other.object_);
    return *this;
  }
  ClOwned(const ClOwned&) = delete;
  ClOwned& operator=(const ClOwned&) = delete;
  ~ClOwned() {
    if (object_ != nullptr) (library_->*kRelease)(object_);
  }
  /// Returns the object, which stays owned.
  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  const ClLibrary* library_ = nullptr;
  T object_ = nullptr;
};
using OwnedContext = ClOwned<cl_context, &ClLibrary::clReleaseContext>;
using OwnedQueue = ClOwned<cl_command_queue, &ClLibrary::clReleaseCommandQueue>;
using OwnedProgram = ClOwned<cl_program, &ClLibrary::clReleaseProgram>;
using OwnedKernel = ClOwned<cl_kernel, &ClLibrary::clReleaseKernel>;
using OwnedBuffer = ClOwned<cl_mem, &ClLibrary::clReleaseMemObject>;
using OwnedEvent = ClOwned<cl_event, &ClLibrary::clReleaseEvent>;

}  // namespace parallax::opencl
