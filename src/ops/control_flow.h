// If, Loop and Scan: how inputs and outputs of the node and of its bodies go together. The loader,
// inference, planning and the executor read the same functions. Pure functions, except
// infer_bodies() and seed_body(), which change the graph that they are given. Errors have stage
// kLoad and name the node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/load_quota.h"
#include "ops/op.h"

namespace parallax {

/// Returns whether nodes of `op` have bodies: OpDef::control_flow without the table.
inline bool is_control_flow(OpKind op) {
  return op == OpKind::kIf || op == OpKind::kLoop || op == OpKind::kScan;
}

/// Returns the name of body `i` of a node: "then_branch", "else_branch" or "body".
inline std::string_view body_name(OpKind op, std::size_t i) {
  if (op != OpKind::kIf) return "body";
  return i == 0 ? "then_branch" : "else_branch";
}

/// Counts of a Loop's or a Scan's parts, in the order of the inputs and outputs:
///
///     Loop  (limit, condition, carried...; captures)  -> carried..., scan outputs...
///     body  (iteration, condition, carried..., captures) -> condition, carried..., scan outputs...
///     Scan  (carried..., scan inputs...; captures)    -> carried..., scan outputs...
///     body  (carried..., slices..., captures)         -> carried..., slices...
struct LoopParts {
  /// Carried values start here, in the node and in its body: 2 for Loop, 0 for Scan.
  std::size_t first_input = 0;
  /// Carried values start here in the body's outputs, 1 for Loop (behind the condition), 0 for
  /// Scan. In the node's they always start at 0.
  std::size_t first_output = 0;
  /// Values that go from trip to trip, inputs that are cut into slices (Scan: at least 1; Loop: 0),
  /// outputs that are put together of slices, and captures.
  std::size_t carried = 0, scan_inputs = 0, scan_outputs = 0, captures = 0;
};
/// Returns the counts of a Loop or Scan. Errors: kInvalidModel if the counts of `node` and its body
/// do not go together, a carried value or scan input is left out, or there is not exactly one body.
Result<LoopParts> loop_parts(const Node& node);

/// One scan input or output: along which axis of the whole tensor it is cut, in [0, rank), and
/// whether the first slice is the last one along it.
struct ScanAxis {
  int axis = 0;
  bool reverse = false;
};
/// Returns the axis of scan input (output) `i` of `count`, whose whole tensor has `rank`
/// dimensions; that of a Loop's output is always 0. Errors: kInvalidModel for axes outside the
/// rank, directions that are not 0 or 1, lists of another length than `count`, and a scan input
/// that is a scalar.
Result<ScanAxis> scan_input_axis(const Node& node, std::size_t i, std::size_t count, int rank);
Result<ScanAxis> scan_output_axis(const Node& node, std::size_t i, std::size_t count, int rank);

/// Checks an If: two branches, one input besides captures, branches without inputs of their own,
/// and as many outputs as the node. Errors: kInvalidModel.
Status check_branches(const Node& node);

/// Returns the index of the one branch that can be taken; nullopt for most nodes. Exporters write
/// "Squeeze where the axis has one element": an If whose one branch squeezes a value that the other
/// gives as it is. The graph knows ranks, and what follows is made for one of them: the branch that
/// squeezes is the only one that can be taken. REQUIRES: bodies are inferred.
std::optional<std::size_t> only_branch(const Node& node);

/// Returns whether the dimension of a body's input was found to change from trip to trip: it is
/// then a symbol of the body that stands for no symbol around.
bool changes_in_body(const Graph& body, const Expr& dim);

/// Returns whether the condition that a Loop's body gives is the one that it got, or always true:
/// then the trip count is the limit, if the first condition holds. Looks through Identity only.
bool never_stops_early(const Graph& body);

/// Returns how often the body of a Loop or Scan runs, if that is known before: by the `dims` of
/// what a Scan reads, or by the elements of a Loop's two first inputs, for which `element` is
/// called (0 and 1 for a bool; nullopt: not known). At least 0. Nullopt: only running tells.
/// Errors: as loop_parts() and scan_input_axis().
Result<std::optional<std::int64_t>> known_trips(
    const Node& node, const IdVector<ValueId, std::optional<Dims>>& dims,
    const std::function<std::optional<std::int64_t>(ValueId)>& element);

/// Returns the one element of a bool or integer value that inference knows, from content or
/// constant; nullopt otherwise, and for several elements.
std::optional<std::int64_t> known_scalar(const Value& value);

/// Gives the inputs of the node's bodies the types of what the node reads now, infers the bodies,
/// and finds which dimensions of carried values stay the same from trip to trip: the others become
/// kData symbols of the body. Replaces the bodies, which other graphs may share, by copies. Up to 3
/// rounds of inference for each body. Errors: those of the bodies' inference; kInvalidModel if
/// counts or types do not go together; kUnsupported if a carried value changes its rank, or the
/// quota is spent.
Status infer_bodies(Graph& graph, NodeId node, LoadQuota& quota);

/// Sets the types of the inputs of `body`, a body of `node` in `graph`, without inferring it: what
/// a loader needs to build it. Adds symbols to `body` that stand for those of `graph`. Errors: as
/// infer_bodies().
Status seed_body(const Graph& graph, const Node& node, Graph& body, LoadQuota& quota);

}  // namespace parallax
