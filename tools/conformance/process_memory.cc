#include "process_memory.h"

#include <unistd.h>

#include <fstream>

#include "base/heap.h"

namespace parallax::conformance {

std::int64_t resident_bytes() {
  free_heap_pages();
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return file ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace parallax::conformance
