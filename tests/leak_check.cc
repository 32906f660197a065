// Part of the programs that run an OpenCL driver, where AddressSanitizer is on: LeakSanitizer does
// not look there once a driver is loaded. PoCL leaks what it compiles a kernel with, and the
// checker crashes on the code of kernels that PoCL has loaded. Both happen only where a kernel is
// not in PoCL's cache yet, so that random shapes fail a test now and then. PoCL stays loaded when
// the last user of OpenCL closes it.
#include <link.h>

#include <cstddef>
#include <string_view>

namespace {

int is_opencl(dl_phdr_info* library, std::size_t, void*) {
  const std::string_view name = library->dlpi_name;
  const auto is = [name](const char* of) { return name.find(of) != std::string_view::npos; };
  return is("libOpenCL") || is("libpocl") ? 1 : 0;
}

}  // namespace

// LeakSanitizer's name and contract (sanitizer/lsan_interface.h): asked once at exit; 1 leaves the
// check out.
extern "C" int __lsan_is_turned_off() {  // NOLINT(bugprone-reserved-identifier)
  return dl_iterate_phdr(is_opencl, nullptr);
}
