#include "load/tflite/rules/over_time.h"

#include <string>
#include <utility>

namespace parallax {
namespace {

/// The body of a Scan while a step writes it.
class StepBody {
 public:
  explicit StepBody(const TfliteOperator& o)
      : outer_(o), writer_(graph_, {}), step_(writer_, o.name(), {}, NodeOrigin::kLoader) {}

  std::vector<ValueId> add_inputs(std::size_t count) {
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(add_input());
    return values;
  }
  /// Constants are copied, other values captured.
  ValueId take(ValueId outside) {
    if (!outside.valid()) return {};
    if (const Constant* const given = outer_.constant(outside)) return step_.constant(*given);
    captured_.push_back(outside);
    return add_input();
  }
  /// The first of the states is also what each step gives.
  void finish(std::vector<ValueId> states) {
    if (step_.failed()) return;
    states.push_back(step_.op(OpKind::kIdentity, {states.at(0)}));
    graph_.outputs = std::move(states);
  }

  OperatorWriter& step() { return step_; }
  const std::vector<ValueId>& captured() const { return captured_; }
  Graph graph() { return std::move(graph_); }

 private:
  ValueId add_input() {
    Value input;
    input.name = writer_.fresh_value_name("input");
    input.kind = ValueKind::kInput;
    graph_.inputs.push_back(graph_.values.push_back(std::move(input)));
    return graph_.inputs.back();
  }

  const TfliteOperator& outer_;
  Graph graph_;
  GraphWriter writer_;
  OperatorWriter step_;
  std::vector<ValueId> captured_;
};

}  // namespace

RecurrentResult once(TfliteOperator& o, const Recurrence& recurrence, const RecurrentStep& step) {
  StepScope scope{o, [](ValueId value) { return value; }};
  std::vector<ValueId> states = step(scope, recurrence.parts, recurrence.states);
  return {states.at(0), std::move(states)};
}

RecurrentResult over_time(TfliteOperator& o, const Recurrence& recurrence, TimeAxis time,
                          const RecurrentStep& step) {
  if (o.failed()) return {};
  StepBody body(o);
  const auto states = body.add_inputs(recurrence.states.size());
  const auto parts = body.add_inputs(recurrence.parts.size());
  StepScope scope{body.step(), [&](ValueId value) { return body.take(value); }};
  body.finish(step(scope, parts, states));
  if (body.step().failed()) {
    o.fail(body.step().status().error());
    return {};
  }
  const Ints axes(parts.size(), time.axis), turns(parts.size(), std::int64_t{time.reversed});
  std::vector<ValueId> inputs = recurrence.states;
  inputs.insert(inputs.end(), recurrence.parts.begin(), recurrence.parts.end());
  inputs.insert(inputs.end(), body.captured().begin(), body.captured().end());
  const std::size_t captures = body.captured().size();
  std::vector<ValueId> results =
      o.scan(std::move(inputs),
             attributes_of({{"num_scan_inputs", static_cast<std::int64_t>(parts.size())},
                            {"scan_input_axes", axes},
                            {"scan_input_directions", turns},
                            {"scan_output_axes", Ints{time.axis}},
                            {"scan_output_directions", Ints{std::int64_t{time.reversed}}}}),
             body.graph(), captures);
  RecurrentResult result{results.back(), {}};
  results.pop_back();
  result.states = std::move(results);
  return result;
}

}  // namespace parallax
