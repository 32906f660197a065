#include "kernels/packing_version.h"

#include <fmt/core.h>

#include "kernels/cpu/targets.h"
#include "kernels/packing_stamp.h"

// Include Highway after the choice of targets.
#include <hwy/targets.h>

namespace parallax {
std::string packing_machine() {
  // The lowest bit is the best target. The CPU may support a better one than kernels are compiled
  // for. If they are compiled for a single target, as on Arm, it is used whatever Highway detects.
  auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  if (targets == 0) targets = HWY_STATIC_TARGET;
  return hwy::TargetName(targets & ~(targets - 1));
}

std::string packing_version() { return fmt::format("{} {}", kPackingStamp, packing_machine()); }

}  // namespace parallax
