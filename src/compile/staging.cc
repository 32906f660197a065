#include "compile/staging.h"

#include "base/checked.h"

namespace parallax {

std::vector<ValueId> staged_values(const Compiled& compiled) {
  const Graph& graph = compiled.graph();
  std::vector<ValueId> list;
  if (compiled.context->delegation.seconds.empty()) return list;
  IdVector<ValueId, bool> seen(graph.values.size(), false);
  const auto add = [&](ValueId root) {
    if (seen[root]) return;
    seen[root] = true;
    list.push_back(root);
  };
  const auto is_output = [&](ValueId root) {
    return compiled.output_of[root] >= 0 && compiled.dims[root].has_value();
  };
  for (const NodeId id : graph.nodes.ids()) {
    if (!in_region(compiled, id)) continue;
    for (const ValueId input : graph.nodes[id].inputs) {
      if (!input.valid()) continue;
      const ValueId root = compiled.root[input];
      const bool is_input = graph.values[root].kind == ValueKind::kInput;
      // The CPU runs what reads inputs of bodies whose sizes only running tells.
      if ((is_input && compiled.dims[root]) || is_output(root)) add(root);
    }
    for (const ValueId output : graph.nodes[id].outputs)
      if (output.valid() && compiled.root[output] == output && is_output(output)) add(output);
  }
  return list;
}

std::optional<std::int64_t> staged_bytes(const Compiled& compiled, ValueId id) {
  const auto bytes = bytes_of(compiled.graph().values[id].dtype, *compiled.dims[id]);
  return bytes ? checked_align(*bytes, kAlignment) : std::nullopt;
}

std::optional<std::int64_t> staged_bytes(const Compiled& compiled) {
  std::optional<std::int64_t> sum = 0;
  for (const ValueId id : staged_values(compiled)) {
    const auto bytes = staged_bytes(compiled, id);
    sum = sum && bytes ? checked_add(*sum, *bytes) : std::nullopt;
  }
  return sum;
}

}  // namespace parallax
