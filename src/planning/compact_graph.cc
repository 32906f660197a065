#include "planning/compact_graph.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "ir/snapshot.h"
#include "ops/infer.h"

namespace parallax {

CompactGraph keep(const Graph& graph) {
  GraphSnapshot snapshot = snapshot_of(graph);
  CompactGraph kept;
  for (const Constant* constant : snapshot.constants)
    kept.constants.push_back({constant->bytes, constant->owner});
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(snapshot.bytes));
  kept.snapshot = {*bytes, bytes};
  return kept;
}

Result<Graph> restore(const CompactGraph& kept) {
  auto constant = kept.constants.begin();
  PX_ASSIGN(Graph graph,
            graph_of(kept.snapshot.bytes, [&](std::int64_t bytes) -> std::optional<SharedBytes> {
              if (constant == kept.constants.end() || std::ssize(constant->bytes) != bytes)
                return std::nullopt;
              return *constant++;
            }));
  if (!kept.file_bytes) return graph;
  PX_RETURN_IF_ERROR(verify(graph, Stage::kLoad));
  PX_RETURN_IF_ERROR(infer_graph(graph, *kept.file_bytes));
  if (std::ranges::equal(snapshot_of(graph).bytes, kept.snapshot.bytes)) return graph;
  return tl::unexpected(
      Error{Stage::kLoad, ErrorCode::kInvalidInput, {}, "inference gives other shapes"});
}

}  // namespace parallax
