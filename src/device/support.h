// Determines whether a delegate can run a node, and the reason if not. Thread-safety: pure
// functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "device/profile.h"
#include "ir/graph.h"

namespace parallax {

/// Concrete dims of each value, as concrete_shapes() returns them; nullopt: not known.
using ConcreteShapes = IdVector<ValueId, std::optional<Dims>>;

/// The reason why a node stays on the CPU.
enum class CpuReason : std::uint8_t {
  kNone,          ///< it does not stay there
  kOperator,      ///< the delegate does not have the operator
  kDynamicShape,  ///< a size depends on values, and the delegate does not support such sizes, or
                  ///< not this one
  kEmpty,         ///< a tensor has no elements, for which devices have no memory
  kDType,
  kRank,
  kAttribute,
  kBridge,   ///< the delegate can run it, but it joins no two regions
  kMemory,   ///< its region does not fit the delegate's memory
  kLoses,    ///< its region is no faster on the delegate
  kLimit,    ///< other regions save more, and their number is limited
  kShared,   ///< it computes rows that the delegate leaves to the CPU
  kPinned,   ///< a placement pinned by the user has it on the CPU
  kRefused,  ///< the delegate refused or failed to run a region that it was in
};
/// Returns the text for reports: "operator", "dynamic-shape", ...
std::string_view to_string(CpuReason reason);

/// The result of a check.
struct Support {
  CpuReason reason = CpuReason::kNone;  ///< kNone: it can run
  std::string detail;                   ///< explanation with numbers; empty for kNone
  bool bridge = false;                  ///< kNone, and the operator only joins regions
};
/// Checks `node` with concrete shapes against the limits of `delegate`.
Support check_support(const Graph& graph, const ConcreteShapes& shapes, NodeId node,
                      const Delegate& delegate);

/// Returns why a device that is present refuses a node beyond what its description says; empty: it
/// runs it. Null: its description alone decides.
using NodeQuestion =
    std::function<std::string(const Graph& graph, const ConcreteShapes& shapes, NodeId node)>;

/// The assumed size of a dimension that becomes known during a run: NonMaxSuppression and NonZero
/// keep tens to hundreds. Dependent sizes follow from the expressions.
inline constexpr std::int64_t kAssumedSize = 256;
/// Returns concrete_shapes(), with kAssumedSize for dimensions that `binding` leaves open; nullopt
/// if the result is not a valid size.
ConcreteShapes assumed_shapes(const Graph& graph, const Binding& binding);
/// Checks a node some of whose sizes `shapes` does not have: it can run if the sizes of its outputs
/// follow from those of its inputs. `assumed`: assumed_shapes().
Support check_run_time_support(const Graph& graph, const ConcreteShapes& shapes,
                               const ConcreteShapes& assumed, NodeId node,
                               const Delegate& delegate);

}  // namespace parallax
