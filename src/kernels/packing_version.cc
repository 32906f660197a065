#include "kernels/packing_version.h"

#include <fmt/core.h>
#include <hwy/targets.h>

#include "kernels/packing_stamp.h"

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
  // The least bit is the best target.
  const auto targets = hwy::SupportedTargets();
  return hwy::TargetName(targets & ~(targets - 1));
}

std::string packing_version() {
  return fmt::format("{} {} {}", kPackingStamp, packing_machine(), onednn_version());
}

}  // namespace parallax
