// Costs of nodes on one core without measurements of them: from the name of the kernel, its
// multiply-accumulates (MAC) and the bytes that it reads and writes. Refinement, the distribution
// of tiles and predictions use this one model. Thread-safety: pure functions.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace parallax {

/// The peak performance of one core; a rate of 0 is not known and limits nothing. Units: 1/s.
struct Core {
  double macs_per_second = 0;   ///< in f32
  double bytes_per_second = 0;  ///< read and written
};

/// The core on which kernel_rates.def was measured (Zen 4, AVX-512).
inline constexpr Core kMeasuredCore = {57e9, 24e9};
/// The peak performance of a core's units, by its structure.
struct CorePeaks {
  double hertz = 0;
  double macs_per_cycle = 0;   ///< in f32: lanes of a vector times the pipes that multiply
  double bytes_per_cycle = 0;  ///< loaded from the first cache
};
/// The peaks of kMeasuredCore: two pipes of 256 bits. A loop of nothing but multiply-adds gets
/// 59.1e9 MAC/s, one of nothing but loads 236e9 bytes/s.
inline constexpr CorePeaks kMeasuredPeaks = {3.69e9, 16, 64};
/// Returns the rates of a core that need not be present: kernels reach the same share of its peaks
/// as on kMeasuredCore. A peak of 0 gives a rate of 0: not known.
constexpr Core core_of(const CorePeaks& peaks) {
  const auto share = [](double own, double measured, double rate) { return own / measured * rate; };
  return {
      share(peaks.hertz * peaks.macs_per_cycle,
            kMeasuredPeaks.hertz * kMeasuredPeaks.macs_per_cycle, kMeasuredCore.macs_per_second),
      share(peaks.hertz * peaks.bytes_per_cycle,
            kMeasuredPeaks.hertz * kMeasuredPeaks.bytes_per_cycle, kMeasuredCore.bytes_per_second)};
}
/// Returns the rates of a core of which only the first rate is known: it moves bytes in the same
/// proportion.
constexpr Core core_with(double macs_per_second) {
  return {macs_per_second,
          macs_per_second / kMeasuredCore.macs_per_second * kMeasuredCore.bytes_per_second};
}
/// Returns the core of this machine: kMeasuredCore with multiply-accumulates in proportion to the
/// length of its vectors. Computed once for the process: lanes of AVX-512, AVX2 or 128-bit vectors.
Core this_core();

/// In seconds.
inline constexpr double kNodeSeconds = 1e-6;  ///< to start a node

/// The work of one node. Amounts are those of the whole node, all tiles together, and not negative.
/// The text must live during the call only.
struct KernelWork {
  OpKind op = OpKind::kIdentity;
  std::string_view kernel;  ///< its name in the catalogue
  double macs = 0;
  double bytes = 0;  ///< read and written
};
/// Returns the seconds of all tiles, without the start of the node: macs / rate + bytes / rate,
/// with the rates of the kernel on kMeasuredCore scaled to `core`. A kernel without measurements
/// has the rates of another one of its name, or the core's, or those of plain loops for reference
/// kernels. The result is >= 0 and does not depend on threads.
double kernel_seconds(const KernelWork& work, const Core& core = this_core());

}  // namespace parallax
