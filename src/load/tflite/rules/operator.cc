#include "load/tflite/rules/operator.h"

#include <fmt/core.h>

#include <memory>

namespace parallax {

ValueId TfliteOperator::need(std::size_t i) {
  if (!has(i)) invalid(fmt::format("input {} is missing", i));
  return in(i);
}

std::optional<std::vector<std::int64_t>> TfliteOperator::known_ints(std::size_t i) {
  const ValueId value = need(i);
  if (const Constant* const given = OperatorWriter::constant(value)) return integers(*given);
  const Value* const known = typed(value);
  if (known == nullptr || !known->content) return std::nullopt;
  std::vector<std::int64_t> elements;
  for (const Expr& element : *known->content) {
    if (!element.constant()) return std::nullopt;
    elements.push_back(*element.constant());
  }
  return elements;
}

std::vector<std::int64_t> TfliteOperator::need_ints(std::size_t i, std::string_view what) {
  auto elements = known_ints(i);
  if (!elements) refuse(fmt::format("{} must be constants", what));
  return std::move(elements).value_or(std::vector<std::int64_t>{});
}

ValueId TfliteOperator::as_i64(std::size_t i) {
  const auto known = known_ints(i);
  return known && rank(in(i)) == 1 ? ints(*known) : cast_to(need(i), DType::kI64);
}

std::int64_t TfliteOperator::from_front(std::int64_t axis, int rank) {
  const auto normal = normalize_axis(axis, rank);
  if (!normal && !failed())
    invalid(fmt::format("there is no axis {} in {} dimensions", axis, rank));
  return normal.value_or(0);
}

std::vector<std::int64_t> TfliteOperator::output_shape(std::size_t i) const {
  if (i >= outputs_.size() || outputs_[i] == nullptr) return {};
  const auto shape = elements_of(outputs_[i]->shape());
  return {shape.begin(), shape.end()};
}

void TfliteOperator::result(std::size_t i, ValueId value) {
  if (i < results_.size()) results_[i] = value;
}

std::vector<ValueId> TfliteOperator::scan(std::vector<ValueId> inputs, Attributes attributes,
                                          Graph body, std::size_t captures) {
  std::vector<ValueId> results(body.outputs.size());
  if (failed()) return results;
  Node node{.name = name_of(OpKind::kScan),
            .op = OpKind::kScan,
            .attributes = std::move(attributes),
            .inputs = std::move(inputs),
            .outputs = {}};
  for (ValueId& value : results) value = fresh_result(node.name);
  node.outputs = results;
  node.captures = captures;
  node.bodies = {std::make_shared<const Graph>(std::move(body))};
  write(std::move(node));
  return results;
}

ValueId clipped(OperatorWriter& o, ValueId value, float low, float high) {
  return o.op(OpKind::kClip, {value, o.number(low, value), o.number(high, value)});
}

ValueId activation_of(OperatorWriter& o, ValueId value, schema::ActivationFunctionType function) {
  using Activated = schema::ActivationFunctionType;
  switch (function) {
    case Activated::NONE:
      return value;
    case Activated::RELU:
      return o.op(OpKind::kRelu, {value});
    case Activated::RELU_N1_TO_1:
      return clipped(o, value, -1, 1);
    case Activated::RELU6:
      return clipped(o, value, 0, 6);
    case Activated::TANH:
      return o.op(OpKind::kTanh, {value});
    default:
      o.refuse(fmt::format("activation {} is not supported", static_cast<int>(function)));
      return {};
  }
}

}  // namespace parallax
