#include "planning/passes.h"

#include <algorithm>
#include <iterator>

#include "base/status.h"
#include "bind/evaluate.h"
#include "lower/cpu/lower.h"
#include "planning/compact_graph.h"
#include "simplify/simplify.h"

namespace parallax {

PassContext load_context() { return {evaluate_node, evaluate_into}; }

Status run_all_passes(LoadedGraph& loaded, const PassContext& context,
                      std::span<const std::string> disabled) {
  PX_ASSIGN(loaded.passes, run_passes(simplify_passes(), loaded.graph, context, disabled));
  loaded.canonical = keep(loaded.graph);
  PX_ASSIGN(auto lowering, run_passes(lowering_passes(), loaded.graph, context, disabled));
  if (std::ranges::all_of(lowering, [](const PassReport& pass) { return pass.changes == 0; }))
    loaded.canonical.reset();
  std::ranges::move(lowering, std::back_inserter(loaded.passes));
  return {};
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  return names;
}

Status check_pass_names(std::span<const std::string> names) {
  return check_pass_names(all_passes(), names);
}

}  // namespace parallax
