#include "cost/kernel_seconds.h"

#include <hwy/targets.h>

#include <array>

namespace parallax {
namespace {

struct Rates {
  OpKind op;
  std::string_view kernel;
  double macs_per_ns, bytes_per_ns;
};

constexpr std::array kRates = {
#define PX_RATES(op, kernel, macs, bytes) Rates{OpKind::k##op, kernel, macs, bytes},
#include "cost/kernel_rates.def"
#undef PX_RATES
};
constexpr Rates kPlainLoops = {OpKind::kIdentity, {}, 0.6, 0.8};
constexpr Rates kFast = {OpKind::kIdentity,
                         {},
                         kMeasuredCore.macs_per_second * 1e-9,
                         kMeasuredCore.bytes_per_second * 1e-9};

/// Returns the rates of the kernel; or of one of its name, which is the same code for another
/// operator, except for plain loops; or else the core's peak.
const Rates& rates_of(OpKind op, std::string_view kernel) {
  const bool plain = kernel == "reference";
  const Rates* found = plain ? &kPlainLoops : &kFast;
  for (const Rates& row : kRates) {
    if (row.kernel != kernel) continue;
    if (row.op == op) return row;
    if (found == &kFast) found = &row;
  }
  return *found;
}

}  // namespace

Core this_core() {
  static const Core core = [] {
    const auto targets = hwy::SupportedTargets();
    const double lanes = (targets & HWY_AVX3) != 0 ? 16 : (targets & HWY_AVX2) != 0 ? 8 : 4;
    return Core{kMeasuredCore.macs_per_second * lanes / 16, kMeasuredCore.bytes_per_second};
  }();
  return core;
}

double kernel_seconds(const KernelWork& work, const Core& core) {
  const Rates& rates = rates_of(work.op, work.kernel);
  const auto seconds = [](double amount, double per_ns, double rate, double measured) {
    return rate > 0 ? amount / (per_ns * 1e9) * (measured / rate) : 0;
  };
  return seconds(work.macs, rates.macs_per_ns, core.macs_per_second,
                 kMeasuredCore.macs_per_second) +
         seconds(work.bytes, rates.bytes_per_ns, core.bytes_per_second,
                 kMeasuredCore.bytes_per_second);
}

}  // namespace parallax
