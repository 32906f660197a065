// If, Loop and Scan: how inputs and outputs of the node and of its bodies go together. The loader,
// inference and the executor read the same functions. Pure functions.
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

inline bool is_control_flow(OpKind op) {
  return op == OpKind::kIf || op == OpKind::kLoop || op == OpKind::kScan;
}

/// Returns the name of body `i` of a node: "then_branch", "else_branch" or "body".
inline std::string_view body_name(OpKind op, std::size_t i) {
  if (op != OpKind::kIf) return "body";
  return i == 0 ? "then_branch" : "else_branch";
}

/// Counts of a Loop's or a Scan's parts:
///
///     Loop  (limit, condition, carried...; captures)  -> carried..., scan outputs...
///     body  (iteration, condition, carried..., captures) -> condition, carried..., scan outputs...
///     Scan  (carried..., scan inputs...; captures)    -> carried..., scan outputs...
///     body  (carried..., slices..., captures)         -> carried..., slices...
struct LoopParts {
  std::size_t first_input = 0;   ///< carried values start here, in the node and in its body: 2 or 0
  std::size_t first_output = 0;  ///< in the body: 1 or 0
  std::size_t carried = 0, scan_inputs = 0, scan_outputs = 0, captures = 0;
};
/// Errors: kInvalidModel where the counts of `node` and its body do not go together.
Result<LoopParts> loop_parts(const Node& node);

/// One scan input or output: along which axis it is cut, and from which end.
struct ScanAxis {
  int axis = 0;
  bool reverse = false;
};
/// The axis of scan input (output) `i`, whose whole tensor has `rank` dimensions. Errors:
/// kInvalidModel for axes outside the rank, directions that are not 0 or 1 and lists of another
/// length.
Result<ScanAxis> scan_input_axis(const Node& node, std::size_t i, std::size_t count, int rank);
Result<ScanAxis> scan_output_axis(const Node& node, std::size_t i, std::size_t count, int rank);

/// Errors: kInvalidModel where the counts of an If and of its branches do not go together.
Status check_branches(const Node& node);

/// Exporters write "Squeeze where the axis has one element": an If whose one branch squeezes a
/// value that the other gives as it is. The graph knows ranks, and what follows is made for one of
/// them: the branch that squeezes is the only one that can be taken. Nothing for any other If.
std::optional<std::size_t> only_branch(const Node& node);

/// Whether the dimension of a body's input was found to change from trip to trip.
bool changes_in_body(const Graph& body, const Expr& dim);

/// True where the condition that a Loop's body gives is the one that it got, or always true: then
/// the trip count is the limit, if the first condition holds.
bool never_stops_early(const Graph& body);

/// How often the body of a Loop or Scan runs, where that is known before: by the `dims` of what a
/// Scan reads, or the elements of a Loop's two first inputs, 0 and 1 for a bool. Errors: as
/// loop_parts() and scan_input_axis().
Result<std::optional<std::int64_t>> known_trips(
    const Node& node, const IdVector<ValueId, std::optional<Dims>>& dims,
    const std::function<std::optional<std::int64_t>(ValueId)>& element);

/// The one element of a bool or integer value that inference knows.
std::optional<std::int64_t> known_scalar(const Value& value);

/// Gives the inputs of the node's bodies the types of what the node reads now, infers the bodies,
/// and finds which dimensions of carried values stay the same from trip to trip: the others become
/// kData symbols of the body. Errors: of the bodies' inference; kInvalidModel where counts or types
/// do not go together; kUnsupported where a carried value changes its rank.
Status infer_bodies(Graph& graph, NodeId node, LoadQuota& quota);

/// The types of a body's inputs from those of the node, without inferring the body: what a loader
/// needs to build it. Errors: as infer_bodies.
Status seed_body(const Graph& graph, const Node& node, Graph& body, LoadQuota& quota);

}  // namespace parallax
