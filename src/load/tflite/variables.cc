#include "load/tflite/variables.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;
using Code = schema::BuiltinOperator;

/// Whether the operator leaves its state in those of its inputs that are variables.
bool keeps_state(Code code) {
  switch (code) {
    case Code::BIDIRECTIONAL_SEQUENCE_LSTM:
    case Code::BIDIRECTIONAL_SEQUENCE_RNN:
    case Code::LSTM:
    case Code::RNN:
    case Code::SVDF:
    case Code::UNIDIRECTIONAL_SEQUENCE_LSTM:
    case Code::UNIDIRECTIONAL_SEQUENCE_RNN:
      return true;
    default:
      return false;
  }
}

template <class Visit>
void for_each_operator(const TfliteFile& file, Visit visit) {
  for (std::size_t i = 0; i < file.subgraphs.size(); ++i) {
    const auto* operators = file.subgraphs[i].graph->operators();
    for (std::size_t op = 0; op < length_of(operators); ++op)
      visit(i, *operators->Get(static_cast<flatbuffers::uoffset_t>(op)));
  }
}

}  // namespace

TfliteVariables::TfliteVariables(const TfliteFile& file) {
  for_each_operator(
      file, [&](std::size_t subgraph, const schema::Operator& op) { add(file, subgraph, op); });
  for_each_operator(
      file, [&](std::size_t subgraph, const schema::Operator& op) { mark(file, subgraph, op); });
}

/// Adds what the operator makes or uses as a variable.
void TfliteVariables::add(const TfliteFile& file, std::size_t subgraph,
                          const schema::Operator& op) {
  const Code code = builtin_of(code_of(file, op));
  const auto outputs = elements_of(op.outputs());
  if (code == Code::CALL_ONCE) {
    if (const auto* options = op.builtin_options_as_CallOnceOptions())
      initialisers_.insert(static_cast<std::size_t>(options->init_subgraph_index()));
  } else if (code == Code::VAR_HANDLE && !outputs.empty() && outputs[0] >= 0) {
    const auto* options = op.builtin_options_as_VarHandleOptions();
    const std::string_view name = options ? text_of(options->shared_name()) : std::string_view();
    const std::string_view container = options ? text_of(options->container()) : std::string_view();
    TfliteVariable& variable = resources_[{container, name}];
    variable.name = name;
    places_[{subgraph, outputs[0]}] = &variable;
  } else if (keeps_state(code)) {
    const auto& tensors = *file.subgraphs[subgraph].graph->tensors();
    for (const std::int32_t input : elements_of(op.inputs())) {
      if (input < 0) continue;
      const schema::Tensor& tensor = *tensors.Get(static_cast<flatbuffers::uoffset_t>(input));
      if (!tensor.is_variable()) continue;
      TfliteVariable& variable = tensors_[{subgraph, input}];
      variable = {text_of(tensor.name()), true, {}, {}, {}};
      places_[{subgraph, input}] = &variable;
    }
  }
}

/// Marks a resource that a run assigns; subgraphs that initialise do not count.
void TfliteVariables::mark(const TfliteFile& file, std::size_t subgraph,
                           const schema::Operator& op) {
  if (builtin_of(code_of(file, op)) != Code::ASSIGN_VARIABLE || initialisers_.contains(subgraph))
    return;
  const auto inputs = elements_of(op.inputs());
  TfliteVariable* const variable = inputs.empty() ? nullptr : find(subgraph, inputs[0]);
  if (variable != nullptr) variable->assigned = true;
}

TfliteVariable* TfliteVariables::find(std::size_t subgraph, std::int32_t tensor) const {
  const auto found = places_.find({subgraph, tensor});
  return found == places_.end() ? nullptr : found->second;
}

void TfliteVariables::add_state(TfliteVariable& variable, ValueId input) {
  variable.input = variable.latest = input;
  states_.push_back(&variable);
}

}  // namespace parallax
