// Whether a delegate can run a node, and if not, why. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/profile.h"
#include "ir/graph.h"

namespace parallax {

/// Concrete dims of each value, as concrete_shapes() gives them.
using ConcreteShapes = IdVector<ValueId, std::optional<Dims>>;

/// Why a node stays on the CPU.
enum class CpuReason : std::uint8_t {
  kNone,          ///< it does not
  kOperator,      ///< the delegate does not have the operator
  kDynamicShape,  ///< a size depends on values, and the delegate takes none such, or not this one
  kEmpty,         ///< a tensor has no elements, which devices have no memory for
  kDType,
  kRank,
  kAttribute,
  kBridge,   ///< the delegate can run it, but it joins no two regions
  kMemory,   ///< its region does not fit the delegate's memory
  kLoses,    ///< its region is no faster on the delegate
  kLimit,    ///< other regions save more, and their number is limited
  kShared,   ///< it makes rows that the delegate leaves to the CPU
  kPinned,   ///< the user keeps a placement in which it is on the CPU
  kRefused,  ///< the delegate refused or failed to run a region that it was in
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

/// A dimension that only running tells is taken as this: NonMaxSuppression and NonZero keep tens to
/// hundreds. What else is made of it follows from the expressions.
inline constexpr std::int64_t kAssumedSize = 256;
/// As concrete_shapes(), with kAssumedSize for what `binding` leaves open; nothing where that makes
/// no size.
ConcreteShapes assumed_shapes(const Graph& graph, const Binding& binding);
/// The same for a node behind which or before which `shapes` does not know a size: it can run where
/// the sizes of its results follow from those of its inputs. `assumed`: assumed_shapes().
Support check_run_time_support(const Graph& graph, const ConcreteShapes& shapes,
                               const ConcreteShapes& assumed, NodeId node,
                               const Delegate& delegate);

}  // namespace parallax
