#include "kernels/cpu/machine.h"

#include <algorithm>

#include "kernels/cpu/convolution/planar_loops.h"

namespace parallax {

Machine::Machine(const CpuCaches& caches)
    : l1_(std::clamp<std::int64_t>(caches.l1, 16 << 10, 128 << 10) / kFloatBytes),
      l1_way_(std::clamp<std::int64_t>(caches.l1_way, 1 << 10, 128 << 10) / kFloatBytes),
      l2_(std::clamp<std::int64_t>(caches.l2, 128 << 10, 4 << 20) / kFloatBytes) {}

const Machine& this_machine() {
  static const Machine machine(cpu_caches());
  return machine;
}

std::int64_t vector_bytes() {
  return static_cast<std::int64_t>(planar_widths().vector) * kFloatBytes;
}

}  // namespace parallax
