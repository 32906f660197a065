// Operators on variables. A variable that runs change is an input of the graph, and what it holds
// after the last operator is an output; the graph's states tie them (ir/graph.h).
#include <fmt/core.h>

#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/assembler.h"
#include "load/tflite/quantization.h"

namespace parallax {

using Code = schema::BuiltinOperator;

bool is_tflite_variable(schema::BuiltinOperator code) {
  return code == Code::CALL_ONCE || code == Code::VAR_HANDLE || code == Code::READ_VARIABLE ||
         code == Code::ASSIGN_VARIABLE;
}

/// The value of a variable that nothing has initialised. LiteRT gives bytes that stand for real
/// numbers their zero point, and all others zeros.
Result<std::optional<Constant>> SubgraphAssembler::plain_value(const schema::Tensor& like,
                                                               bool always) {
  const DType dtype = *dtype_of(like.type());
  const auto* const quantization = like.quantization();
  const bool shifted = dtype == DType::kI8 && like.is_variable() && is_quantized(like) &&
                       length_of(quantization->zero_point()) > 0;
  const auto fill =
      static_cast<std::byte>(shifted ? longs_of(quantization->zero_point()).front() : 0);
  if (!always && fill == std::byte{0}) return std::optional<Constant>();
  const auto size = bytes_of(dtype, dims_of(like));
  if (!size || !context_.quota.take_bytes(*size))
    return unsupported("a variable is too large for its file");
  const std::vector<std::byte> bytes(static_cast<std::size_t>(*size), fill);
  return std::optional(make_constant(dtype, dims_of(like), bytes));
}

/// Returns what the next operator reads of a variable, which becomes an input of the graph if runs
/// change it. `like`: has the type of the variable, which has none itself.
Result<ValueId> SubgraphAssembler::read_variable(TfliteVariable& variable,
                                                 const schema::Tensor& like) {
  const std::string_view hint = variable.name.empty() ? "variable" : variable.name;
  if (variable.assigned && !in_main_scope())
    return unsupported(fmt::format("variable {} in IF or WHILE is not supported", quote(hint)));
  const auto dtype = dtype_of(like.type());
  if (!dtype || *dtype == DType::kString)
    return unsupported(fmt::format("variable {} has a type that is not supported", quote(hint)));
  if (variable.latest.valid()) {
    if (scope_.graph.values[variable.latest].dtype == *dtype) return variable.latest;
    return invalid_model(fmt::format("variable {} is read as another type", quote(hint)));
  }
  if (!variable.first) {
    if (is_dynamic(like))
      return unsupported(fmt::format("variable {} has no fixed shape", quote(hint)));
    PX_ASSIGN(variable.first, plain_value(like, !variable.assigned));
  }
  if (variable.first && variable.first->dtype != *dtype)
    return invalid_model(fmt::format("variable {} is read as another type", quote(hint)));
  std::string name = scope_.writer.fresh_value_name(hint);
  if (!variable.assigned) return scope_.writer.constant(std::move(name), *variable.first);
  const ValueId input = scope_.add_input(std::move(name));
  Value& value = scope_.graph.values[input];
  value.dtype = *dtype;
  for (const std::int64_t dim : variable.first ? variable.first->dims : dims_of(like))
    value.shape.push_back(Expr(dim));
  context_.variables.add_state(variable, input);
  return input;
}

TfliteVariable* SubgraphAssembler::state_at(std::int32_t index) {
  if (index < 0 || value(index).valid()) return nullptr;
  return context_.variables.find(index_, index);
}

Status SubgraphAssembler::assign(TfliteVariable& variable, ValueId value) {
  if (!in_main_scope())
    return unsupported(
        fmt::format("variable {} in IF or WHILE is not supported", quote(variable.name)));
  variable.latest = value;
  return {};
}

/// Gives variables the states that an operator leaves in them.
Status SubgraphAssembler::keep_states(TfliteOperator& writing, const schema::Operator& op) {
  const auto inputs = elements_of(op.inputs());
  for (const auto& [i, state] : writing.kept()) {
    TfliteVariable* const variable = i < inputs.size() ? state_at(inputs[i]) : nullptr;
    if (variable == nullptr || !state.valid()) continue;
    const schema::Tensor& t = tensor(inputs[i]);
    PX_RETURN_IF_ERROR(assign(*variable, is_quantized(t) ? quantized(writing, state, t) : state));
  }
  return writing.status();
}

Result<TfliteVariable*> SubgraphAssembler::handle_of(const schema::Operator& op,
                                                     std::size_t arguments) const {
  const auto inputs = elements_of(op.inputs());
  if (inputs.size() != arguments || (arguments > 1 && inputs[1] < 0))
    return invalid_model("it has another number of inputs");
  TfliteVariable* const variable = context_.variables.find(index_, inputs[0]);
  if (variable == nullptr)
    return unsupported("its variable is not one that VAR_HANDLE of the same subgraph makes");
  return variable;
}

/// Runs a subgraph that gives variables their first values: constants.
Status SubgraphAssembler::initialise(const schema::Operator& op) {
  const auto* const options = op.builtin_options_as_CallOnceOptions();
  if (options == nullptr) return invalid_model("it names no subgraph");
  const auto subgraph = static_cast<std::size_t>(options->init_subgraph_index());
  if (!context_.variables.initialise(subgraph)) return {};
  SubgraphAssembler callee(context_, scope_, subgraph);
  for (const std::int32_t index : callee.order_) {
    const auto& step = *callee.file_.operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
    const Code code = builtin_of(code_of(context_.file, step));
    if (code == Code::VAR_HANDLE) continue;
    if (code != Code::ASSIGN_VARIABLE)
      return unsupported(fmt::format("{} is not supported where variables are initialised",
                                     code_name(code_of(context_.file, step))));
    PX_RETURN_IF_ERROR(callee.assign_first(step));
  }
  return {};
}

Status SubgraphAssembler::assign_first(const schema::Operator& op) {
  PX_ASSIGN(TfliteVariable* const variable, handle_of(op, 2));
  if (variable->latest.valid())
    return unsupported(
        fmt::format("variable {} is read before it is initialised", quote(variable->name)));
  const std::int32_t index = elements_of(op.inputs())[1];
  PX_ASSIGN(const ValueId value, read(index));
  const auto& constant = scope_.graph.values[value].constant;
  if (!constant)
    return unsupported(fmt::format("variable {} begins with no constant", quote(variable->name)));
  variable->first = *constant;
  return {};
}

Status SubgraphAssembler::write_variable(const schema::Operator& op) {
  switch (builtin_of(code_of(context_.file, op))) {
    case Code::CALL_ONCE:
      return initialise(op);
    case Code::READ_VARIABLE: {
      PX_ASSIGN(TfliteVariable* const variable, handle_of(op, 1));
      const auto outputs = elements_of(op.outputs());
      if (outputs.size() != 1 || outputs[0] < 0) return invalid_model("it has not one output");
      const auto first = static_cast<std::int32_t>(scope_.graph.nodes.size());
      PX_ASSIGN(const ValueId value, read_variable(*variable, tensor(outputs[0])));
      return name_results(op, std::span(&value, 1), first);
    }
    case Code::ASSIGN_VARIABLE: {
      PX_ASSIGN(TfliteVariable* const variable, handle_of(op, 2));
      PX_ASSIGN(const ValueId value, read(elements_of(op.inputs())[1]));
      return assign(*variable, value);
    }
    default:
      return {};  // VAR_HANDLE: TfliteVariables has found it
  }
}

/// Appends what variables hold after a run to the outputs.
Status SubgraphAssembler::add_states() {
  Graph& graph = scope_.graph;
  for (TfliteVariable* const variable : context_.variables.states()) {
    const std::string_view hint = variable->name.empty() ? "variable" : variable->name;
    std::string name = scope_.writer.fresh_value_name(fmt::format("{}_next", hint));
    const ValueId next = scope_.writer.result(name);
    PX_RETURN_IF_ERROR(
        scope_.writer.node({std::move(name), OpKind::kIdentity, {}, {variable->latest}, {next}}));
    PX_RETURN_IF_ERROR(scope_.infer());
    const Value &from = graph.values[variable->input], &to = graph.values[next];
    bool same = from.dtype == to.dtype && from.shape.size() == to.shape.size();
    for (std::size_t i = 0; same && i < to.shape.size(); ++i)
      same = !to.shape[i].constant() || to.shape[i] == from.shape[i];
    if (!same)
      return unsupported(fmt::format("variable {} changes its type or shape", quote(hint)));
    graph.outputs.push_back(next);
    graph.states.push_back(variable->first);
  }
  return {};
}

}  // namespace parallax
