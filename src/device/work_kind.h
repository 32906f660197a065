// Kinds of work whose nodes are faster or slower on a device than on the CPU by a similar factor,
// so that a few measurements predict all of them. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/graph.h"

namespace parallax {

enum class WorkKind : std::uint8_t {
  kConvolution,  ///< several elements of the plane per window
  kPointwise,    ///< convolutions of 1x1
  kDepthwise,    ///< a group for each channel
  kProduct,      ///< with a constant matrix
  kAttention,    ///< products of two results, and the nodes fused with them
  kSoftmax,
  kNormalization,
  kPool,
  kReduction,
  kMovement,     ///< counts no multiply-accumulates
  kFunction,     ///< function of each element: Exp, Erf, Sigmoid, ...
  kElementwise,  ///< arithmetic of each element
};
inline constexpr int kWorkKinds = 12;

/// Convert to and from the name in a calibration: "convolution", ...; nullopt for unknown names.
std::string_view to_string(WorkKind kind);
std::optional<WorkKind> work_kind_from_string(std::string_view name);

/// Returns the kind of a node of a canonical or lowered graph.
WorkKind work_kind(const Graph& graph, const Node& node);

}  // namespace parallax
