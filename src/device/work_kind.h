// The kind of work (ops/traits.h) of a node, and the names of kinds in a calibration.
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph.h"
#include "ops/traits.h"

namespace parallax {

/// Convert to and from the name in a calibration: "convolution", ...; nullopt for unknown names.
std::string_view to_string(WorkKind kind);
std::optional<WorkKind> work_kind_from_string(std::string_view name);

/// Returns the kind of a node of a canonical or lowered graph.
WorkKind work_kind(const Graph& graph, const Node& node);

}  // namespace parallax
