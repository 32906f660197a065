// Makes the graph of a checked one: values and nodes (assemble.cc), nodes with bodies
// (assemble_bodies.cc), and SequenceMap, which becomes a Loop (assemble_sequence_map.cc).
//
// Each Assembler builds one graph, the main one or a body; those of the bodies of a node live until
// the node is complete. Recursion is as deep as bodies are nested, which structure.h has limited.
// Not thread-safe: all of a file share one FileContext.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/names.h"
#include "load/onnx/assemble.h"
#include "load/onnx/inputs.h"
#include "load/onnx/normalize/normalize.h"
#include "ops/infer.h"

namespace parallax {

/// Context of all graphs of a file. All that it refers to outlives every Assembler of the file.
struct FileContext {
  const ModelBytes& model;
  ExternalFiles& external;
  LoadQuota& quota;
  /// Gets all nodes that cannot run; null: the first is an error.
  std::vector<UnsupportedNode>* noted = nullptr;
  bool noted_in_body = false;  ///< the error of a body stands for nodes that were noted
};

/// A value that is an optional may be declared as what is in it: a Loop begins with an optional and
/// goes on with its element. `what` says "input" or "output" in the message. Errors: kInvalidModel
/// if the containers differ.
Status check_container(const OnnxValueInfo& info, const Value& value, std::string_view what);

/// Nodes are added in CheckedGraph::order, each with its types inferred where a rule asks for them.
/// If nodes are noted (FileContext::noted), those that cannot run get no values, and nodes that
/// read them are passed over.
class Assembler {
 public:
  /// Raises the quota's work by the number of nodes. `checked` must outlive this.
  Assembler(const CheckedGraph& checked, FileContext& context)
      : checked_(checked),
        file_(checked.graph),
        context_(context),
        writer_(graph_,
                [&names = checked.names](std::string_view name) { return names.contains(name); }),
        inference_(graph_, context.quota),
        values_(checked.names.size()) {
    context.quota.allow_nodes(std::ssize(file_.nodes));
  }

  /// `spent`: the graph of the file, whose nodes go as they are read: what they take and what the
  /// graph takes are not there together. To be called once, for the main graph. Errors: as
  /// load_onnx(); the node of the error is named.
  Result<Graph> assemble(OnnxGraph& spent);

 private:
  /// A value of the graph around a body that the body reads.
  struct Capture {
    std::string_view name;
    ValueId id;
  };

  /// Adds all nodes, then the outputs. `spent`, unless null: its nodes are cleared one by one after
  /// they were added. Errors: kUnsupported if nodes were noted.
  Status add_nodes(OnnxGraph* spent = nullptr);
  Status add_or_note(std::size_t index);
  bool reads_missing(std::size_t index) const;
  /// Infers types of the nodes that were added since the last call, in order.
  Status infer_added();
  // Control flow.
  Result<std::vector<const CheckedBody*>> bodies_of(const OnnxNode& file_node,
                                                    std::size_t index) const;
  std::vector<const CheckedBody*> taken(const Node& node,
                                        std::vector<const CheckedBody*> bodies) const;
  Status add_control_flow(const OnnxNode& file_node, std::size_t index, OpKind op);
  Result<std::vector<std::shared_ptr<const Graph>>> add_bodies(
      Node& node, std::span<const CheckedBody* const> bodies, std::span<const Capture> captures,
      std::vector<std::unique_ptr<Assembler>>& parts);
  /// Prepares this as a body of `node` in `around`: initializers, inputs, captures, and the types
  /// of the inputs.
  Status begin_body(const Assembler& around, Node& node, std::span<const Capture> captures);
  Status add_body_inputs(std::size_t scalars);
  void add_captures(const Assembler& around, std::span<const Capture> captures);
  /// Gives the body's inputs the types that `node` passes to them. `outputs`: how many the body
  /// will have.
  Status seed(const Assembler& around, const Node& node, std::size_t outputs);
  // SequenceMap.
  Status add_sequence_map(const OnnxNode& file_node, std::size_t index);
  Status add_empty_sequences(Node& loop, const CheckedBody& body);
  Status begin_map_body(const Assembler& around, Node& loop, std::span<const Capture> captures,
                        std::span<const ValueId> inputs);
  Status end_map_body();
  Result<ValueId> add_op(OpKind op, std::vector<ValueId> inputs, Attributes attributes,
                         std::string name);
  ValueId add_input(std::string name);
  Status check_body(const Graph& body) const;
  Status expand_in_bodies(NodeId node, std::span<const std::unique_ptr<Assembler>> bodies);

  void reserve();
  /// Charges the graph's estimated memory (graph_memory.h) to the quota. Errors: kUnsupported.
  Status check_size();
  Status add_initializers();
  Status add_inputs();
  Status add_constant(const OnnxNode& file_node);
  Status add_file_node(std::size_t index);
  Status add_node(const OnnxNode& file_node, std::size_t index, const OnnxRule& rule);
  Status infer();
  Status check_output(const OnnxValueInfo& output, const Value& value) const;
  ValueId& id_of(std::string_view name) { return values_[checked_.names.at(name).index]; }
  /// Whether something reads the name, which the graph defines.
  bool is_read(std::string_view name) const { return checked_.names.at(name).read; }
  /// Whether something reads the output of a node; true for one without a name.
  bool is_read(const OnnxUse& output) const {
    return output.name.empty() || checked_.names[output.index].read;
  }
  ValueId id_of(const OnnxUse& use) const {
    return use.name.empty() ? ValueId{} : values_[use.index];
  }

  const CheckedGraph& checked_;
  const OnnxGraph& file_;
  FileContext& context_;
  Graph graph_;
  GraphWriter writer_;
  Inference inference_;
  std::vector<ValueId> values_;  ///< indexed by Definition::index; invalid: not made yet
  std::vector<NodeId> softmax_blocks_;
  std::int32_t inferred_ = 0;  ///< nodes whose outputs have shapes
  bool any_noted_ = false;     ///< whether a node of this graph was noted
};

}  // namespace parallax
