// Whether a delegate can run a node, and if not, why. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "partition/profile.h"

namespace parallax {

/// Concrete dims of each value, as concrete_shapes() gives them.
using ConcreteShapes = IdVector<ValueId, std::optional<Dims>>;

/// Why a node stays on the CPU.
enum class CpuReason : std::uint8_t {
  kNone,          ///< it does not
  kOperator,      ///< the delegate does not have the operator
  kDynamicShape,  ///< a size depends on values: it cannot be compiled or priced before the run
  kEmpty,         ///< a tensor has no elements, which devices have no memory for
  kDType,
  kRank,
  kAttribute,
  kBridge,  ///< the delegate can run it, but it joins no two regions
  kMemory,  ///< its region does not fit the delegate's memory
  kLoses,   ///< its region is no faster on the delegate
  kLimit,   ///< other regions save more, and their number is limited
  kShared,  ///< it makes rows that the delegate leaves to the CPU
  kPinned,  ///< the user keeps a placement in which it is on the CPU
};
/// "operator", "dynamic-shape", ...
std::string_view to_string(CpuReason reason);

struct Support {
  CpuReason reason = CpuReason::kNone;  ///< kNone: it can run
  std::string detail;                   ///< in words and numbers; empty for kNone
  bool bridge = false;                  ///< kNone, and the operator only joins regions
};
Support check_support(const Graph& graph, const ConcreteShapes& shapes, NodeId node,
                      const Delegate& delegate);

}  // namespace parallax
