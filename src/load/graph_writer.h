// Builds the graph of a model file, for the loaders of all formats.
// Not thread-safe: one GraphWriter for each graph, used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/name_hashes.h"
#include "base/name_map.h"
#include "ir/graph.h"
#include "ops/op.h"

namespace parallax {

/// Appends values and nodes to a graph under names that no other has.
class GraphWriter {
 public:
  /// Tells whether the file has a value of that name.
  using IsDefined = std::function<bool(std::string_view)>;

  /// `defined`: no value that fresh_value_name() names gets a name that the file has.
  GraphWriter(Graph& graph, IsDefined defined) : graph_(graph), defined_(std::move(defined)) {}

  /// Reserves one more name of a value.
  void reserve_value_name(std::string_view name) { value_names_.taken.insert(name); }

  /// Appends a constant. REQUIRES: no other value has the name (fresh_value_name()).
  ValueId constant(std::string name, Constant constant);
  /// Appends a result, whose producer node() sets. REQUIRES: as constant().
  ValueId result(std::string name);
  /// Returns a name that starts with `hint` and that no other value has.
  std::string fresh_value_name(std::string_view hint);
  /// Appends the node under a unique name and makes it the producer of its outputs. Errors: those
  /// of check_node(), with `origin`.
  Result<NodeId> node(Node node, NodeOrigin origin = NodeOrigin::kFile);
  Graph& graph() { return graph_; }

 private:
  struct Names {
    NameHashes taken;
    OwningNameMap<std::int64_t> next = {};  ///< suffix of the next name made from a taken one
  };
  static std::string make_unique(Names& names, std::string name, const IsDefined& defined);

  Graph& graph_;
  const IsDefined defined_;
  Names value_names_, node_names_;
};

}  // namespace parallax
