// Makes a graph of the subgraphs of a TFLite file: operators (assemble.cc), and those that run
// subgraphs (assemble_calls.cc). Not thread-safe.
//
// A SubgraphAssembler writes one subgraph to a scope. CALL and STABLEHLO_COMPOSITE are written in
// place, into the scope of their caller; IF and WHILE get scopes of their own for bodies. Recursion
// is as deep as calls are nested, at most kMaxNesting. Each operator, expanded or not, is charged
// to the quota, so that exponential expansion ends in kUnsupported. Tensors are numbered as in the
// file; -1 is one that is left out.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "load/graph_writer.h"
#include "load/tflite/assemble.h"
#include "load/tflite/rules/rules.h"
#include "load/tflite/variables.h"
#include "ops/infer.h"

namespace parallax {

class TfliteScope;

/// Context of all subgraphs of a file. All that it refers to outlives the assembly. `owner` is
/// stored in each constant that points into the file.
struct TfliteContext {
  const TfliteFile& file;
  const TfliteEntry& entry;  ///< the subgraph that runs
  const std::span<const KnownInput> known;
  const std::shared_ptr<const void> owner;
  LoadQuota& quota;
  std::vector<UnsupportedNode>* noted = nullptr;
  TfliteVariables variables{file};
  const TfliteScope* scope = nullptr;  ///< that of the subgraph that runs
};

/// A graph under construction: a subgraph, and those that are written in the place of its calls.
/// The writer checks no names of the file: each name that the file gives goes through
/// fresh_value_name().
class TfliteScope {
 public:
  explicit TfliteScope(TfliteContext& context)
      : writer(graph, {}), quota_(context.quota), inference_(graph, context.quota) {}

  /// Gives types to the nodes so far. Errors: those of inference, as kInvalidModel or kUnsupported.
  Status infer();
  /// Leaves nodes without types that could not get any.
  void skip() { inferred_ = static_cast<std::int32_t>(graph.nodes.size()); }
  /// Appends an input without a type.
  ValueId add_input(std::string name);

  Graph graph;
  GraphWriter writer;

 private:
  LoadQuota& quota_;
  Inference inference_;
  std::int32_t inferred_ = 0;  ///< nodes whose outputs have types
};

/// Order of calls for the subgraph that runs: add_inputs(), add_operators(), outputs(),
/// name_outputs(), add_states(). For one that is called: bind_inputs(), add_operators(), outputs().
/// `context` and `scope` must outlive this.
class SubgraphAssembler {
 public:
  SubgraphAssembler(TfliteContext& context, TfliteScope& scope, std::size_t index)
      : context_(context),
        scope_(scope),
        index_(index),
        file_(*context.file.subgraphs[index].graph),
        order_(context.file.subgraphs[index].order),
        values_(length_of(file_.tensors())) {}

  /// Makes the subgraph's inputs those of the graph, under the names of the entry, and reserves the
  /// names of its outputs. Errors: those of check_known_inputs() and check_known_dims();
  /// kUnsupported for an input of a type that Parallax lacks. An open dimension becomes a symbol,
  /// "name_dim_0".
  Status add_inputs();
  /// Gives the graph's outputs the names of the entry. An output that no node makes gets a copy
  /// under its own name if a signature gives one. One that is listed again keeps its first name.
  Status name_outputs();
  /// Gives the subgraph's inputs values of the graph. Errors: kInvalidModel for another count. Also
  /// kInvalidModel for another element type.
  Status bind_inputs(std::span<const ValueId> values);
  /// Adds the operators in TfliteSubgraph::order. Errors: kUnsupported, unless such operators are
  /// noted; kInvalidModel.
  Status add_operators();
  /// Returns the values of the subgraph's outputs. Errors: kUnsupported for one that a noted
  /// operator should have made, and for complex outputs of the subgraph that runs.
  Result<std::vector<ValueId>> outputs();
  /// Appends the variables that runs change to the graph's outputs and states. Errors: kUnsupported
  /// if a variable changes its element type or shape from one run to the next.
  Status add_states();
  std::size_t input_count() const { return length_of(file_.inputs()); }
  std::string_view input_name(std::size_t i) const {
    return text_of(tensor(elements_of(file_.inputs())[i]).name());
  }

 private:
  Result<Shape> input_shape(const schema::Tensor& tensor, std::string_view known_as,
                            std::string_view name);
  Status add_operator(std::size_t index);
  Status write(const schema::Operator& op, const std::string& name);
  /// Reads inputs as real numbers, runs the rule, and quantizes its results where the file's
  /// tensors are quantized. Charges the nodes beyond the first.
  Status run_rule(const TfliteRule& rule, const schema::Operator& op, const std::string& name);
  Status name_results(const schema::Operator& op, std::span<const ValueId> results,
                      std::int32_t first);
  Status note(const schema::Operator& op, const std::string& name, Status status);
  /// Returns the value of a tensor; makes it if it is a constant or variable that is read first
  /// here. Quantized tensors are returned as stored. Errors: kUnsupported for types that Parallax
  /// lacks.
  Result<ValueId> read(std::int32_t tensor);
  /// As read(), but dequantized if the tensor is quantized. A variable is dequantized at each use,
  /// as its value changes.
  Result<ValueId> read_real(OperatorWriter& writing, std::int32_t tensor);
  Result<std::vector<ValueId>> read_inputs(const schema::Operator& op, std::size_t from);
  /// Whether an input was to be made by an operator that was noted.
  bool reads_missing(const schema::Operator& op) const;
  bool is_complex(std::int32_t tensor) const;
  bool is_main() const { return index_ == context_.entry.subgraph; }
  /// Errors: kUnsupported for an operator without a rule, and for one without a rule for complex
  /// numbers that reads or makes them.
  Result<const TfliteRule*> find_rule(const schema::Operator& op) const;
  const schema::Tensor& tensor(std::int32_t index) const {
    return *file_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  ValueId& value(std::int32_t tensor) { return values_[static_cast<std::size_t>(tensor)]; }

  // Operators that run subgraphs.
  bool runs_subgraphs(const schema::Operator& op) const;
  Result<std::vector<ValueId>> call(const schema::Operator& op, const std::string& name);
  Result<std::vector<ValueId>> write_inline(std::int64_t subgraph, std::span<const ValueId> inputs);
  Result<std::vector<ValueId>> write_if(const schema::Operator& op, const std::string& name);
  Result<std::vector<ValueId>> write_while(const schema::Operator& op, const std::string& name);
  Result<std::shared_ptr<const Graph>> branch(std::int64_t subgraph,
                                              std::span<const ValueId> arguments, const Node& node);
  Result<std::shared_ptr<const Graph>> loop_body(const schema::WhileOptions& options,
                                                 const Node& node);

  // Operators on variables.
  Result<std::optional<Constant>> plain_value(const schema::Tensor& like, bool always);
  Result<ValueId> read_variable(TfliteVariable& variable, const schema::Tensor& like);
  /// Returns the variable that a tensor is; null for any other tensor, and for an input of the
  /// subgraph.
  TfliteVariable* state_at(std::int32_t tensor);
  Status assign(TfliteVariable& variable, ValueId value);
  Status keep_states(TfliteOperator& writing, const schema::Operator& op);
  Result<TfliteVariable*> handle_of(const schema::Operator& op, std::size_t arguments) const;
  Status initialise(const schema::Operator& op);
  Status assign_first(const schema::Operator& op);
  Status write_variable(const schema::Operator& op);
  bool in_main_scope() const { return context_.scope == &scope_; }

  TfliteContext& context_;
  TfliteScope& scope_;
  const std::size_t index_;
  const schema::SubGraph& file_;
  const std::vector<std::int32_t>& order_;
  std::vector<ValueId> values_;          ///< a tensor has; invalid: not made yet
  std::vector<ValueId> real_ = values_;  ///< the same, dequantized, if something read that
  std::vector<bool> missing_ = std::vector<bool>(values_.size());  ///< results of noted nodes
};

}  // namespace parallax
