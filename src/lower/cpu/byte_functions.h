// Functions of one tensor of bytes: chains of elementwise nodes between two 8-bit tensors become a
// table of 256 entries. Not thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "lower/patterns/fuse_util.h"
#include "simplify/pass.h"

namespace parallax {

/// A tensor of real numbers that DequantizeLinear computes from bytes, with one known scale.
struct RealBytes {
  ValueId bytes, scale, zero;  ///< zero may be left out
};
/// Returns the description of `value`; nullopt if it is not such a tensor.
std::optional<RealBytes> real_bytes(const Graph& graph, ValueId value);
/// Returns whether `node` is a QuantizeLinear to bytes with one known scale. False if it already
/// has a table, which fuse_byte_tables makes.
bool quantises_to_bytes(const Graph& graph, const Node& node);

/// Finds for each value the bytes of which it is a function. The graph must not change.
class ByteFunctions {
 public:
  ByteFunctions(const Graph& graph, const PassContext& context);

  /// Returns the bytes that alone determine `value`, element by element; invalid if there are none,
  /// or `value` is not the result of elementwise nodes.
  ValueId root(ValueId value) const { return root_[value]; }
  /// Returns the value of `bytes`, the output of a QuantizeLinear, for each value of their root.
  /// nullopt if the load's quota does not allow computing it. Each node of the chain takes the work
  /// of 256 elements from the quota. Chains have at most 16 nodes; a longer one continues from the
  /// next bytes in it.
  std::optional<Constant> table(ValueId bytes) const;
  /// Returns the table of a DequantizeLinear with the first scale followed by a QuantizeLinear with
  /// the second. nullopt if it cannot be computed, as for table().
  std::optional<Constant> requantisation(const RealBytes& from, const Node& quantize) const;

 private:
  class Evaluation;
  void find_root(const Node& node);
  void follow(const Node& node, ValueId root, int depth);

  const Graph& graph_;
  const PassContext& context_;
  IdVector<ValueId, ValueId> root_;
  IdVector<ValueId, int> depth_;  ///< maximum number of nodes between it and its root
};

}  // namespace parallax
