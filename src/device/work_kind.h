// The kind of work (ops/traits.h) of a node, and the names of kinds in a calibration.
// Thread-safety: pure functions. Kinds group nodes whose seconds follow from one curve, so that a
// few probes of a device predict all of them.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph.h"
#include "ops/traits.h"

namespace parallax {

/// Convert to and from the name in a calibration: "convolution", ...; nullopt for unknown names.
/// to_string() returns "unknown" for a number that is no enumerator; names are lower case and
/// stable, because files of measured rates contain them.
std::string_view to_string(WorkKind kind);
std::optional<WorkKind> work_kind_from_string(std::string_view name);

/// Returns the kind of a node of a canonical or lowered graph. That of the operator, refined by its
/// inputs. A convolution with constant dims [Cout, Cin / group, K...] of its weights is depthwise
/// if it has several groups of one channel, pointwise if all K are 1. A product without a constant
/// input counts as attention. Unknown dimensions: a plain convolution.
WorkKind work_kind(const Graph& graph, const Node& node);

}  // namespace parallax
