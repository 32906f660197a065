// Graph rewrites. A pass has a name, is timed, can be disabled by name, reports why it did not
// apply, and is verified unless it changed nothing: the structure of the graph, and each node by
// its operator's inference. All names are checked together after the last pass. Not thread-safe: a
// graph belongs to one thread.
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
#include "ir/load_quota.h"
#include "ir/op_kinds.h"
#include "parallax/report.h"

namespace parallax {

/// Computes the outputs of a node whose inputs are all constants (the session provides the
/// reference kernels). An error leaves the node in the graph.
using Evaluate = std::function<Result<std::vector<Constant>>(const Graph&, NodeId)>;
/// Computes a node with one output, into memory of its size.
using EvaluateInto = std::function<Status(const Graph&, NodeId, std::span<std::byte>)>;

/// Collects the reasons why passes did not change nodes for which they were made. Not thread-safe.
class NearMisses {
 public:
  /// Counts one near miss of `reason` at `node`.
  void add(std::string_view reason, const Node& node);
  /// Returns the entries since the last call, one for each reason.
  std::vector<NearMiss> take();

 private:
  std::vector<NearMiss> list_;
};

/// A path outside of a graph: other code computes some of the graph's inputs from some of its
/// outputs, both given as indices into the graph's lists. These inputs are available only after all
/// of these outputs, and after the results of the detours `behind`, given as indices into the list
/// of detours.
struct Detour {
  std::vector<std::size_t> outputs, inputs, behind;
};

struct PassContext {
  Evaluate evaluate;
  /// For large results, which are deferred (ops/deferred.h); null: nothing is deferred.
  EvaluateInto evaluate_into = nullptr;
  /// Limits the copies of constants and the work of all passes, over the graph and its bodies.
  std::shared_ptr<LoadQuota> quota = std::make_shared<LoadQuota>();
  std::shared_ptr<NearMisses> near_misses = std::make_shared<NearMisses>();
  /// Names of nodes that must not change, nor their bodies. Null: there are no such nodes.
  std::shared_ptr<const std::set<std::string>> closed = nullptr;
  /// A pass must not make an output of a detour depend on results of the detour. Bodies have no
  /// detours.
  std::span<const Detour> detours = {};

  /// Records that a pattern is complete but `reason` prevents the rewrite; each guard has its own
  /// text. `node`: the last node of the pattern, which a rewrite would keep.
  void missed(std::string_view reason, const Node& node) const { near_misses->add(reason, node); }
};

struct Pass {
  std::string_view name;
  /// Rewrites in place and returns the number of changed nodes, or inputs of nodes: 0 only if the
  /// graph is unchanged, but for values that no node mentions. The graph satisfies verify() and
  /// inference before and after. Does not touch bodies of its nodes: the pass runs over each of
  /// them as well.
  Result<int> (*run)(Graph& graph, const PassContext& context);
  /// `run` changes only graphs that have a node of one of these operators, and is not called for
  /// others. Empty: it is called for every graph.
  OpKinds needs = {};
};

/// Runs `passes` in order, except `disabled` ones, and returns a report of each. Errors, all of
/// stage kSimplify, with the pass and the node: kInternal if a pass makes an invalid graph;
/// kInvalidModel or kUnsupported if inference refuses the rewritten graph, kUnsupported also if the
/// quota is exhausted. The graph is then partly rewritten, so callers drop it.
Result<std::vector<PassReport>> run_passes(std::span<const Pass> passes, Graph& graph,
                                           const PassContext& context,
                                           std::span<const std::string> disabled = {});

/// Errors: kInvalidInput if one of `names` is not the name of a pass.
Status check_pass_names(std::span<const Pass> passes, std::span<const std::string> names);

}  // namespace parallax
