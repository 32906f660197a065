// A snapshot: a graph as bytes and back. The cache keeps one, so that the next process need not
// read the model's nodes and run the passes again. Unlike text (text.h), it is exact to the bit and
// quick: SwinV2's, made after the passes, is read, verified and inferred in 0.9 ms.
//
// It does not hold the bytes of constants: the cache knows where they lie.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/shared_bytes.h"
#include "ir/graph.h"

namespace parallax {

/// The bytes of a graph, and where its constants are.
struct GraphSnapshot {
  std::vector<std::byte> bytes;  ///< equal for equal graphs
  /// The constants of values, attributes and bodies, in the order in which graph_of() asks for
  /// them; they point into the graph.
  std::vector<const Constant*> constants;
};
/// Returns the snapshot of a graph that verify() accepts, which must outlive `constants`. Numbers
/// of operators and dtypes are part of the bytes, so they hold for one version of the program.
GraphSnapshot snapshot_of(const Graph& graph);

/// Returns the bytes of the next constant, `bytes` long; nullopt if there are none of that size.
/// Called once for each of GraphSnapshot::constants, in their order.
using NextConstant = std::function<std::optional<SharedBytes>(std::int64_t bytes)>;

/// Returns the graph of `snapshot`, which is not trusted: verify() and infer it like a graph from a
/// file. Errors: kInvalidInput if it is no snapshot, or a constant is missing.
Result<Graph> graph_of(std::span<const std::byte> snapshot, const NextConstant& next);

}  // namespace parallax
