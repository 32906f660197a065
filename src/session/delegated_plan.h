// A plan for a device that need not be there: the delegate of its profile runs the regions that it
// runs faster. Pure but for reading files. Internal to session/.
#pragma once

#include <memory>
#include <string>

#include "execute/program.h"
#include "parallax/options.h"
#include "partition/partition.h"

namespace parallax {

struct DelegatedPlan {
  std::shared_ptr<const Program> program;  ///< for reports; no executor runs regions
  Partition partition;
  std::string delegate;
};

struct DelegatedOptions {
  KernelChoice kernels = {};
  Refinement refinement = Refinement::kTime;
  LayoutOptions layout;
};

/// Errors: as compile() and lay_out(); kIo and kInvalidInput of the profile and the calibration;
/// kInvalidInput if the profile has no delegate, or a calibration is missing or unused.
Result<DelegatedPlan> plan_for_delegate(const Graph& graph, const Binding& binding,
                                        const PlanOptions& plan, const DelegatedOptions& options);

}  // namespace parallax
