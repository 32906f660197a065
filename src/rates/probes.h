// Small graphs that measure the speed of a device for one kind of work. Thread-safety: pure
// functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "device/profile.h"
#include "device/work_kind.h"
#include "ir/dag.h"

namespace parallax {

/// One probe. Texts of all_probes() live as long as the process.
struct Probe {
  WorkKind kind = WorkKind::kElementwise;
  std::string_view dims;  ///< dims of `x`, f32
  std::string_view text;  ///< computes `y` from `x`, in the syntax of ir/text/text.h
  bool large = false;     ///< needs about 0.3 ms on a core; others 0.02 ms
};
/// Returns all probes. Of several with one kind and size, the first that the delegate runs without
/// an error is used.
std::span<const Probe> all_probes();

/// Returns a graph of the work alone, for the CPU: `x` is its input and `y` its output. Errors:
/// those of parsing and inference.
Result<Graph> probe_graph(const Probe& probe);
/// The work between two nodes of the CPU, named "before" and "behind", like a region in a model, so
/// that its inputs and outputs are not the caller's memory. `region_of`: region 0 for the nodes in
/// between, fused where that makes operators that the delegate has; invalid for the other two.
struct SurroundedProbe {
  Graph graph;
  IdVector<NodeId, RegionId> region_of;
  bool runs = false;  ///< whether the delegate runs the work
};
/// Builds the graph and asks the description of `delegate` about each node; does not call the
/// delegate. If it does not run the work, `runs` is false, without an error. Errors: those of
/// parsing, inference and fusing.
Result<SurroundedProbe> surrounded_probe(const Probe& probe, const Delegate& delegate);

}  // namespace parallax
