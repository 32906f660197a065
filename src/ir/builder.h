// Builds graphs in code, for passes and tests. All functions append; names are made unique where
// asked for. Checks and inference are left to infer_graph() of ops/infer.h.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// Appends to a graph. Holds a reference; not thread-safe. Others may append to the graph in
/// between.
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph) : graph_(graph) {}

  /// Appends an input of the graph. `name` is used as it is, also by constant(): the caller keeps
  /// it unique.
  ValueId input(std::string name, DType dtype, Shape shape);
  /// Appends a constant value with the dtype and dimensions of `value`.
  ValueId constant(std::string name, Constant value);
  /// A 1-D i64 constant; the name is derived from `name` and made unique.
  ValueId ints(std::string_view name, std::span<const std::int64_t> elements);
  /// Appends a node with `outputs` fresh result values (dtype f32, shape empty until inferred),
  /// named after the node. An empty `name` becomes the operator's with a number; both are made
  /// unique. `inputs` may have invalid ids for what is left out.
  NodeId node(OpKind op, std::vector<ValueId> inputs, Attributes attributes = {},
              std::string name = {}, int outputs = 1);
  /// node() with one output, returning that value.
  ValueId op(OpKind op, std::vector<ValueId> inputs, Attributes attributes = {},
             std::string name = {});
  /// Makes a value an output of the graph, behind those before it.
  void output(ValueId value) { graph_.outputs.push_back(value); }

 private:
  /// Learns the names of what was appended since the last call, by whomever.
  void read_names();
  static std::string unique(std::unordered_set<std::string>& used, std::string name);

  Graph& graph_;
  std::unordered_set<std::string> value_names_, node_names_;
  std::size_t seen_values_ = 0, seen_nodes_ = 0;
};

}  // namespace parallax
