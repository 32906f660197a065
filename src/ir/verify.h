// The two halves of verify() (ir/graph.h). Names take half of its time, and nothing indexes by
// them: they may be checked once after several passes. Pure functions.
#pragma once

#include "ir/graph.h"

namespace parallax {

/// All but that names are unique.
Status verify_structure(const Graph& graph, Stage stage);
/// That names of symbols, values and nodes are unique, in bodies too. REQUIRES: the structure is
/// verified.
Status verify_names(const Graph& graph, Stage stage);

}  // namespace parallax
