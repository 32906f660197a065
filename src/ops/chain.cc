#include "ops/chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "ops/common.h"
#include "ops/params/chain.h"
#include "ops/params/quantised.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

/// Reads a list of integers from its front.
class IntReader {
 public:
  explicit IntReader(Ints list) : list_(std::move(list)) {}
  /// Nullopt if the next is not in [low, high], or at the end.
  std::optional<std::int64_t> next(std::int64_t low, std::int64_t high) {
    if (at_ >= list_.size() || list_[at_] < low || list_[at_] > high) return std::nullopt;
    return list_[at_++];
  }
  bool at_end() const { return at_ == list_.size(); }

 private:
  Ints list_;
  std::size_t at_ = 0;
};

template <class T>
bool read_number(std::string_view text, T& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

/// The part of `text` before the next space, which is taken off it.
std::string_view take_word(std::string_view& text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(std::min(space + 1, text.size()));
  return word;
}

std::string parameter_text(std::size_t step, const std::string& name, const AttributeValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return fmt::format("{} {} i {}", step, name, *number);
  if (const auto* number = std::get_if<float>(&value))
    return fmt::format("{} {} f {}", step, name, *number);
  return fmt::format("{} {} s {}", step, name, std::get<std::string>(value));
}

bool read_parameter(std::string_view text, std::vector<ChainStep>& steps) {
  std::size_t step = 0;
  if (!read_number(take_word(text), step) || step >= steps.size()) return false;
  const std::string name(take_word(text));
  const std::string_view type = take_word(text);
  Attributes& attributes = steps[step].attributes;
  if (type == "s") {
    attributes.set(name, std::string(text));
    return true;
  }
  std::int64_t whole = 0;
  float number = 0;
  if (type == "i" && read_number(text, whole)) {
    attributes.set(name, whole);
    return true;
  }
  if (type != "f" || !read_number(text, number)) return false;
  attributes.set(name, number);
  return true;
}

bool read_step(IntReader& ints, std::size_t inputs, std::size_t index, ChainStep& step) {
  const auto dtype = ints.next(0, static_cast<std::int64_t>(kDTypes.size()) - 1);
  const auto count = ints.next(1, static_cast<std::int64_t>(kMaxChainOperands));
  if (!dtype || !count) return false;
  step.dtype = static_cast<DType>(*dtype);
  for (std::int64_t i = 0; i < *count; ++i) {
    const auto operand =
        ints.next(-static_cast<std::int64_t>(index), static_cast<std::int64_t>(inputs));
    if (!operand) return false;
    using Kind = ChainOperand::Kind;
    if (*operand == 0) {
      step.operands.push_back({});
    } else if (*operand > 0) {
      step.operands.push_back({Kind::kInput, static_cast<std::size_t>(*operand - 1)});
    } else {
      step.operands.push_back({Kind::kStep, static_cast<std::size_t>(-*operand - 1)});
    }
  }
  return true;
}

bool read_results(const Ints& list, std::size_t steps, std::vector<std::size_t>& results) {
  std::vector<bool> taken(steps, false);
  for (const std::int64_t step : list) {
    if (step < 0 || static_cast<std::size_t>(step) >= steps) return false;
    const auto at = static_cast<std::size_t>(step);
    if (taken[at]) return false;
    taken[at] = true;
    results.push_back(at);
  }
  return true;
}

InferInput as_input(const InferOutput& output) {
  return {.present = true,
          .dtype = output.dtype,
          .shape = output.shape,
          .content = output.content ? &*output.content : nullptr};
}

/// Infers the result of a step. Errors: those of the operator's inference.
Result<InferOutput> infer_step(const InferContext& context, const ChainStep& step,
                               const std::vector<InferOutput>& earlier) {
  const Node node = node_of_step(context.node, step);
  PX_RETURN_IF_ERROR(check_node(node, NodeOrigin::kPass));
  std::vector<InferInput> inputs;
  for (const ChainOperand& operand : step.operands) {
    if (operand.kind == ChainOperand::Kind::kInput && !context.has(operand.index))
      return fail(context, fmt::format("input {} is left out but read", operand.index));
    if (operand.kind == ChainOperand::Kind::kNone) {
      inputs.emplace_back();
    } else {
      inputs.push_back(operand.kind == ChainOperand::Kind::kInput
                           ? context.inputs[operand.index]
                           : as_input(earlier[operand.index]));
    }
  }
  PX_ASSIGN(auto outputs,
            op_def(step.op).infer({node, inputs, context.fresh_symbol, context.symbols}));
  if (outputs.size() != 1 || outputs[0].dtype != step.dtype)
    return fail(context, fmt::format("{} gives another type", to_string(step.op)));
  return std::move(outputs[0]);
}

/// False where the shapes certainly differ.
bool may_be_same(const Shape& a, const Shape& b) {
  return a.size() == b.size() && std::ranges::equal(a, b, [](const Expr& x, const Expr& y) {
           return !x.constant() || !y.constant() || x.constant() == y.constant();
         });
}

InferResult infer_chain(const InferContext& context) {
  const auto program = read_chain(context.node);
  if (!program) return fail(context, "its program is not valid");
  std::vector<InferOutput> made;
  made.reserve(program->steps.size());  // contents are pointed to
  for (const ChainStep& step : program->steps) {
    PX_ASSIGN(InferOutput output, infer_step(context, step, made));
    if (!made.empty() && !may_be_same(output.shape, made.front().shape))
      return fail(context, "its steps have different shapes");
    made.push_back(std::move(output));
  }
  std::vector<InferOutput> outputs;
  for (const std::size_t step : program->results) outputs.push_back(made[step]);
  return outputs;
}

/// One of each step.
std::int64_t chain_macs(const Node& node, std::span<const Dims>, std::span<const Dims> outputs) {
  const std::size_t steps = params_of<ChainParams>(node).steps.size();
  if (outputs.empty()) return 0;
  return saturating_mul(saturating_elements(outputs[0]), static_cast<std::int64_t>(steps));
}

}  // namespace

bool quantises(OpKind op) {
  return op == OpKind::kQuantizeLinear || op == OpKind::kDequantizeLinear;
}

bool can_be_chain_step(OpKind op, const Attributes& attributes) {
  const OpDef& def = op_def(op);
  if ((!def.elementwise && !quantises(op)) || def.shape_inputs != 0) return false;
  // Their elements depend on their places.
  if (op == OpKind::kBernoulli || op == OpKind::kRandomNormalLike ||
      op == OpKind::kRandomUniformLike ||
      params_of<DequantizeLinearParams>(attributes).block_size != 0)
    return false;
  return std::ranges::all_of(attributes, [](const auto& attribute) {
    return std::holds_alternative<std::int64_t>(attribute.second) ||
           std::holds_alternative<float>(attribute.second) ||
           std::holds_alternative<std::string>(attribute.second);
  });
}

Attributes write_chain(const ChainProgram& program) {
  Strings names, parameters;
  Ints ints;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const ChainStep& step = program.steps[s];
    names.emplace_back(to_string(step.op));
    ints.push_back(static_cast<std::int64_t>(step.dtype));
    ints.push_back(std::ssize(step.operands));
    for (const ChainOperand& operand : step.operands) {
      const auto place = static_cast<std::int64_t>(operand.index) + 1;
      ints.push_back(operand.kind == ChainOperand::Kind::kNone    ? 0
                     : operand.kind == ChainOperand::Kind::kInput ? place
                                                                  : -place);
    }
    for (const auto& [name, value] : step.attributes)
      parameters.push_back(parameter_text(s, name, value));
  }
  Attributes attributes;
  set_param(attributes, &ChainParams::steps, std::move(names));
  set_param(attributes, &ChainParams::program, std::move(ints));
  set_param(attributes, &ChainParams::results,
            Ints(program.results.begin(), program.results.end()));
  if (!parameters.empty()) set_param(attributes, &ChainParams::parameters, std::move(parameters));
  return attributes;
}

std::optional<ChainProgram> read_chain(const Node& node) {
  auto params = params_of<ChainParams>(node);
  const Strings& names = params.steps;
  if (names.empty() || names.size() > kMaxChainSteps || node.inputs.size() > kMaxChainInputs ||
      params.results.size() != node.outputs.size())
    return std::nullopt;
  ChainProgram program;
  IntReader ints(std::move(params.program));
  for (std::size_t s = 0; s < names.size(); ++s) {
    const auto op = op_from_string(names[s]);
    ChainStep& step = program.steps.emplace_back();
    if (!op || !read_step(ints, node.inputs.size(), s, step)) return std::nullopt;
    step.op = *op;
  }
  if (!ints.at_end() || !read_results(params.results, names.size(), program.results))
    return std::nullopt;
  for (const std::string& text : params.parameters)
    if (!read_parameter(text, program.steps)) return std::nullopt;
  for (const ChainStep& step : program.steps)
    if (!can_be_chain_step(step.op, step.attributes)) return std::nullopt;
  return program;
}

Node node_of_step(const Node& chain, const ChainStep& step) {
  Node node{chain.name, step.op, step.attributes, {}, {ValueId{0}}};
  for (const ChainOperand& operand : step.operands)
    node.inputs.push_back(operand.kind == ChainOperand::Kind::kNone ? ValueId{} : ValueId{0});
  return node;
}

std::string chain_text(const Node& node) {
  std::string text = "[";
  for (const std::string& name : params_of<ChainParams>(node).steps)
    text += (text.size() > 1 ? " " : "") + name;
  return text + "]";
}

/// Its steps, one after the other: ops/chain.h.
const OpDef& op_def_ElementwiseChain() {
  static const OpDef def = [] {
    OpDef d(OpKind::kElementwiseChain,
            whole_tensors(WorkKind::kElementwise, ConformanceForm::kOfTheCpu));
    d.internal = true;
    d.max_inputs = static_cast<int>(kMaxChainInputs);
    d.max_outputs = -1;
    d.attributes = attributes_of<ChainParams>();
    d.infer = infer_chain;
    d.macs = chain_macs;
    return d;
  }();
  return def;
}

}  // namespace parallax
