// Graph to graph rewrites. A pass has a name, is timed, can be switched off by name, and the
// verifier runs after it unless it changed nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/load_budget.h"

namespace parallax {

/// Computes the outputs of one node whose inputs are all constants (the session gives the reference
/// kernels). An error leaves the node in the graph.
using Evaluate = std::function<Result<std::vector<Constant>>(const Graph&, NodeId)>;

struct PassContext {
  Evaluate evaluate;
  /// What all passes, over the graph and its bodies, take copies of constants and work from.
  std::shared_ptr<LoadBudget> budget = std::make_shared<LoadBudget>();
};

struct Pass {
  std::string_view name;
  /// Rewrites in place and says how many nodes, or inputs of nodes, changed: 0 only where the graph
  /// is as it was, but for values that nobody mentions. The graph satisfies verify() and inference
  /// before and after. Bodies of its nodes are left alone: the pass runs over each of them as well.
  Result<int> (*run)(Graph& graph, const PassContext& context);
};

struct PassReport {
  std::string_view name;
  int changes = 0;
  std::chrono::nanoseconds time{};
};
/// Runs `passes` in order, but for the `disabled` ones. Errors: of passes, stage kPasses.
Result<std::vector<PassReport>> run_passes(std::span<const Pass> passes, Graph& graph,
                                           const PassContext& context,
                                           std::span<const std::string> disabled = {});

/// Errors: kInvalidInput where one of `names` is none of the passes'.
Status check_pass_names(std::span<const Pass> passes, std::span<const std::string> names);

}  // namespace parallax
