// Builds the graph of a model file, for the loaders of all formats.
// Not thread-safe: one GraphWriter for each graph, used by one thread.
//
// The loaders write values and nodes in an order in which producers come before consumers; nothing
// is removed again. Types and shapes are not the writer's business: inference (ops/infer.h) adds
// them.
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

/// Appends values and nodes to a graph under names that no other has. Names of values and names of
/// nodes are separate sets. A made name is the hint, or the hint with "_1", "_2" and so on; each
/// suffix is tried once, so that making n names needs O(n) attempts whatever the file calls its
/// values. Sets hold 64-bit hashes of names (name_hashes.h): two names that share a hash only cost
/// one further suffix.
class GraphWriter {
 public:
  /// Tells whether the file has a value of that name.
  using IsDefined = std::function<bool(std::string_view)>;

  /// `defined`: no value that fresh_value_name() names gets a name that the file has. `graph` must
  /// outlive this; it may have values before, whose names the caller reserves. `defined` may be
  /// empty; otherwise all that it refers to must outlive this.
  GraphWriter(Graph& graph, IsDefined defined) : graph_(graph), defined_(std::move(defined)) {}

  /// Reserves one more name of a value. Call it before the value that may clash is made: a name
  /// that is in use already stays.
  void reserve_value_name(std::string_view name) { value_names_.taken.insert(name); }

  /// Appends a constant. REQUIRES: no other value has the name (fresh_value_name()). The graph
  /// keeps Constant::owner, so the bytes may stay in a mapped file.
  ValueId constant(std::string name, Constant constant);
  /// Appends a result, whose producer node() sets. REQUIRES: as constant(). Type and shape are
  /// empty until inference has seen the producer.
  ValueId result(std::string name);
  /// Returns a name that starts with `hint` and that no other value has. The name counts as used
  /// from now on, also if no value is made with it.
  std::string fresh_value_name(std::string_view hint);
  /// Appends the node under a unique name and makes it the producer of its outputs. Errors: those
  /// of check_node(), with `origin`. An output that is invalid is one that the node leaves out.
  /// After an error the graph is unchanged. `origin` says who is responsible for the node in
  /// messages: the file (its attributes are at fault) or the loader (a rule is).
  Result<NodeId> node(Node node, NodeOrigin origin = NodeOrigin::kFile);
  Graph& graph() { return graph_; }

 private:
  struct Names {
    NameHashes taken;
    OwningNameMap<std::int64_t> next = {};  ///< suffix of the next name made from a taken one
  };
  /// Returns the name, or the first name with a suffix that is neither taken nor defined, and marks
  /// it as taken. `defined` may be empty.
  static std::string make_unique(Names& names, std::string name, const IsDefined& defined);

  Graph& graph_;
  const IsDefined defined_;
  Names value_names_, node_names_;
};

}  // namespace parallax
