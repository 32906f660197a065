// Runs a probe and measures its time. Internal to rates/.
//
// Thread-compatible.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bind/program.h"
#include "delegate_host/open_delegate.h"
#include "parallax/tensor.h"
#include "rates/measure.h"
#include "rates/probes.h"
#include "run/pool/worker_pool.h"
#include "run/run_memory.h"

namespace parallax {

/// The minimum of a few runs, in seconds. Three to seven runs after one that is not counted; fewer
/// on a device that is slow.
struct ProbeTimes {
  double whole = 0;
  double region = 0;             ///< from the start of the region to its end; 0: no region
  std::optional<double> spread;  ///< variation of the region's times, or else of the whole runs'
};
/// Returns by how much the median of `times` exceeds the minimum, relative to the minimum. nullopt
/// for fewer than three, or if the minimum is too short for the clock.
std::optional<double> spread_of(std::vector<double> times);

/// A compiled probe with its memory.
class ProbeRun {
 public:
  /// Compiles the probe for the CPU as models are. Errors: those of passes and compilation;
  /// kBudgetExceeded.
  static Result<ProbeRun> on_cpu(Graph graph, int threads, const ProbeMemory& memory);
  /// Compiles the probe with a region of `delegate`. Errors: the same, and those of the delegate.
  static Result<ProbeRun> on_delegate(SurroundedProbe probe,
                                      const std::shared_ptr<const OpenDelegate>& delegate,
                                      int threads, const ProbeMemory& memory);

  /// Returns the predicted seconds on one core, from the rates of kernels.
  double predicted() const;
  /// Runs the probe several times. Errors: those of the delegate; also if it does not answer. A
  /// device that does not answer within a second fails the probe (kLimitExceeded), and its memory
  /// is kept until it does. After three counted runs no further one starts once 4 ms have passed,
  /// after the first one none once 40 ms have passed. Inputs are zeros.
  Result<ProbeTimes> time(WorkerPool& pool);

 private:
  /// Lives as long as a device may write to it: a delegate may never answer.
  struct Kept {
    DeviceCharge tensors, arena;  ///< bytes of host memory
    RunMemory memory;
    std::shared_ptr<const Program> program;
  };
  ProbeRun() = default;
  static Result<ProbeRun> make(std::shared_ptr<GraphContext> context,
                               const std::shared_ptr<const OpenDelegate>& delegate, int threads,
                               const ProbeMemory& memory);
  Result<ProbeTimes> run_once(WorkerPool& pool);

  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  std::vector<Tensor> tensors_;  ///< the input and the output
};

}  // namespace parallax
