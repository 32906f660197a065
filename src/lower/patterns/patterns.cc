#include "lower/patterns/patterns.h"

#include "base/status.h"

namespace parallax {

Result<int> fuse_for(const std::function<bool(OpKind)>& has, Graph& graph,
                     const PassContext& context, std::span<const std::string> disabled) {
  int changes = 0;
  for (const auto& [made, pass] : kOperatorPatterns) {
    if (!has(made) || std::ranges::find(disabled, pass.name) != disabled.end()) continue;
    PX_ASSIGN(const int here, pass.run(graph, context));
    changes += here;
  }
  return changes;
}

}  // namespace parallax
