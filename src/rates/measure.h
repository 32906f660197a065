// Times probes on a delegate, through the same host that runs use, and on this CPU.
//
// Thread-safety: pure functions; what runs beside them makes figures larger.
#pragma once

#include <chrono>
#include <memory>
#include <set>

#include "delegate_host/device_ledger.h"
#include "delegate_host/open_delegate.h"
#include "device/calibration.h"

namespace parallax {

/// Of all that one call measures: no further probe begins after that. Building a device's programs
/// for the last one may take longer.
inline constexpr std::chrono::milliseconds kMeasuringTime{300};

/// The ledgers in which the bytes of probes count; null: none does.
struct ProbeMemory {
  std::shared_ptr<DeviceLedger> device;  ///< what the delegate holds
  std::shared_ptr<DeviceLedger> host;    ///< arrays, weights and arenas of the CPU
};

/// What one call of measure() is to do, and has done.
struct Measuring {
  /// Kinds to time; kinds that were timed, or that the delegate does not run, are taken out. Those
  /// whose probes did not fit the memory stay.
  std::set<WorkKind> wanted;
  int threads = 1;  ///< of the CPU's runs
  /// Gets samples, launch and bandwidth where they are not known.
  Calibration* known = nullptr;
  ProbeMemory memory = {};
  /// How much repeated timings differ: the upper quartile of all ProbeTimes::spread. Large on a
  /// machine that is busy; 0 where nothing was repeated.
  double spread = 0;
};
/// Errors: of the delegate that fails at a probe, which is none of the ones that are then wanted;
/// kBudgetExceeded.
Status measure(const std::shared_ptr<const OpenDelegate>& delegate, Measuring& measuring,
               std::chrono::nanoseconds limit = kMeasuringTime);

}  // namespace parallax
