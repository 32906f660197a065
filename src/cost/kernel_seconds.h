// What a node costs on one core before anything was timed on it: by the name of its kernel, its
// multiply-accumulates (MAC) and the bytes that it reads and writes. Refinement, the hand-over of
// tiles and predictions go by this one model. Pure functions.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace parallax {

/// What one core does at best; a rate of 0 is not known and limits nothing.
struct Core {
  double macs_per_second = 0;   ///< in f32
  double bytes_per_second = 0;  ///< that it reads and writes
};

/// The core on which kernel_rates.def was measured (Zen 4, AVX-512).
inline constexpr Core kMeasuredCore = {57e9, 24e9};
/// What the units of a core can do at best, by how it is built.
struct CorePeaks {
  double hertz = 0;
  double macs_per_cycle = 0;   ///< in f32: the lanes of a vector times the pipes that multiply
  double bytes_per_cycle = 0;  ///< that it loads from its first cache
};
/// Of the core of kMeasuredCore: two pipes of 256 bits. A loop of nothing but multiply-adds gets
/// 59.1e9 MAC/s, one of nothing but loads 236e9 bytes/s.
inline constexpr CorePeaks kMeasuredPeaks = {3.69e9, 16, 64};
/// A core that need not be there: kernels get the same share of its peaks as on kMeasuredCore.
constexpr Core core_of(const CorePeaks& peaks) {
  const auto share = [](double own, double measured, double rate) { return own / measured * rate; };
  return {
      share(peaks.hertz * peaks.macs_per_cycle,
            kMeasuredPeaks.hertz * kMeasuredPeaks.macs_per_cycle, kMeasuredCore.macs_per_second),
      share(peaks.hertz * peaks.bytes_per_cycle,
            kMeasuredPeaks.hertz * kMeasuredPeaks.bytes_per_cycle, kMeasuredCore.bytes_per_second)};
}
/// A core of which only the first rate is known: it moves bytes in the same proportion.
constexpr Core core_with(double macs_per_second) {
  return {macs_per_second,
          macs_per_second / kMeasuredCore.macs_per_second * kMeasuredCore.bytes_per_second};
}
/// The core of this machine: as kMeasuredCore, with as many multiply-accumulates as its vectors are
/// long.
Core this_core();

inline constexpr double kNodeSeconds = 1e-6;  ///< to start a node

struct KernelWork {
  OpKind op = OpKind::kIdentity;
  std::string_view kernel;  ///< its name in the catalogue
  double macs = 0;
  double bytes = 0;  ///< read and written
};
/// Of all its tiles, without its start: macs / rate + bytes / rate, with the rates of the kernel on
/// kMeasuredCore scaled to `core`. A kernel that was not measured has the rates of one of its name,
/// else the core's, or those of plain loops where it is one of the reference kernels.
double kernel_seconds(const KernelWork& work, const Core& core = this_core());

}  // namespace parallax
