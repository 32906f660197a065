// Attributes of a node in a graph that the CPU and a device run together (co_execution.h).
// Thread-safety: plain values.
#pragma once

#include <cstdint>

#include "base/id.h"

namespace parallax {

/// The side that runs a node.
enum class CoSide : std::uint8_t {
  kEither,  ///< the faster side: the node is not split
  kCpu,
  kDevice,
};

struct CoNode {
  CoSide side = CoSide::kEither;
  /// Never decreases along an edge. The device's nodes of one stage start together.
  int stage = 0;
  NodeId origin = {};  ///< the node before the split; invalid: it only moves rows
  double share = 1;    ///< share of the origin's rows
  double seconds = 0;  ///< predicted, on the device
};

}  // namespace parallax
