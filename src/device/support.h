// Determines whether a delegate can run a node, and the reason if not. Thread-safety: pure
// functions.
//
// Planning asks for each node of a graph; the first reason found is the one that is reported. Only
// a NodeQuestion reaches the device itself; all other checks read descriptions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "device/profile.h"
#include "ir/graph.h"

namespace parallax {

/// Concrete dims of each value, as concrete_shapes() returns them; nullopt: not known. Has an entry
/// for each value of the graph; its indices are those of Graph::values.
using ConcreteShapes = IdVector<ValueId, std::optional<Dims>>;

/// The reason why a node stays on the CPU. The checks below return kNone to kAttribute;
/// partitioning adds the others.
enum class CpuReason : std::uint8_t {
  kNone,  ///< it does not stay there
  /// The delegate does not have the operator. Delegate::operators has no entry for it.
  kOperator,
  kDynamicShape,  ///< a size depends on values, and the delegate does not support such sizes, or
                  ///< not this one
  kEmpty,         ///< a tensor has no elements, for which devices have no memory
  /// A tensor has another element type than the limits allow, or is no tensor of numbers.
  kDType,
  /// A tensor has more dimensions than OperatorLimits::max_rank.
  kRank,
  /// An attribute is outside AttributeLimit, or has a type that cannot satisfy it.
  kAttribute,
  kBridge,   ///< the delegate can run it, but it joins no two regions
  kMemory,   ///< its region does not fit the delegate's memory
  kLoses,    ///< its region is no faster on the delegate
  kLimit,    ///< other regions save more, and their number is limited
  kShared,   ///< it computes rows that the delegate leaves to the CPU
  kPinned,   ///< a placement pinned by the user has it on the CPU
  kRefused,  ///< the delegate refused or failed to run a region that it was in
};
/// Returns the text for reports: "operator", "dynamic-shape", ... "unknown" for a number that is no
/// enumerator. The text has static lifetime.
std::string_view to_string(CpuReason reason);

/// The result of a check.
struct Support {
  CpuReason reason = CpuReason::kNone;  ///< kNone: it can run
  /// Explanation with numbers; empty for kNone. For people; programs should compare `reason`.
  std::string detail;
  bool bridge = false;  ///< kNone, and the operator only joins regions
};
/// Checks `node` with concrete shapes against the limits of `delegate`. Checks in this order: the
/// operator, each input, each output, attributes. Inputs that are absent, and those that only
/// define a shape and are known when the plan is made, are skipped. A size that `shapes` lacks is
/// kDynamicShape; constants may be empty.
Support check_support(const Graph& graph, const ConcreteShapes& shapes, NodeId node,
                      const Delegate& delegate);

/// Returns why a device that is present refuses a node beyond what its description says; empty: it
/// runs it. Null: its description alone decides. Called on the thread that plans. May call foreign
/// code, the function `supports` of a delegate.
using NodeQuestion =
    std::function<std::string(const Graph& graph, const ConcreteShapes& shapes, NodeId node)>;

/// The assumed size of a dimension that becomes known during a run: NonMaxSuppression and NonZero
/// keep tens to hundreds. Dependent sizes follow from the expressions. In elements of that
/// dimension.
inline constexpr std::int64_t kAssumedSize = 256;
/// Returns concrete_shapes(), with kAssumedSize for dimensions that `binding` leaves open; nullopt
/// if the result is not a valid size. Also nullopt beyond Dims::kMaxRank dimensions, or if the
/// bytes do not fit 63 bits.
ConcreteShapes assumed_shapes(const Graph& graph, const Binding& binding);
/// Checks a node some of whose sizes `shapes` does not have: it can run if the sizes of its outputs
/// follow from those of its inputs. `assumed`: assumed_shapes(). kDynamicShape if an input that
/// decides a shape is not known when the plan is made, or if a size of an output depends on data
/// that no input has. All other limits are checked with `assumed`.
Support check_run_time_support(const Graph& graph, const ConcreteShapes& shapes,
                               const ConcreteShapes& assumed, NodeId node,
                               const Delegate& delegate);

}  // namespace parallax
