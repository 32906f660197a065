// What the fusing passes share: matching around a value.
//
// A fusion rewrites its *last* node in place, so that order and output values stay as they are, and
// leaves the nodes it made superfluous to erase_unused. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_hashes.h"
#include "base/name_map.h"
#include "ir/graph.h"

namespace parallax {

/// Who reads each value, as the graph was when this was made.
class Readers {
 public:
  explicit Readers(const Graph& graph);
  /// True where exactly one node reads `value` and it is no graph output.
  bool single(ValueId value) const;
  bool is_output(ValueId value) const { return is_output_[value]; }
  /// The nodes, in order, each once.
  std::span<const NodeId> of(ValueId value) const;

 private:
  // Those of one value after those of another: most passes ask for readers, and find little to do.
  std::vector<NodeId> readers_;
  IdVector<ValueId, std::uint32_t> begin_, end_;
  IdVector<ValueId, bool> is_output_;
};

/// The node that computes `value` as its first output, where that is a `kind`; null otherwise.
const Node* produced_by(const Graph& graph, ValueId value, OpKind kind);
/// The constant behind `value`, where it is one of type f32; null otherwise.
const Constant* float_constant(const Graph& graph, ValueId value);
/// The number in an f32 constant of one element.
std::optional<float> scalar_constant(const Graph& graph, ValueId value);
/// All elements of an f32 constant, which is computed; none where that fails.
std::vector<float> floats(const Constant& constant);
/// An f32 constant with a copy of `elements`.
Constant make_f32(const Dims& dims, const std::vector<float>& elements);

/// Gives names that are not taken.
class UniqueNames {
 public:
  UniqueNames() = default;
  /// Taken are those of nodes and values.
  explicit UniqueNames(const Graph& graph);
  void take(std::string_view name) { taken_.insert(name); }
  /// `wanted`, or `wanted` with a number, which is taken from then on. n calls for one name take
  /// O(n) steps.
  std::string make(std::string_view wanted);

 private:
  NameHashes taken_;
  OwningNameMap<int> numbers_;
};
/// Appends a constant value.
ValueId add_constant(Graph& graph, UniqueNames& names, std::string_view name, Constant constant);

/// Makes `last` compute `op`(`inputs`) with `attributes`, then `epilogue`.
void rewrite_node(Graph& graph, NodeId last, OpKind op, std::vector<ValueId> inputs,
                  Attributes attributes, const Epilogue& epilogue = {});

}  // namespace parallax
