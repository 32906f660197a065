// Small graphs that tell how fast a device is at one kind of work. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "device/profile.h"
#include "device/work_kind.h"
#include "ir/dag.h"

namespace parallax {

struct Probe {
  WorkKind kind = WorkKind::kElementwise;
  std::string_view dims;  ///< of `x`, f32
  std::string_view text;  ///< makes `y` of `x`, as ir/text.h has it
  bool large = false;     ///< of about 0.3 ms on a core; others of 0.02 ms
};
/// Of one kind and size the first is the best, those behind it stand in for it.
std::span<const Probe> all_probes();

/// The work alone, for the CPU: `x` is the input and `y` the output.
Result<Graph> probe_graph(const Probe& probe);
/// The work between two nodes of the CPU, as a region lies in a model: what it reads and makes is
/// not the caller's. `region`: the nodes in between, made of what `delegate` has. Nothing in it
/// where that does not run them.
struct SurroundedProbe {
  Graph graph;
  IdVector<NodeId, RegionId> region_of;
  bool runs = false;
};
Result<SurroundedProbe> surrounded_probe(const Probe& probe, const Delegate& delegate);

}  // namespace parallax
