#include "kernels/cpu/machine.h"

#include <algorithm>

#include "kernels/cpu/convolution/planar_loops.h"

namespace parallax {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

}  // namespace

Machine::Machine(const CpuCaches& caches)
    : l1_(std::clamp<std::int64_t>(caches.l1, 16 << 10, 128 << 10) / kFloat),
      l1_way_(std::clamp<std::int64_t>(caches.l1_way, 1 << 10, 128 << 10) / kFloat),
      l2_(std::clamp<std::int64_t>(caches.l2, 128 << 10, 4 << 20) / kFloat) {}

const Machine& this_machine() {
  static const Machine machine(cpu_caches());
  return machine;
}

std::int64_t vector_bytes() { return static_cast<std::int64_t>(planar_widths().vector) * kFloat; }

}  // namespace parallax
