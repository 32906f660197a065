// Functions of one tensor of bytes: chains of elementwise nodes between two tensors of 8 bits
// become a table of 256. Not thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "lower/patterns/fuse_util.h"
#include "simplify/pass.h"

namespace parallax {

/// A value of real numbers that DequantizeLinear makes of bytes, with one scale that is known.
struct RealBytes {
  ValueId bytes, scale, zero;  ///< zero may be left out
};
std::optional<RealBytes> real_bytes(const Graph& graph, ValueId value);
/// Whether `node` is a QuantizeLinear to bytes with one scale that is known.
bool quantises_to_bytes(const Graph& graph, const Node& node);

/// Which bytes each value is a function of. The graph must not change.
class ByteFunctions {
 public:
  ByteFunctions(const Graph& graph, const PassContext& context);

  /// The bytes that alone decide `value`, and each element only its own; invalid where there are
  /// none, or where `value` is no result of elementwise nodes.
  ValueId root(ValueId value) const { return root_[value]; }
  /// What `bytes`, which QuantizeLinear makes, are for each value of their root's. Nothing where
  /// the budget does not allow to compute it.
  std::optional<Constant> table(ValueId bytes) const;
  /// The same where a DequantizeLinear with the first scale and a QuantizeLinear with the second
  /// follow each other.
  std::optional<Constant> requantisation(const RealBytes& from, const Node& quantize) const;

 private:
  class Evaluation;
  void find_root(const Node& node);
  void follow(const Node& node, ValueId root, int depth);

  const Graph& graph_;
  const PassContext& context_;
  IdVector<ValueId, ValueId> root_;
  IdVector<ValueId, int> depth_;  ///< nodes between it and its root, at most
};

}  // namespace parallax
