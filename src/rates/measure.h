// Measures probes on a delegate, through the same code as runs, and on this CPU.
// Thread-safety: pure functions; other work running concurrently makes the times longer.
#pragma once

#include <chrono>
#include <memory>
#include <set>

#include "delegate_host/device_ledger.h"
#include "delegate_host/open_delegate.h"
#include "device/calibration.h"

namespace parallax {

/// Time limit of one call of measure(): no further probe starts after it. Building a device's
/// programs for the last probe may exceed it.
inline constexpr std::chrono::milliseconds kMeasuringTime{300};

/// The ledgers that count the bytes of probes; null: not counted.
struct ProbeMemory {
  std::shared_ptr<DeviceLedger> device;  ///< memory that the delegate holds
  std::shared_ptr<DeviceLedger> host;    ///< arrays, weights and arenas of the CPU
};

/// The task and the result of one call of measure(). Filled in by the caller, except `spread`;
/// lives during the call. One thread uses it at a time.
struct Measuring {
  /// Kinds to measure; kinds that were measured, or that the delegate does not run, are removed.
  /// Those whose probes did not fit the memory stay.
  std::set<WorkKind> wanted;
  int threads = 1;  ///< threads of the CPU's runs
  /// Receives samples, launch time and bandwidth, unless they are known. Not null.
  Calibration* known = nullptr;
  ProbeMemory memory = {};
  /// The variation of repeated measurements: the upper quartile of all ProbeTimes::spread. Large on
  /// a busy machine; 0 if nothing was repeated.
  double spread = 0;
};
/// Measures the wanted kinds. Errors: the delegate's failure in a probe, whose kind is then no
/// longer wanted; kBudgetExceeded. Samples that were taken before an error stay in `known`. If
/// memory lacks for the probe of the launch or of the bandwidth, no further one is run. Blocks
/// until the probes are done. They run on a pool of `threads` threads that lasts for this call.
Status measure(const std::shared_ptr<const OpenDelegate>& delegate, Measuring& measuring,
               std::chrono::nanoseconds limit = kMeasuringTime);

}  // namespace parallax
