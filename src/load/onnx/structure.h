// Checks the names of a file's graph before anything is built from it.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "load/onnx/definitions.h"
#include "load/onnx/proto/proto.h"
#include "parallax/model.h"

namespace parallax {

/// Returns the operator set that the model imports for `domain`, the first of several; nullopt if
/// it does not import the domain. The domain "" is ai.onnx.
std::optional<std::int64_t> imported_opset(const OnnxModel& model, std::string_view domain);
/// Whether a version of ai.onnx can be loaded. Errors: kUnsupported outside 1 to 28.
Status check_onnx_opset(std::int64_t version);
/// Checks the versions that the model imports. Errors: kInvalidModel if it imports no operator set,
/// or two of ai.onnx that differ. A model need not import ai.onnx if no node needs it. Sets that no
/// node uses are not checked.
Status check_opsets(const OnnxModel& model);

struct CheckedBody;

/// A graph of the file whose names and operators were checked, with the bodies inside it. Every
/// node has its operator set. Names and views point into the file, into `made_names`, or into names
/// that inline_functions() keeps: all must outlive it.
struct CheckedGraph {
  OnnxGraph graph;
  Definitions names = {};  ///< that the graph defines or captures
  std::vector<std::size_t> order =
      {};  ///< order of graph.nodes: topological, captured reads included
  /// Names that the graph, or a body in it, reads from the graphs around it, in the order in which
  /// they are first read.
  std::vector<std::string_view> captures = {};
  std::map<std::size_t, std::vector<CheckedBody>> bodies = {};  ///< keyed by node
  std::deque<std::string> made_names = {};    ///< that `graph` has and the file lacks
  std::vector<std::size_t> unsupported = {};  ///< nodes that were noted, in the file's order
};
/// A body of If, Loop or Scan; only the graph's own nodes are in its `order`.
struct CheckedBody {
  std::string_view attribute;  ///< "then_branch", ...
  CheckedGraph checked;
};

/// Checks the names of `graph` and of all subgraphs in its nodes: every name that is read is
/// visible, none is defined twice in one graph (a body may hide a name of the graphs around it).
/// Nodes are sorted stably: they stay where they are unless one, or a body of it, reads what a
/// later one makes. Errors: kInvalidModel (missing producer, duplicate, cycle); kUnsupported:
/// subgraphs nested more than `max_nesting` deep, or, in one line, every operator, also those
/// inside subgraphs, that no loader rule covers, with domain, opset and count. Functions are
/// inlined before (functions.h). Scan of operator set 8 is split (batched_scan.h). `noted`, unless
/// null: gets the nodes of these operators, which are no error then. Takes the graph by value: its
/// nodes move into the result. Also kInvalidModel for a graph without outputs, and for names whose
/// definition an outer graph lacks; kUnsupported for a version of ai.onnx that check_onnx_opset()
/// refuses. An operator that nothing covers is an error only after all names were checked. Time is
/// O((nodes + reads) log nodes) for a graph that must be sorted.
Result<CheckedGraph> check_structure(const OnnxModel& model, OnnxGraph graph,
                                     int max_nesting = kMaxNesting,
                                     std::vector<UnsupportedNode>* noted = nullptr);

/// Returns a note of why a node cannot run; the reason becomes one line of at most 500 bytes. The
/// node's name is onnx_node_name(); operator and domain are shortened.
UnsupportedNode note_of(const OnnxNode& node, std::size_t index, std::string_view reason);

}  // namespace parallax
