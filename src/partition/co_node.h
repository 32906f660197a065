// Attributes of a node in a graph that the CPU and a device run together: split_graph() sets them,
// split/co_execution.h adds times, and regions.cc finds the device's regions by them.
// Thread-safety: plain values.
#pragma once

#include <cstdint>

#include "base/id.h"

namespace parallax {

/// The side that runs a node.
enum class CoSide : std::uint8_t {
  kEither,  ///< not split: runs on the side that is predicted to be faster
  kCpu,
  kDevice,
};

/// A part of a node, its first rows for the CPU or the others for the device, or a whole node.
struct CoNode {
  CoSide side = CoSide::kEither;
  /// Number of the phase of the graph, from 0, in which the node runs. Never decreases from a node
  /// to its readers. A split segment is a phase: CPU and device wait for each other after it.
  int stage = 0;
  NodeId origin = {};  ///< the unsplit node that this is a part of; invalid: it only copies rows
  double share = 1;    ///< its fraction of the rows of the origin's results; 0 if it only copies
  double seconds = 0;  ///< predicted time if the device runs it; 0 if it only copies
};

}  // namespace parallax
