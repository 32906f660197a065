// Rules of recurrent operators without gates. Their states are variables, as in lstm.cc.
#include <array>

#include "load/tflite/rules/over_time.h"
#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;
using Function = schema::ActivationFunctionType;

/// function(weights x + recurrent h + bias), whose inputs begin at `at`: weights, recurrent
/// weights, bias, state. `time`: null for one step.
ValueId run_rnn(TfliteOperator& o, std::size_t at, Function function, const TimeAxis* time) {
  const ValueId weights = o.transpose(o.need(at), {1, 0});
  const ValueId recurrent = o.transpose(o.need(at + 1), {1, 0});
  const ValueId x = o.add(o.op(OpKind::kMatMul, {o.need(0), weights}), o.need(at + 2));
  const Recurrence recurrence{{x}, {o.need(at + 3)}};
  if (o.failed()) return {};
  const auto step = [&](StepScope& s, std::span<const ValueId> parts,
                        std::span<const ValueId> states) {
    const ValueId h = s.writer.op(OpKind::kMatMul, {states[0], s.take(recurrent)});
    return std::vector{activation_of(s.writer, s.writer.add(parts[0], h), function)};
  };
  const RecurrentResult result =
      time == nullptr ? once(o, recurrence, step) : over_time(o, recurrence, *time, step);
  o.keep(at + 3, result.state(0));
  return result.output;
}

void rnn(TfliteOperator& o) {
  o.result(run_rnn(o, 1, o.options<schema::RNNOptions>().fused_activation_function(), nullptr));
}

void sequence_rnn(TfliteOperator& o) {
  const auto& options = o.options<schema::SequenceRNNOptions>();
  const TimeAxis time = {options.time_major() ? 0 : 1};
  o.result(run_rnn(o, 1, options.fused_activation_function(), &time));
}

void bidirectional_rnn(TfliteOperator& o) {
  constexpr std::size_t kSecondInput = 9;
  const auto& options = o.options<schema::BidirectionalSequenceRNNOptions>();
  if (o.has(kSecondInput)) return o.refuse("a second input is not supported");
  const std::int64_t axis = options.time_major() ? 0 : 1;
  const TimeAxis onward = {axis}, back = {axis, true};
  const ValueId first = run_rnn(o, 1, options.fused_activation_function(), &onward);
  const ValueId second = run_rnn(o, 5, options.fused_activation_function(), &back);
  if (options.merge_outputs()) return o.result(o.concat({first, second}, 2));
  o.result(0, first);
  o.result(1, second);
}

/// Filters of a rank: each keeps what it found at the last times, weighs that, and `rank` filters
/// are a unit. Inputs are x, weights [filters, in], weights in time [filters, times], bias, state
/// [batch, filters * times].
void svdf(TfliteOperator& o) {
  const auto& options = o.options<schema::SVDFOptions>();
  const ValueId weights = o.need(1), in_time = o.need(2);
  const std::int64_t filters = o.dimension(in_time, 0), times = o.dimension(in_time, 1);
  if (o.failed()) return;
  if (filters < 1 || times < 1 || options.rank() < 1 || filters % options.rank() != 0)
    return o.invalid("its filters do not fit its rank");
  const ValueId found = o.op(OpKind::kMatMul, {o.need(0), o.transpose(weights, {1, 0})});
  const ValueId before = o.reshape(o.need(4), {-1, filters, times});
  const ValueId kept = o.slice(before, 1, times, 2);
  const ValueId state = o.concat({kept, o.unsqueeze(found, {2})}, 2);
  o.keep(4, o.reshape(state, {-1, filters * times}));
  const ValueId weighed = o.reduce(OpKind::kReduceSum, o.mul(state, in_time), {2}, false);
  const ValueId ranks = o.reshape(weighed, {-1, filters / options.rank(), options.rank()});
  const ValueId sum = o.reduce(OpKind::kReduceSum, ranks, {2}, false);
  o.activated(o.has(3) ? o.add(sum, o.in(3)) : sum, options.fused_activation_function());
}

constexpr std::array kRecurrentRules = {
    TfliteRule{Code::BIDIRECTIONAL_SEQUENCE_RNN, bidirectional_rnn},
    TfliteRule{Code::RNN, rnn},
    TfliteRule{Code::SVDF, svdf},
    TfliteRule{Code::UNIDIRECTIONAL_SEQUENCE_RNN, sequence_rnn},
};

}  // namespace

std::span<const TfliteRule> tflite_recurrent_rules() { return kRecurrentRules; }

}  // namespace parallax
