// A compact form of a graph that is seldom needed: its snapshot and the places of its constants,
// together a tenth of the memory of its nodes and values. Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/shared_bytes.h"
#include "ir/graph.h"

namespace parallax {

/// A graph in compact form.
struct CompactGraph {
  SharedBytes snapshot;                ///< nodes and values, as ir/ serializes them
  std::vector<SharedBytes> constants;  ///< in the order in which graph_of() requests them
  /// Bytes of the model's file, if the snapshot comes from a cache and is not trusted; else
  /// nullopt.
  std::optional<std::int64_t> file_bytes;
};
/// Converts a graph to compact form; the result keeps the constants of `graph` alive.
CompactGraph keep(const Graph& graph);

/// Restores the graph. One from a cache is verified, and inference must reproduce it. Errors:
/// kInvalidInput, only for a snapshot from a cache.
Result<Graph> restore(const CompactGraph& kept);

}  // namespace parallax
