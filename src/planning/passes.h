// The passes that rewrite a model's graph while it is loaded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planning/graph_snapshot.h"
#include "simplify/pass.h"

namespace parallax {

/// Returns the context of passes: they evaluate constants with the kernels that run nodes.
PassContext load_context();

/// Makes the canonical graph, lowers it, and keeps the former if lowering changes it. `disabled`:
/// names of passes to skip. Errors: those of passes.
Status run_all_passes(LoadedGraph& loaded, const PassContext& context,
                      std::span<const std::string> disabled);

/// Returns the names of all passes, in the order in which they run.
std::vector<std::string> pass_names();
/// Checks that all `names` are names of passes. Errors: kInvalidInput.
Status check_pass_names(std::span<const std::string> names);

}  // namespace parallax
