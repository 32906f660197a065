#include "kernels/packing_version.h"

#include <fmt/core.h>

#include "kernels/cpu/targets.h"
#include "kernels/packing_stamp.h"

// Highway after the choice of targets.
#include <hwy/targets.h>

namespace parallax {
std::string packing_machine() {
  // The least bit is the best target. A CPU may have a better one than kernels are compiled for.
  // Where they are compiled for one alone, as on Arm, that is taken, whatever Highway says.
  auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  if (targets == 0) targets = HWY_STATIC_TARGET;
  return hwy::TargetName(targets & ~(targets - 1));
}

std::string packing_version() { return fmt::format("{} {}", kPackingStamp, packing_machine()); }

}  // namespace parallax
