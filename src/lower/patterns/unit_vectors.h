// Vectors divided by their length, as models write them: what cosine attention compares. Not
// thread-safe.
#pragma once

#include <optional>

#include "lower/patterns/fuse_util.h"

namespace parallax {

/// Returns whether `node` is a Transpose that swaps the middle two of four axes: between
/// [batches, tokens, heads, depth] and [batches, heads, tokens, depth].
bool swaps_heads(const Node& node);
/// Returns the operand of such a Transpose that computes `value`, which may have other readers;
/// invalid if there is no such node.
ValueId before_swap(const Graph& graph, ValueId value);

/// Finds vectors that a graph divides by their length. The graph must outlive it unchanged.
class UnitVectors {
 public:
  UnitVectors(const Graph& graph, const Readers& readers) : graph_(graph), readers_(readers) {}

  struct Unit {
    ValueId x;          ///< [batches, tokens, heads, depth]
    float epsilon = 0;  ///< the least length
  };
  /// Returns the x of which `value` [batches, heads, tokens, depth] is x / max(|x|, epsilon), heads
  /// swapped.
  std::optional<Unit> heads(ValueId value) const;
  /// Does the same for [batches, heads, depth, tokens].
  std::optional<Unit> columns(ValueId value) const;

 private:
  const Node* inner_node(ValueId value, OpKind kind) const {
    return parallax::inner_node(graph_, readers_, value, kind);
  }
  std::optional<Unit> unit_vectors(ValueId value) const;
  std::optional<Unit> unit_of(ValueId x, ValueId length, const Shape& shape) const;
  ValueId without_expand(ValueId value) const;
  ValueId inverted(ValueId value) const;
  ValueId without_lower_bound(ValueId value, float& low) const;
  bool is_square(ValueId value, ValueId x) const;
  bool is_last_axis(const Node& node) const;

  const Graph& graph_;
  const Readers& readers_;
};

}  // namespace parallax
