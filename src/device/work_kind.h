// Kinds of work whose nodes a device runs about as much faster or slower than the CPU, so that a
// few timed ones tell of all. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/graph.h"

namespace parallax {

enum class WorkKind : std::uint8_t {
  kConvolution,  ///< more than one element of the plane at a time
  kPointwise,    ///< convolutions of 1x1
  kDepthwise,    ///< a group for each channel
  kProduct,      ///< with a constant matrix
  kAttention,    ///< products of two results, and what is fused of them
  kSoftmax,
  kNormalization,
  kPool,
  kReduction,
  kMovement,     ///< counts no multiply-accumulates
  kFunction,     ///< of each element: Exp, Erf, Sigmoid, ...
  kElementwise,  ///< arithmetic of each element
};
inline constexpr int kWorkKinds = 12;

/// "convolution", ...: as a calibration has it.
std::string_view to_string(WorkKind kind);
std::optional<WorkKind> work_kind_from_string(std::string_view name);

/// Of a node of a canonical or lowered graph.
WorkKind work_kind(const Graph& graph, const Node& node);

}  // namespace parallax
