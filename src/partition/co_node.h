// What a node is in a graph that the CPU and a device run together (co_execution.h). Plain values.
#pragma once

#include <cstdint>

#include "base/id.h"

namespace parallax {

/// Who runs a node.
enum class CoSide : std::uint8_t {
  kEither,  ///< whoever is faster: a node as it was
  kCpu,
  kDevice,
};

struct CoNode {
  CoSide side = CoSide::kEither;
  /// Never descends along an edge. What the device runs of a stage begins together.
  int stage = 0;
  NodeId origin = {};  ///< the node before; invalid: it moves rows
  double share = 1;    ///< of the origin's rows
  double seconds = 0;  ///< predicted, on the device
};

}  // namespace parallax
