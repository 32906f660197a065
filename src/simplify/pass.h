// Graph to graph rewrites. A pass has a name, is timed, can be switched off by name, says what kept
// it from firing, and is verified unless it changed nothing: the structure of the graph, and each
// node by its operator's inference. Names are looked at once, after the last pass.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/load_budget.h"
#include "parallax/report.h"

namespace parallax {

/// Computes the outputs of one node whose inputs are all constants (the session gives the reference
/// kernels). An error leaves the node in the graph.
using Evaluate = std::function<Result<std::vector<Constant>>(const Graph&, NodeId)>;
/// The same of a node with one output, into memory of its size.
using EvaluateInto = std::function<Status(const Graph&, NodeId, std::span<std::byte>)>;

/// What kept passes from changing nodes that they were made for. Not thread-safe.
class NearMisses {
 public:
  void add(std::string_view reason, const Node& node);
  /// All since the last call: one for each reason.
  std::vector<NearMiss> take();

 private:
  std::vector<NearMiss> list_;
};

/// A way around a graph: something else computes some of its inputs from some of its outputs, both
/// by their places in the graph's lists. No such input is there before all of these outputs are,
/// and all that the detours `behind` give, by their places in the list of detours.
struct Detour {
  std::vector<std::size_t> outputs, inputs, behind;
};

struct PassContext {
  Evaluate evaluate;
  /// For large results, which are deferred (ops/deferred.h); null: nothing is.
  EvaluateInto evaluate_into = nullptr;
  /// What all passes, over the graph and its bodies, take copies of constants and work from.
  std::shared_ptr<LoadBudget> budget = std::make_shared<LoadBudget>();
  std::shared_ptr<NearMisses> near_misses = std::make_shared<NearMisses>();
  /// Nodes of the graph, by name, that stay as they are with their bodies. Null: none.
  std::shared_ptr<const std::set<std::string>> closed = nullptr;
  /// A pass must not make an output of a detour wait for what the detour gives. Bodies have none.
  std::span<const Detour> detours = {};

  /// Notes that all of a pattern is there and `reason`, a text of which each guard has one, stands
  /// in the way. `node`: the last of the pattern, as a rewrite would keep it.
  void missed(std::string_view reason, const Node& node) const { near_misses->add(reason, node); }
};

struct Pass {
  std::string_view name;
  /// Rewrites in place and says how many nodes, or inputs of nodes, changed: 0 only where the graph
  /// is as it was, but for values that no node mentions. The graph satisfies verify() and inference
  /// before and after. Bodies of its nodes are left alone: the pass runs over each of them as well.
  Result<int> (*run)(Graph& graph, const PassContext& context);
};

/// Runs `passes` in order, but for the `disabled` ones; a report of each. Errors: of passes, stage
/// kPasses.
Result<std::vector<PassReport>> run_passes(std::span<const Pass> passes, Graph& graph,
                                           const PassContext& context,
                                           std::span<const std::string> disabled = {});

/// Errors: kInvalidInput where one of `names` is none of the passes'.
Status check_pass_names(std::span<const Pass> passes, std::span<const std::string> names);

}  // namespace parallax
