// Operators that run other subgraphs of the file: IF and WHILE become nodes with bodies, the others
// are replaced by what they call.
#include <fmt/core.h>

#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/assembler.h"
#include "ops/control_flow.h"

namespace parallax {

using Code = schema::BuiltinOperator;

bool is_tflite_call(schema::BuiltinOperator code) {
  return code == Code::IF || code == Code::WHILE || code == Code::CALL ||
         code == Code::STABLEHLO_COMPOSITE;
}

bool SubgraphAssembler::runs_subgraphs(const schema::Operator& op) const {
  return is_tflite_call(builtin_of(code_of(context_.file, op)));
}

/// The inputs from `from` on, as the file stores them.
Result<std::vector<ValueId>> SubgraphAssembler::read_inputs(const schema::Operator& op,
                                                            std::size_t from) {
  std::vector<ValueId> values;
  const auto inputs = elements_of(op.inputs());
  for (std::size_t i = from; i < inputs.size(); ++i) {
    if (inputs[i] < 0) return invalid_model(fmt::format("input {} is missing", i));
    PX_ASSIGN(const ValueId value, read(inputs[i]));
    values.push_back(value);
  }
  return values;
}

Status SubgraphAssembler::bind_inputs(std::span<const ValueId> values) {
  const auto inputs = elements_of(file_.inputs());
  if (inputs.size() != values.size())
    return invalid_model(fmt::format("subgraph {} has {} inputs, but is given {}", index_,
                                     inputs.size(), values.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto dtype = dtype_of(tensor(inputs[i]).type());
    const Value& given = scope_.graph.values[values[i]];
    if (dtype != given.dtype)
      return invalid_model(
          fmt::format("input {} of subgraph {} is given {}", i, index_, to_string(given.dtype)));
    value(inputs[i]) = values[i];
  }
  return {};
}

Result<std::vector<ValueId>> SubgraphAssembler::call(const schema::Operator& op,
                                                     const std::string& name) {
  switch (builtin_of(code_of(context_.file, op))) {
    case Code::IF:
      return write_if(op, name);
    case Code::WHILE:
      return write_while(op, name);
    default:
      break;
  }
  const auto* const plain = op.builtin_options_as_CallOptions();
  const auto* const composite = op.builtin_options_2_as_StableHLOCompositeOptions();
  if (plain == nullptr && composite == nullptr) return invalid_model("it names no subgraph");
  PX_ASSIGN(const auto inputs, read_inputs(op, 0));
  return write_inline(plain != nullptr ? std::int64_t{plain->subgraph()}
                                       : composite->decomposition_subgraph_index(),
                      inputs);
}

/// Writes a subgraph's operators here. open_tflite() has checked the index, and that no subgraph
/// calls itself.
Result<std::vector<ValueId>> SubgraphAssembler::write_inline(std::int64_t subgraph,
                                                             std::span<const ValueId> inputs) {
  SubgraphAssembler callee(context_, scope_, static_cast<std::size_t>(subgraph));
  PX_RETURN_IF_ERROR(callee.bind_inputs(inputs));
  PX_RETURN_IF_ERROR(callee.add_operators());
  return callee.outputs();
}

/// A branch reads the arguments as captures; a constant is copied into it.
Result<std::shared_ptr<const Graph>> SubgraphAssembler::branch(std::int64_t subgraph,
                                                               std::span<const ValueId> arguments,
                                                               const Node& node) {
  TfliteScope body(context_);
  SubgraphAssembler callee(context_, body, static_cast<std::size_t>(subgraph));
  if (callee.input_count() != arguments.size())
    return invalid_model(fmt::format("subgraph {} has {} inputs, but is given {}", subgraph,
                                     callee.input_count(), arguments.size()));
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value& outside = scope_.graph.values[arguments[i]];
    std::string name = body.writer.fresh_value_name(callee.input_name(i));
    inputs.push_back(outside.constant ? body.writer.constant(std::move(name), *outside.constant)
                                      : body.add_input(std::move(name)));
  }
  Node shell = node;
  shell.bodies = {std::make_shared<const Graph>(body.graph)};
  PX_RETURN_IF_ERROR(seed_body(scope_.graph, shell, body.graph, context_.quota));
  PX_RETURN_IF_ERROR(callee.bind_inputs(inputs));
  PX_RETURN_IF_ERROR(callee.add_operators());
  PX_ASSIGN(body.graph.outputs, callee.outputs());
  return std::make_shared<const Graph>(std::move(body.graph));
}

Result<std::vector<ValueId>> SubgraphAssembler::write_if(const schema::Operator& op,
                                                         const std::string& name) {
  const auto* const options = op.builtin_options_as_IfOptions();
  if (options == nullptr) return invalid_model("it names no subgraphs");
  PX_ASSIGN(const auto inputs, read_inputs(op, 0));
  if (inputs.empty()) return invalid_model("the condition is missing");
  PX_RETURN_IF_ERROR(scope_.infer());
  Node node{
      .name = name, .op = OpKind::kIf, .attributes = {}, .inputs = {inputs[0]}, .outputs = {}};
  const std::span<const ValueId> arguments = std::span(inputs).subspan(1);
  for (const ValueId argument : arguments) {
    if (scope_.graph.values[argument].constant) continue;
    node.inputs.push_back(argument);
    ++node.captures;
  }
  std::vector<std::shared_ptr<const Graph>> bodies;
  for (const std::int32_t subgraph :
       {options->then_subgraph_index(), options->else_subgraph_index()}) {
    PX_ASSIGN(auto body, branch(subgraph, arguments, node));
    bodies.push_back(std::move(body));
  }
  node.bodies = std::move(bodies);
  for (std::size_t i = 0; i < node.bodies[0]->outputs.size(); ++i)
    node.outputs.push_back(scope_.writer.result(scope_.writer.fresh_value_name(name)));
  const std::vector<ValueId> results = node.outputs;
  PX_RETURN_IF_ERROR(scope_.writer.node(std::move(node), NodeOrigin::kLoader));
  PX_RETURN_IF_ERROR(scope_.infer());
  return results;
}

/// (iteration, condition, carried...) -> (condition of what is carried next, carried...).
Result<std::shared_ptr<const Graph>> SubgraphAssembler::loop_body(
    const schema::WhileOptions& options, const Node& node) {
  TfliteScope body(context_);
  const std::size_t carried = node.inputs.size() - 2;
  body.add_input(body.writer.fresh_value_name("iteration"));
  body.add_input(body.writer.fresh_value_name("condition"));
  SubgraphAssembler step(context_, body, static_cast<std::size_t>(options.body_subgraph_index()));
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < carried; ++i)
    inputs.push_back(body.add_input(body.writer.fresh_value_name(
        i < step.input_count() ? step.input_name(i) : std::string_view("carried"))));
  Graph counts;
  counts.inputs = body.graph.inputs;
  counts.outputs.resize(1 + carried);
  Node shell = node;
  shell.bodies = {std::make_shared<const Graph>(counts)};
  shell.outputs.resize(carried);
  PX_RETURN_IF_ERROR(seed_body(scope_.graph, shell, body.graph, context_.quota));
  PX_RETURN_IF_ERROR(step.bind_inputs(inputs));
  PX_RETURN_IF_ERROR(step.add_operators());
  PX_ASSIGN(const auto next, step.outputs());
  if (next.size() != carried)
    return invalid_model(
        fmt::format("the body returns {} values, {} are carried", next.size(), carried));
  PX_ASSIGN(body.graph.outputs, step.write_inline(options.cond_subgraph_index(), next));
  if (body.graph.outputs.size() != 1) return invalid_model("the condition must be one value");
  body.graph.outputs.insert(body.graph.outputs.end(), next.begin(), next.end());
  return std::make_shared<const Graph>(std::move(body.graph));
}

Result<std::vector<ValueId>> SubgraphAssembler::write_while(const schema::Operator& op,
                                                            const std::string& name) {
  const auto* const options = op.builtin_options_as_WhileOptions();
  if (options == nullptr) return invalid_model("it names no subgraphs");
  PX_ASSIGN(const auto inputs, read_inputs(op, 0));
  PX_ASSIGN(const auto condition, write_inline(options->cond_subgraph_index(), inputs));
  if (condition.size() != 1) return invalid_model("the condition must be one value");
  PX_RETURN_IF_ERROR(scope_.infer());
  Node node{.name = name,
            .op = OpKind::kLoop,
            .attributes = {},
            .inputs = {{}, condition[0]},
            .outputs = {}};
  node.inputs.insert(node.inputs.end(), inputs.begin(), inputs.end());
  PX_ASSIGN(auto body, loop_body(*options, node));
  node.bodies = {std::move(body)};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    node.outputs.push_back(scope_.writer.result(scope_.writer.fresh_value_name(name)));
  const std::vector<ValueId> results = node.outputs;
  PX_RETURN_IF_ERROR(scope_.writer.node(std::move(node), NodeOrigin::kLoader));
  PX_RETURN_IF_ERROR(scope_.infer());
  return results;
}

}  // namespace parallax
