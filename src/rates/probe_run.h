// Runs of a probe, timed. Internal to rates/.
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

/// The least of a few runs, in seconds.
struct ProbeTimes {
  double whole = 0;
  double region = 0;             ///< from the region's begin to its end; 0: it has none
  std::optional<double> spread;  ///< of the region, or of the whole where there is none
};
/// How far the median of times is above the least, as a share of the least. Nothing for fewer than
/// three, or where no clock tells the least.
std::optional<double> spread_of(std::vector<double> times);

class ProbeRun {
 public:
  /// The probe on the CPU, as it runs models. Errors: of passes and compilation; kBudgetExceeded.
  static Result<ProbeRun> on_cpu(Graph graph, int threads, const ProbeMemory& memory);
  /// With a region of `delegate`. Errors: the same, and of the delegate.
  static Result<ProbeRun> on_delegate(SurroundedProbe probe,
                                      const std::shared_ptr<const OpenDelegate>& delegate,
                                      int threads, const ProbeMemory& memory);

  /// Of one core, by the rates of kernels.
  double predicted() const;
  /// Errors: of the delegate, which may not answer.
  Result<ProbeTimes> time(WorkerPool& pool);

 private:
  /// Lives as long as a device may write: it need not answer.
  struct Kept {
    DeviceCharge tensors, arena;  ///< bytes of the host's
    RunMemory memory;
    std::shared_ptr<const Program> program;
  };
  ProbeRun() = default;
  static Result<ProbeRun> make(std::shared_ptr<GraphContext> context,
                               const std::shared_ptr<const OpenDelegate>& delegate, int threads,
                               const ProbeMemory& memory);
  Result<ProbeTimes> run_once(WorkerPool& pool);

  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  std::vector<Tensor> tensors_;  ///< the input, the output
};

}  // namespace parallax
