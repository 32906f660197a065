// TFLite operators with states.
#include <algorithm>
#include <array>

#include "session/tflite_rule_test_util.h"

namespace parallax::tflite_rule {
namespace {

using schema::LSTMKernelType;

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

/// Weights of one unit that reads one number.
TestTensor one(float x) { return constant({1, 1}, {x}); }
TestTensor bias(float x) { return constant({1}, {x}); }

/// LSTM inputs after the first: cell weights 1, all others `gate`; no peepholes; a bias of 0.
std::vector<TestTensor> lstm_inputs(TestTensor x, float gate) {
  std::vector<TestTensor> inputs = {std::move(x)};
  for (const float weight : {gate, gate, 1.F, gate}) inputs.push_back(one(weight));
  for (int i = 0; i < 4; ++i) inputs.push_back(one(0));
  inputs.insert(inputs.end(), 3, missing());
  inputs.insert(inputs.end(), 4, bias(0));
  inputs.insert(inputs.end(), 2, missing());
  inputs.insert(inputs.end(), 2, variable({1, 1}));
  return inputs;
}

/// The outputs for the inputs 1 and 2 with gates that are half open.
Floats half_open_outputs() {
  const float first = 0.5F * std::tanh(1.F), second = 0.5F * first + 0.5F * std::tanh(2.F);
  return {0.5F * std::tanh(first), 0.5F * std::tanh(second)};
}

/// Weights of the gates in the order of the file, of the input and of the state, and biases.
constexpr std::array<float, 4> kOfInput = {0.5F, -1, 2, 0.25F}, kOfState = {1, 0.5F, -2, 3},
                               kBiases = {0.1F, 0.2F, -0.3F, 0.4F};

std::vector<TestTensor> lstm_of_all_gates(TestTensor x) {
  auto inputs = lstm_inputs(std::move(x), 0);
  for (std::size_t gate = 0; gate < 4; ++gate) {
    inputs[1 + gate] = one(kOfInput[gate]);
    inputs[5 + gate] = one(kOfState[gate]);
    inputs[12 + gate] = bias(kBiases[gate]);
  }
  return inputs;
}

/// The outputs of an LSTM for these inputs, whose cell is held within [-limit, limit].
Floats outputs_of_all_gates(const Floats& inputs, float limit) {
  Floats outputs;
  float h = 0, c = 0;
  for (const float x : inputs) {
    const auto sum = [&](std::size_t gate) {
      return kOfInput[gate] * x + kOfState[gate] * h + kBiases[gate];
    };
    c = std::clamp(sigmoid(sum(1)) * c + sigmoid(sum(0)) * std::tanh(sum(2)), -limit, limit);
    outputs.push_back(std::tanh(c) * sigmoid(sum(3)));
    h = outputs.back();
  }
  return outputs;
}

/// An input gate that is what the forget gate leaves, a limit of the cell, and a projection.
std::vector<TestTensor> coupled_inputs() {
  auto inputs = lstm_inputs({{2, 1, 1}, {1, 2}}, 0);
  inputs[1] = inputs[5] = inputs[12] = missing();
  inputs[16] = one(10);
  inputs[17] = bias(1);
  return inputs;
}

std::vector<RuleCase> lstm_cases() {
  const float limited = 0.5F * std::tanh(0.375F) * 10 + 1;
  return {
      {"Lstm",
       TfliteOp::LSTM,
       lstm_inputs({{1, 1}, {1}}, 1),
       {{{1, 1}, {sigmoid(1) * std::tanh(sigmoid(1) * std::tanh(1.F))}}},
       with([](auto& to) { return schema::CreateLSTMOptions(to, Activation::TANH); })},
      {"BasicLstm",
       TfliteOp::LSTM,
       {{{1, 1}, {1}},
        variable({1, 1}),
        constant({4, 2}, {0, 0, 1, 0, 0, 0, 0, 0}),
        constant({4}, {0, 1, 0, 0}),
        variable({1, 1})},
       {{{1, 1}, {0.5F * std::tanh(0.5F * std::tanh(2.F))}},
        {{1, 1}, {0.5F * std::tanh(2.F)}},
        {{1, 2}, {1, 0}},
        {{1, 4}, {0, 2, 0, 0}}},
       with([](auto& to) {
         return schema::CreateLSTMOptions(to, Activation::TANH, 0, 0, LSTMKernelType::BASIC);
       })},
      {"SequenceLstm",
       TfliteOp::UNIDIRECTIONAL_SEQUENCE_LSTM,
       lstm_inputs({{1, 2, 1}, {1, 2}}, 0),
       {{{1, 2, 1}, half_open_outputs()}},
       with([](auto& to) {
         return schema::CreateUnidirectionalSequenceLSTMOptions(to, Activation::TANH);
       })},
      {"SequenceLstmOfAllGates",
       TfliteOp::UNIDIRECTIONAL_SEQUENCE_LSTM,
       lstm_of_all_gates({{1, 3, 1}, {1, -2, 0.5F}}),
       {{{1, 3, 1}, outputs_of_all_gates({1, -2, 0.5F}, 9)}},
       with([](auto& to) {
         return schema::CreateUnidirectionalSequenceLSTMOptions(to, Activation::TANH);
       })},
      {"SequenceLstmByTime",
       TfliteOp::UNIDIRECTIONAL_SEQUENCE_LSTM,
       lstm_of_all_gates({{3, 1, 1}, {1, -2, 0.5F}}),
       {{{3, 1, 1}, outputs_of_all_gates({1, -2, 0.5F}, 9)}},
       with([](auto& to) {
         return schema::CreateUnidirectionalSequenceLSTMOptions(to, Activation::TANH, 0, 0, true);
       })},
      {"SequenceLstmWithALimit",
       TfliteOp::UNIDIRECTIONAL_SEQUENCE_LSTM,
       lstm_of_all_gates({{1, 3, 1}, {1, -2, 0.5F}}),
       {{{1, 3, 1}, outputs_of_all_gates({1, -2, 0.5F}, 0.3F)}},
       with([](auto& to) {
         return schema::CreateUnidirectionalSequenceLSTMOptions(to, Activation::TANH, 0.3F);
       })},
      {"CoupledSequenceLstm",
       TfliteOp::UNIDIRECTIONAL_SEQUENCE_LSTM,
       coupled_inputs(),
       {{{2, 1, 1}, {limited, limited}}},
       with([](auto& to) {
         return schema::CreateUnidirectionalSequenceLSTMOptions(to, Activation::TANH, 0.375F, 0,
                                                                true);
       })},
  };
}

/// h = relu(x + 2 h + 1)
std::vector<TestTensor> rnn_inputs(TestTensor x) {
  return {std::move(x), one(1), one(2), bias(1), variable({1, 1})};
}

RuleCase both_directions(const std::string& name, bool merged, std::vector<TestTensor> outputs) {
  auto inputs = rnn_inputs({{1, 3, 1}, {1, 2, 3}});
  const auto back = rnn_inputs({});
  inputs.insert(inputs.end(), back.begin() + 1, back.end());
  inputs.insert(inputs.end(), 3, missing());
  return {name, TfliteOp::BIDIRECTIONAL_SEQUENCE_RNN, std::move(inputs), std::move(outputs),
          with([=](auto& to) {
            return schema::CreateBidirectionalSequenceRNNOptions(to, false, Activation::RELU,
                                                                 merged);
          })};
}

std::vector<RuleCase> rnn_cases() {
  return {
      {"Rnn", TfliteOp::RNN, rnn_inputs({{1, 1}, {4}}), {{{1, 1}, {5}}}, with([](auto& to) {
         return schema::CreateRNNOptions(to, Activation::RELU);
       })},
      {"SequenceRnn",
       TfliteOp::UNIDIRECTIONAL_SEQUENCE_RNN,
       rnn_inputs({{3, 1, 1}, {1, 2, 3}}),
       {{{3, 1, 1}, {2, 7, 18}}},
       with([](auto& to) { return schema::CreateSequenceRNNOptions(to, true, Activation::RELU); })},
      both_directions("BothDirections", false, {{{1, 3, 1}, {2, 7, 18}}, {{1, 3, 1}, {24, 11, 4}}}),
      both_directions("BothDirectionsMerged", true, {{{1, 3, 2}, {2, 24, 7, 11, 18, 4}}}),
      {"Svdf",
       TfliteOp::SVDF,
       {{{1, 2}, {1, 2}},
        constant({4, 2}, {1, 0, 0, 1, 1, 1, 0, 0}),
        constant({4, 2}, {9, 1, 9, 2, 9, 3, 9, 4}),
        constant({2}, {100, 200}),
        variable({1, 8})},
       {{{1, 2}, {105, 209}}},
       with([](auto& to) { return schema::CreateSVDFOptions(to, 2); })},
  };
}

class TfliteRecurrentRule : public testing::TestWithParam<RuleCase> {};
TEST_P(TfliteRecurrentRule, GivesItsNumbers) { expect_numbers(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lstm, TfliteRecurrentRule, testing::ValuesIn(lstm_cases()), name_of_rule);
INSTANTIATE_TEST_SUITE_P(Rnn, TfliteRecurrentRule, testing::ValuesIn(rnn_cases()), name_of_rule);

}  // namespace
}  // namespace parallax::tflite_rule
