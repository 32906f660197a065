// A graph that is seldom wanted, kept as its snapshot and the places of its constants: a tenth of
// the memory that its nodes and values take.  Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/shared_bytes.h"
#include "ir/graph.h"

namespace parallax {

struct KeptGraph {
  SharedBytes snapshot;
  std::vector<SharedBytes> constants;  ///< in the order in which graph_of() asks for them
  /// Bytes of the model's file where the snapshot comes from a cache, which is not trusted.
  std::optional<std::int64_t> file_bytes;
};
/// Keeps the constants of `graph` alive.
KeptGraph keep(const Graph& graph);

/// The graph. From a cache it is verified, and must be what inference makes of it. Errors:
/// kInvalidInput, of a snapshot from a cache.
Result<Graph> restore(const KeptGraph& kept);

}  // namespace parallax
