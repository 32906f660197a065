// Attributes of a node in a graph that the CPU and a device run together (co_execution.h).
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

/// The part that one side runs of a node, or a whole node.
struct CoNode {
  CoSide side = CoSide::kEither;
  /// The phase of the graph in which the node runs. Never decreases from a node to its readers. All
  /// nodes of the device in one phase start together.
  int stage = 0;
  NodeId origin = {};  ///< the unsplit node that this is a part of; invalid: it only copies rows
  double share = 1;    ///< part of the rows of the origin's results, above 0, at most 1
  double seconds = 0;  ///< predicted time on the device; 0 for nodes of the CPU
};

}  // namespace parallax
