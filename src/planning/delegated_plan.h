// A plan for a device, which need not be there where the plan is only reported: the delegate of its
// profile runs regions of the canonical graph that it runs faster, the CPU what it makes of the
// rest. Pure but for reading files.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bind/program.h"
#include "delegate_host/refusal.h"
#include "parallax/options.h"
#include "parallax/report.h"
#include "partition/partition.h"

namespace parallax {

struct BodyPlan;

/// As CoExecution has them.
struct SplitShare {
  std::uint64_t key = 0;
  int share = 0;
  std::optional<int> refused;
};

struct DelegatedPlan {
  std::shared_ptr<Bound> bound;
  std::shared_ptr<const Program> program;  ///< of plan_for_delegate() only
  Graph graph;                             ///< canonical, with the patterns that delegates take
  Partition partition;                     ///< of `graph`
  std::vector<std::string> delegates;      ///< their names, by Region::delegate
  /// By node of `graph`: why the CPU runs it; of several delegates each says why it does not.
  IdVector<NodeId, std::string> reasons;
  std::string co_execution;         ///< what was split, and what that saves; empty: nothing
  std::optional<SplitShare> split;  ///< how it was split; nothing: it was not
  /// By node of `graph`, if it was split: the node before, empty for one that moves rows.
  IdVector<NodeId, std::string> origins;
  std::vector<PassReport> lowering;  ///< of the rest
  /// Of each body of `graph`, in the order of nodes. These have neither bound, program nor bodies
  /// that run at once with others (delegated_bodies.h).
  std::vector<BodyPlan> bodies;
  std::string body;        ///< what names of its nodes begin with in the model; empty: no body
  std::int32_t first = 0;  ///< of its regions, in the numbers of all regions of the model
  std::int64_t trips = 1;  ///< in a run, as far as they are known: of all loops around it
};

/// The regions of one body of a node.
struct BodyPlan {
  std::string node;  ///< its name in the graph around
  std::size_t index = 0;
  std::int64_t trips = 1;  ///< each time that the node runs; 1 where that is not known
  DelegatedPlan plan;
};

struct DelegatedOptions {
  KernelChoice kernels = {};
  Refinement refinement = Refinement::kTime;
  LayoutOptions layout = {};
  std::vector<std::string> disabled_passes = {};  ///< neither the CPU nor the delegate takes them
  /// The plan is run: it has the CPU as the delegate's substitute, if `substitute` is true, and
  /// shares these weights, which `canonical` outlives. Null: it is for reports.
  std::shared_ptr<GraphContext::Weights> weights = nullptr;
  bool substitute = false;
  /// What the CPU alone would run, where a delegate's calibration has samples.
  std::shared_ptr<const Compiled> whole = nullptr;
  /// Names of the nodes of each region, which are then those; null: planned by cost.
  const std::vector<std::vector<std::string>>* pinned = nullptr;
  /// Which of several delegates has each of these; empty: there is one.
  std::vector<int> pinned_to = {};
  std::string body = {};  ///< as DelegatedPlan::body
  /// What delegates do not run, by names of nodes of the model; pinned regions of these are left
  /// out too.
  std::vector<RefusedRegion> refused = {};
};

/// `lowered`: what the CPU alone would run in place of `canonical`, whose symbols it has. Errors:
/// as compile(), lay_out() and passes; kIo and kInvalidInput of the profile and the calibration;
/// kInvalidInput if the profile has no delegate, or a calibration is missing or unused, and where
/// the plan is pinned to what the delegate does not run.
Result<DelegatedPlan> plan_for_delegate(const Graph& canonical, const Graph& lowered,
                                        const Binding& binding, const PlanOptions& plan,
                                        const DelegatedOptions& options);
struct NamedDelegate {
  std::string name;
  const Delegate& description;
  /// What was timed on it, in place of what it says of itself; null: nothing was.
  const Calibration* calibration = nullptr;
};
/// The same for delegates that are known, in order of preference; `plan` has no profile.
Result<DelegatedPlan> plan_for_delegates(const Graph& canonical, const Graph& lowered,
                                         const Binding& binding,
                                         std::span<const NamedDelegate> delegates,
                                         const PlanOptions& plan, const DelegatedOptions& options);
/// The regions alone. Errors: kUnsupported for several delegates under a pinned plan that does not
/// say whose the regions are.
Result<DelegatedPlan> place_for_delegates(const Graph& canonical, const Graph& lowered,
                                          const Binding& binding,
                                          std::span<const NamedDelegate> delegates,
                                          const PlanOptions& plan, const DelegatedOptions& options);
/// The same without offsets.
Result<DelegatedPlan> bind_for_delegates(const Graph& canonical, const Graph& lowered,
                                         const Binding& binding,
                                         std::span<const NamedDelegate> delegates,
                                         const PlanOptions& plan, const DelegatedOptions& options);

}  // namespace parallax
