#include "kernels/packing_version.h"

#include <fmt/core.h>

#include "kernels/packing_stamp.h"
#include "kernels/simd/targets.h"

// Highway after the choice of targets.
#include <hwy/targets.h>

#ifdef PARALLAX_WITH_ONEDNN
#include <dnnl.hpp>
#endif

namespace parallax {
namespace {

std::string onednn_version() {
#ifdef PARALLAX_WITH_ONEDNN
  const dnnl_version_t* const v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{} {} isa {:x}", v->major, v->minor, v->patch, v->hash,
                     static_cast<unsigned>(dnnl::get_effective_cpu_isa()));
#else
  return "no oneDNN";
#endif
}

}  // namespace

std::string packing_machine() {
  // The least bit is the best target. A CPU may have a better one than kernels are compiled for.
  // Where they are compiled for one alone, as on Arm, that is taken, whatever Highway says.
  auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  if (targets == 0) targets = HWY_STATIC_TARGET;
  return hwy::TargetName(targets & ~(targets - 1));
}

std::string packing_version() {
  return fmt::format("{} {} {}", kPackingStamp, packing_machine(), onednn_version());
}

}  // namespace parallax
