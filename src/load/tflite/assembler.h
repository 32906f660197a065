// Makes a graph of the subgraphs of a TFLite file: operators (assemble.cc), and those that run
// subgraphs (assemble_calls.cc). Not thread-safe.
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

/// Context of all subgraphs of a file.
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
class TfliteScope {
 public:
  explicit TfliteScope(TfliteContext& context)
      : writer(graph, {}), quota_(context.quota), inference_(graph, context.quota) {}

  /// Gives types to the nodes so far.
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
  /// names of its outputs.
  Status add_inputs();
  /// Gives the graph's outputs the names of the entry.
  Status name_outputs();
  /// Gives the subgraph's inputs values of the graph. Errors: kInvalidModel for another count.
  Status bind_inputs(std::span<const ValueId> values);
  Status add_operators();
  /// Returns the values of the subgraph's outputs.
  Result<std::vector<ValueId>> outputs();
  /// Appends the variables that runs change to the graph's outputs and states.
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
  Status run_rule(const TfliteRule& rule, const schema::Operator& op, const std::string& name);
  Status name_results(const schema::Operator& op, std::span<const ValueId> results,
                      std::int32_t first);
  Status note(const schema::Operator& op, const std::string& name, Status status);
  Result<ValueId> read(std::int32_t tensor);
  Result<ValueId> read_real(OperatorWriter& writing, std::int32_t tensor);
  Result<std::vector<ValueId>> read_inputs(const schema::Operator& op, std::size_t from);
  bool reads_missing(const schema::Operator& op) const;
  bool is_complex(std::int32_t tensor) const;
  bool is_main() const { return index_ == context_.entry.subgraph; }
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
