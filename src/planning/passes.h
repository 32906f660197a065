// The passes that a model goes through while it is loaded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planning/graph_snapshot.h"
#include "simplify/pass.h"

namespace parallax {

/// Passes evaluate constants with the kernels that run nodes.
PassContext load_context();

/// Makes the canonical graph, keeps it where lowering changes it, and lowers it.
Status run_all_passes(LoadedGraph& loaded, const PassContext& context,
                      std::span<const std::string> disabled);

/// Of all of them, in the order in which they run.
std::vector<std::string> pass_names();
/// Errors: kInvalidInput where one of `names` is none of the passes'.
Status check_pass_names(std::span<const std::string> names);

}  // namespace parallax
