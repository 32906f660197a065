// Plans with delegates: these run the regions of the canonical graph that they run faster, the CPU
// runs its own fused version of the rest. For a report, the device need not be present: its profile
// describes it. Thread-safe: functions over their arguments, but profiles are read from files, and
// an open delegate is asked, which may block: callers hold no lock but turns (base/lock_order.h).
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

/// The split of operators between CPU and delegate, as in CoExecution.
struct SplitShare {
  std::uint64_t key = 0;
  int share = 0;
  std::optional<int> refused;
};

/// The plan of one graph: the model's, or that of a body.
struct DelegatedPlan {
  std::shared_ptr<Bound> bound;            ///< null in a plan of regions alone, and in bodies
  std::shared_ptr<const Program> program;  ///< null unless plan_for_delegate(s)() made the plan
  Graph graph;                             ///< the canonical graph, with patterns for delegates
  Partition partition;                     ///< regions of `graph`
  std::vector<std::string> delegates;      ///< names, by Region::delegate
  /// Why the CPU runs each node of `graph`: the reason of each delegate; empty for other nodes.
  IdVector<NodeId, std::string> reasons;
  std::string co_execution;         ///< the operators that are split, and the time saved; or empty
  std::optional<SplitShare> split;  ///< nullopt: no operator is split
  /// The node before the split for each node of `graph`, empty for nodes that move rows; empty list
  /// if no operator is split.
  IdVector<NodeId, std::string> origins;
  std::vector<PassReport> lowering;  ///< the passes over the CPU's part
  /// The plans of the bodies of `graph`, in the order of nodes (delegated_bodies.h).
  std::vector<BodyPlan> bodies;
  std::string body;        ///< prefix of its node names in the model, "loop/body/"; or empty
  std::int32_t first = 0;  ///< number of its first region among all regions of the model
  /// Trips in a run through all loops around it, counting 1 for each loop of unknown length.
  std::int64_t trips = 1;
};

/// The regions of one body of a node.
struct BodyPlan {
  std::string node;        ///< name of the node in the graph around the body
  std::size_t index = 0;   ///< index of the body in Node::bodies
  std::int64_t trips = 1;  ///< trips each time that the node runs; 1 if not known
  DelegatedPlan plan;
};

/// Options of the functions below.
struct DelegatedOptions {
  KernelChoice kernels = {};
  Refinement refinement = Refinement::kTime;
  LayoutOptions layout = {};
  std::vector<std::string> disabled_passes = {};  ///< skipped for the CPU and for delegates
  /// Set for a plan that will run: it shares these weights, which `canonical` must outlive. Null:
  /// the plan is for a report.
  std::shared_ptr<GraphContext::Weights> weights = nullptr;
  bool substitute = false;  ///< with `weights`: keeps the CPU as a fallback for regions
  /// The model as the CPU alone would run it, if a delegate's calibration has samples; else null.
  std::shared_ptr<const Compiled> whole = nullptr;
  /// The regions, by names of nodes; null: they are chosen by cost.
  const std::vector<std::vector<std::string>>* pinned = nullptr;
  /// The delegate of each pinned region; empty if there is only one delegate.
  std::vector<int> pinned_to = {};
  std::string body = {};  ///< as DelegatedPlan::body
  /// Nodes that delegates must not run, by names in the model; also removed from pinned regions.
  std::vector<RefusedRegion> refused = {};
};

/// Plans for the delegate of the profile that `plan` names, and lays out the program. `lowered`:
/// the graph that the CPU alone would run instead of `canonical`, with the same symbols. Errors: as
/// compile(), lay_out() and passes; kIo and kInvalidInput for the files of profile and calibration;
/// kInvalidInput if the profile has no delegate, if a calibration is missing or unused, and if a
/// pinned region has nodes that the delegate does not run.
Result<DelegatedPlan> plan_for_delegate(const Graph& canonical, const Graph& lowered,
                                        const Binding& binding, const PlanOptions& plan,
                                        const DelegatedOptions& options);
/// A delegate to plan for.
struct NamedDelegate {
  std::string name;             ///< for reports
  const Delegate& description;  ///< its operators, limits and rates
  /// Times measured on it, used instead of the described rates; null: not measured.
  const Calibration* calibration = nullptr;
  NodeQuestion ask = {};  ///< asks its device about nodes; null: its description alone decides
};
/// Plans for these delegates, in order of preference, and lays out the program; `plan` must name no
/// profile. Errors: as plan_for_delegate().
Result<DelegatedPlan> plan_for_delegates(const Graph& canonical, const Graph& lowered,
                                         const Binding& binding,
                                         std::span<const NamedDelegate> delegates,
                                         const PlanOptions& plan, const DelegatedOptions& options);
/// Plans the regions alone: without `bound` and `program`. Errors: those of run_passes()
/// (simplify/pass.h) and concrete_shapes() (ir/graph.h); kIo and kInvalidInput for a calibration;
/// kInvalidInput if a pinned region has nodes that the delegate does not run; kUnsupported for
/// several delegates if a pinned plan does not name the delegate of each region.
Result<DelegatedPlan> place_for_delegates(const Graph& canonical, const Graph& lowered,
                                          const Binding& binding,
                                          std::span<const NamedDelegate> delegates,
                                          const PlanOptions& plan, const DelegatedOptions& options);
/// Plans the regions and binds the graph, but does not lay out the program.
Result<DelegatedPlan> bind_for_delegates(const Graph& canonical, const Graph& lowered,
                                         const Binding& binding,
                                         std::span<const NamedDelegate> delegates,
                                         const PlanOptions& plan, const DelegatedOptions& options);

}  // namespace parallax
