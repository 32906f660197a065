// Rules of LSTM cells, whose states are variables of the file: a run begins with what the run
// before left in them.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "load/tflite/rules/over_time.h"
#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;
using Function = schema::ActivationFunctionType;

/// The gates in the order of the file's inputs.
enum LstmGate : std::size_t { kInputGate, kForgetGate, kCellGate, kOutputGate, kGates };

/// The first input of each kind. Inputs that an operator lacks are beyond all others.
struct LstmPlaces {
  static constexpr std::size_t kNone = std::size_t{1} << 20;
  std::size_t weights, recurrent, peephole, bias, projection, state, cell, norm = kNone;
};
constexpr LstmPlaces kLstm = {1, 5, 9, 12, 16, 18, 19, 20};
constexpr LstmPlaces kForwardLstm = {1, 5, 9, 12, 16, 35, 36};
constexpr LstmPlaces kBackwardLstm = {18, 22, 26, 29, 33, 37, 38};

/// Weights of a cell; an invalid id for what it lacks.
struct LstmCell {
  std::array<ValueId, kGates> recurrent, peephole, norm, bias;
  ValueId projection, projection_bias;
  Function function = Function::TANH;
  float cell_clip = 0, projection_clip = 0;  ///< 0: none

  /// Whether the input gate is what the forget gate leaves.
  bool coupled() const { return !recurrent[kInputGate].valid(); }
};

ValueId turned(OperatorWriter& w, ValueId x) {
  return x.valid() ? w.transpose(x, {1, 0}) : ValueId{};
}

ValueId sum(OperatorWriter& w, ValueId x, ValueId y) {
  if (!x.valid()) return y;
  return y.valid() ? w.add(x, y) : x;
}

LstmCell cell_of(TfliteOperator& o, const LstmPlaces& at) {
  LstmCell cell;
  for (std::size_t gate = 0; gate < kGates; ++gate) {
    cell.recurrent[gate] = turned(o, o.in(at.recurrent + gate));
    cell.norm[gate] = o.in(at.norm + gate);
    cell.bias[gate] = o.in(at.bias + gate);
  }
  cell.peephole = {o.in(at.peephole), o.in(at.peephole + 1), ValueId{}, o.in(at.peephole + 2)};
  cell.projection = turned(o, o.in(at.projection));
  cell.projection_bias = o.in(at.projection + 1);
  for (std::size_t gate = kForgetGate; gate < kGates; ++gate) o.need(at.recurrent + gate);
  if (o.has(at.weights) != o.has(at.recurrent)) o.invalid("half of an input gate");
  return cell;
}

/// Returns the gates' sums over the input at all times. Normalized gates get their bias afterwards.
std::vector<ValueId> gate_parts(TfliteOperator& o, const LstmPlaces& at, const LstmCell& cell) {
  std::vector<ValueId> parts;
  for (std::size_t gate = cell.coupled() ? kForgetGate : kInputGate; gate < kGates; ++gate) {
    const ValueId x = o.op(OpKind::kMatMul, {o.need(0), turned(o, o.need(at.weights + gate))});
    parts.push_back(cell.norm[gate].valid() ? x : sum(o, x, cell.bias[gate]));
  }
  return parts;
}

/// (x - mean) / deviation * norm + bias, along the last axis.
ValueId normalized(OperatorWriter& w, ValueId x, ValueId norm, ValueId bias) {
  const ValueId centred = w.sub(x, w.reduce(OpKind::kReduceMean, x, {-1}));
  const ValueId variance = w.reduce(OpKind::kReduceMean, w.mul(centred, centred), {-1});
  const ValueId deviation = w.op(OpKind::kSqrt, {w.add(variance, w.float_number(1e-8F))});
  return sum(w, w.mul(w.div(centred, deviation), norm), bias);
}

/// A gate before its function. `cell_state`: what its peephole sees.
ValueId gate_sum(StepScope& s, const LstmCell& cell, std::size_t gate, ValueId x, ValueId h,
                 ValueId cell_state) {
  OperatorWriter& w = s.writer;
  ValueId y = w.add(x, w.op(OpKind::kMatMul, {h, s.take(cell.recurrent[gate])}));
  if (cell.peephole[gate].valid()) y = w.add(y, w.mul(cell_state, s.take(cell.peephole[gate])));
  if (!cell.norm[gate].valid()) return y;
  return normalized(w, y, s.take(cell.norm[gate]), s.take(cell.bias[gate]));
}

ValueId limited(OperatorWriter& w, ValueId x, float limit) {
  return limit > 0 ? clipped(w, x, -limit, limit) : x;
}

/// States are the output h and the cell c.
std::vector<ValueId> lstm_step(StepScope& s, const LstmCell& cell, std::span<const ValueId> parts,
                               std::span<const ValueId> states) {
  OperatorWriter& w = s.writer;
  const ValueId h = states[0], c = states[1];
  const std::size_t skipped = cell.coupled() ? 1 : 0;
  const auto sigmoid = [&](std::size_t gate, ValueId seen) {
    return w.op(OpKind::kSigmoid, {gate_sum(s, cell, gate, parts[gate - skipped], h, seen)});
  };
  const ValueId forget = sigmoid(kForgetGate, c);
  const ValueId input = cell.coupled() ? w.sub(w.float_number(1), forget) : sigmoid(kInputGate, c);
  const ValueId news = activation_of(
      w, gate_sum(s, cell, kCellGate, parts[kCellGate - skipped], h, c), cell.function);
  const ValueId next = limited(w, w.add(w.mul(forget, c), w.mul(input, news)), cell.cell_clip);
  const ValueId output = w.mul(activation_of(w, next, cell.function), sigmoid(kOutputGate, next));
  if (!cell.projection.valid()) return {output, next};
  const ValueId projected = w.op(OpKind::kMatMul, {output, s.take(cell.projection)});
  return {limited(w, sum(w, projected, s.take(cell.projection_bias)), cell.projection_clip), next};
}

/// Whether the cell is what the operator LSTM computes, with a bias of every gate or none.
bool is_standard(const LstmCell& cell) {
  const auto valid = [](ValueId id) { return id.valid(); };
  const auto biases = std::ranges::count_if(cell.bias, valid);
  return !cell.coupled() && std::ranges::none_of(cell.peephole, valid) &&
         std::ranges::none_of(cell.norm, valid) && (biases == 0 || biases == kGates) &&
         !cell.projection.valid() && !cell.projection_bias.valid() &&
         cell.function == Function::TANH;
}

/// The four inputs from `first` on below each other, in the order of the operator LSTM.
ValueId stacked(TfliteOperator& o, std::size_t first) {
  std::vector<ValueId> parts;
  for (const std::size_t gate : {kInputGate, kOutputGate, kForgetGate, kCellGate})
    parts.push_back(o.need(first + gate));
  return o.concat(std::move(parts), 0);
}

/// Writes one LSTM. REQUIRES: is_standard().
RecurrentResult standard_lstm(TfliteOperator& o, const LstmPlaces& at, const LstmCell& cell,
                              const TimeAxis& time) {
  const std::int64_t units = o.dimension(o.need(at.recurrent + kCellGate), 0);
  if (o.failed()) return {};
  ValueId bias;
  if (cell.bias[kCellGate].valid()) {
    const ValueId given = stacked(o, at.bias);  // for the input; the state has another one
    const ValueId zeros = o.op(OpKind::kExpand, {o.number(0, given), o.ints({4 * units})});
    bias = o.unsqueeze(o.concat({given, zeros}, 0), {0});
  }
  // The axis of directions, of which there is one: in states, and in the output.
  const std::int64_t in_state = time.axis, in_output = time.axis == 0 ? 1 : 2;
  Attributes attributes =
      attributes_of({{"hidden_size", units},
                     {"layout", time.axis},
                     {"direction", std::string(time.reversed ? "reverse" : "forward")}});
  if (cell.cell_clip > 0) attributes.set("cell_clip", cell.cell_clip);
  const auto results =
      o.ops(OpKind::kLSTM,
            {o.need(0), o.unsqueeze(stacked(o, at.weights), {0}),
             o.unsqueeze(stacked(o, at.recurrent), {0}), bias, ValueId{},
             o.unsqueeze(o.need(at.state), {in_state}), o.unsqueeze(o.need(at.cell), {in_state})},
            std::move(attributes), 3);
  return {o.squeeze(results[0], {in_output}),
          {o.squeeze(results[1], {in_state}), o.squeeze(results[2], {in_state})}};
}

/// Reads the cell at `at`. `time`: null for one step.
template <class Options>
ValueId run_lstm(TfliteOperator& o, const LstmPlaces& at, const Options& options,
                 const TimeAxis* time) {
  LstmCell cell = cell_of(o, at);
  cell.function = options.fused_activation_function();
  cell.cell_clip = options.cell_clip();
  cell.projection_clip = options.proj_clip();
  const auto finish = [&](const RecurrentResult& result) {
    o.keep(at.state, result.state(0));
    o.keep(at.cell, result.state(1));
    return result.output;
  };
  if (time != nullptr && is_standard(cell)) return finish(standard_lstm(o, at, cell, *time));
  const Recurrence recurrence{gate_parts(o, at, cell), {o.need(at.state), o.need(at.cell)}};
  if (o.failed()) return {};
  const auto step = [&](StepScope& s, std::span<const ValueId> parts,
                        std::span<const ValueId> states) {
    return lstm_step(s, cell, parts, states);
  };
  return finish(time == nullptr ? once(o, recurrence, step)
                                : over_time(o, recurrence, *time, step));
}

/// One step with all weights in one matrix: rows of the input, cell, forget and output gates.
/// Inputs are x, h, weights, bias, c; outputs h, c and two buffers.
void basic_lstm(TfliteOperator& o) {
  const ValueId joined = o.concat({o.need(0), o.need(1)}, 1);
  const ValueId sums = o.add(o.op(OpKind::kMatMul, {joined, turned(o, o.need(2))}), o.need(3));
  const auto gates =
      o.ops(OpKind::kSplit, {sums}, with_axis(1, {{"num_outputs", std::int64_t{kGates}}}), kGates);
  const auto sigmoid = [&](std::size_t i) { return o.op(OpKind::kSigmoid, {gates[i]}); };
  const ValueId news = o.op(OpKind::kTanh, {gates[1]});
  const ValueId c = o.add(o.mul(sigmoid(0), news), o.mul(sigmoid(2), o.need(4)));
  const ValueId h = o.mul(sigmoid(3), o.op(OpKind::kTanh, {c}));
  o.keep(1, h);
  o.keep(4, c);
  o.result(0, h);
  o.result(1, c);
  o.result(2, joined);
  o.result(3, sums);
}

void lstm(TfliteOperator& o) {
  const auto& options = o.options<schema::LSTMOptions>();
  if (options.kernel_type() == schema::LSTMKernelType::BASIC) return basic_lstm(o);
  o.result(run_lstm(o, kLstm, options, nullptr));
}

void sequence_lstm(TfliteOperator& o) {
  const auto& options = o.options<schema::UnidirectionalSequenceLSTMOptions>();
  if (options.diagonal_recurrent_tensors())
    return o.refuse("diagonal recurrent weights are not supported");
  const TimeAxis time = {options.time_major() ? 0 : 1};
  o.result(run_lstm(o, kLstm, options, &time));
}

/// Outputs are those of both directions, or one that joins them.
void bidirectional_lstm(TfliteOperator& o) {
  constexpr std::size_t kSecondInput = 39;
  const auto& options = o.options<schema::BidirectionalSequenceLSTMOptions>();
  if (o.has(kSecondInput)) return o.refuse("a second input is not supported");
  const std::int64_t axis = options.time_major() ? 0 : 1;
  const TimeAxis onward = {axis}, back = {axis, true};
  const ValueId first = run_lstm(o, kForwardLstm, options, &onward);
  const ValueId second = run_lstm(o, kBackwardLstm, options, &back);
  if (options.merge_outputs()) return o.result(o.concat({first, second}, 2));
  o.result(0, first);
  o.result(1, second);
}

constexpr std::array kLstmRules = {
    TfliteRule{Code::BIDIRECTIONAL_SEQUENCE_LSTM, bidirectional_lstm},
    TfliteRule{Code::LSTM, lstm},
    TfliteRule{Code::UNIDIRECTIONAL_SEQUENCE_LSTM, sequence_lstm},
};

}  // namespace

std::span<const TfliteRule> tflite_lstm_rules() { return kLstmRules; }

}  // namespace parallax
