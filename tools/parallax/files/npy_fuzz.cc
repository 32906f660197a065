// libFuzzer: any bytes as an .npy file.
#include "files/npy.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("fuzz", 0);
  if (write(file, data, size) == static_cast<ssize_t>(size))
    (void)parallax::cli::read_npy("/proc/self/fd/" + std::to_string(file));
  close(file);
  return 0;
}
