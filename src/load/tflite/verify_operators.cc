#include <fmt/core.h>

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

/// Whether the subgraph has the tensor.
bool has_tensor(const std::vector<TfliteUses>& uses, std::int32_t index) {
  return index >= 0 && static_cast<std::size_t>(index) < uses.size();
}

/// Checks the tensors that the subgraph gets and returns.
Status check_ends(TfliteChecks& checks, std::size_t subgraph) {
  const schema::SubGraph& graph = *checks.file.subgraphs[subgraph].graph;
  std::vector<TfliteUses>& uses = checks.uses[subgraph];
  const auto wrong = [&](std::string_view kind, std::int32_t tensor) {
    return invalid_model(fmt::format("{} {} of subgraph {} is not one of its {} tensors", kind,
                                     tensor, subgraph, uses.size()));
  };
  PX_RETURN_IF_ERROR(checks.take(length_of(graph.inputs()) + length_of(graph.outputs())));
  for (const std::int32_t input : elements_of(graph.inputs())) {
    if (!has_tensor(uses, input)) return wrong("input", input);
    TfliteUses& use = uses[static_cast<std::size_t>(input)];
    if (use.input) {
      return invalid_model(
          fmt::format("{} is an input of subgraph {} twice", tensor_name(graph, input), subgraph));
    }
    use.input = true;
  }
  for (const std::int32_t output : elements_of(graph.outputs())) {
    if (!has_tensor(uses, output)) return wrong("output", output);
    uses[static_cast<std::size_t>(output)].output = true;
  }
  return {};
}

/// The operator under check.
struct OperatorPlace {
  TfliteChecks& checks;
  std::size_t subgraph;
  std::size_t index;
  const schema::Operator& op;

  tl::unexpected<Error> invalid(std::string message) const {
    return invalid_model(std::move(message), operator_name(checks.file, subgraph, index));
  }
};

/// Checks that the subgraph has these tensors, each of which may be -1 if it may be left out.
Status check_indices(const OperatorPlace& place, std::span<const std::int32_t> tensors,
                     bool optional, std::string_view kind) {
  const std::vector<TfliteUses>& uses = place.checks.uses[place.subgraph];
  PX_RETURN_IF_ERROR(place.checks.take(tensors.size()));
  for (const std::int32_t tensor : tensors) {
    if (has_tensor(uses, tensor) || (optional && tensor == -1)) continue;
    return place.invalid(fmt::format("its {} {} is not one of the subgraph's {} tensors", kind,
                                     tensor, uses.size()));
  }
  return {};
}

/// Notes the operator as the one that writes its outputs.
Status check_writes(const OperatorPlace& place) {
  const schema::SubGraph& graph = *place.checks.file.subgraphs[place.subgraph].graph;
  for (const std::int32_t output : elements_of(place.op.outputs())) {
    if (output == -1) continue;
    TfliteUses& use = place.checks.uses[place.subgraph][static_cast<std::size_t>(output)];
    const std::string_view reason = use.fixed                         ? "a constant or variable"
                                    : use.input                       ? "an input of the subgraph"
                                    : use.writer != TfliteUses::kNone ? "written before"
                                                                      : "";
    if (!reason.empty())
      return place.invalid(fmt::format("its output {} is {}", tensor_name(graph, output), reason));
    use.writer = static_cast<std::int32_t>(place.index);
  }
  return {};
}

/// Checks names that options have and that messages may quote.
Status check_option_names(const OperatorPlace& place) {
  const auto check = [&](std::string_view owner, const flatbuffers::String* name) -> Status {
    if (name == nullptr) return {};
    return place.checks.check_name(
        fmt::format("the {} of {}", owner,
                    operator_name(place.checks.file, place.subgraph, place.index)),
        name);
  };
  if (const auto* handle = place.op.builtin_options_as_VarHandleOptions()) {
    PX_RETURN_IF_ERROR(check("container", handle->container()));
    PX_RETURN_IF_ERROR(check("variable", handle->shared_name()));
  }
  if (const auto* composite = place.op.builtin_options_2_as_StableHLOCompositeOptions())
    PX_RETURN_IF_ERROR(check("composite", composite->name()));
  if (const auto* call = place.op.builtin_options_2_as_StablehloCustomCallOptions())
    PX_RETURN_IF_ERROR(check("call target", call->call_target_name()));
  return {};
}

Status check_operator(const OperatorPlace& place) {
  const schema::Operator& op = place.op;
  const std::size_t inputs = length_of(op.inputs());
  PX_RETURN_IF_ERROR(check_indices(place, elements_of(op.inputs()), true, "input"));
  PX_RETURN_IF_ERROR(check_indices(place, elements_of(op.outputs()), true, "output"));
  PX_RETURN_IF_ERROR(check_indices(place, elements_of(op.intermediates()), false, "intermediate"));
  const std::size_t mutating = length_of(op.mutating_variable_inputs());
  if (mutating != 0 && mutating != inputs)
    return place.invalid(
        fmt::format("it has {} marks of variables for {} inputs", mutating, inputs));
  const std::uint64_t end = place.checks.file.bytes.size();
  const std::uint64_t offset = op.large_custom_options_offset();
  const std::uint64_t size = op.large_custom_options_size();
  if (offset > end || size > end - offset) {
    return place.invalid(
        fmt::format("its options have {} bytes at {} of a file of {} bytes", size, offset, end));
  }
  PX_RETURN_IF_ERROR(check_option_names(place));
  return check_writes(place);
}

}  // namespace

Status check_operators(TfliteChecks& checks, std::size_t subgraph) {
  PX_RETURN_IF_ERROR(check_ends(checks, subgraph));
  const auto* operators = checks.file.subgraphs[subgraph].graph->operators();
  const std::size_t codes = length_of(checks.file.model->operator_codes());
  for (std::size_t i = 0; i < length_of(operators); ++i) {
    const schema::Operator& op = *operators->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (op.opcode_index() >= codes) {
      return invalid_model(fmt::format("operator {} of subgraph {} has operator code {} of {}", i,
                                       subgraph, op.opcode_index(), codes));
    }
    PX_RETURN_IF_ERROR(check_operator({checks, subgraph, i, op}));
  }
  return {};
}

}  // namespace parallax
