// LSTM, GRU and RNN by hand: a state of one element.
#include <cmath>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

float logistic(float x) { return 1 / (1 + std::exp(-x)); }

Tensor cube(Dims dims, std::vector<float> elements) { return test_tensor<float>(dims, elements); }

TEST(ReferenceRecurrent, RnnInBothDirections) {
  // Two steps of one sequence; the directions have different weights, the second a bias.
  const auto inputs = [] {
    return test_inputs(cube({2, 1, 1}, {1, 2}), cube({2, 1, 1}, {1, 2}), cube({2, 1, 1}, {10, 100}),
                       cube({2, 2}, {0, 0, 1, 2}));
  };
  const Attributes both =
      test_attributes({{"direction", std::string("bidirectional")},
                       {"activations", std::vector<std::string>{"Relu", "relu"}}});
  expect_near(run_one<float>(OpKind::kRNN, inputs(), both, 2, 0), {1, 705, 12, 7});
  expect_near(run_one<float>(OpKind::kRNN, inputs(), both, 2, 1), {12, 705});
}

TEST(ReferenceRecurrent, LayoutLengthsAndInitialStates) {
  // Two sequences, of which the second has one step.
  const auto inputs = [] {
    return test_inputs(cube({2, 2, 1}, {1, 2, 3, 4}), cube({1, 1, 1}, {1}), cube({1, 1, 1}, {10}),
                       std::nullopt, row<std::int32_t>({2, 1}), cube({2, 1, 1}, {1, 2}));
  };
  Attributes attributes = test_attributes(
      {{"layout", std::int64_t{1}}, {"activations", std::vector<std::string>{"Affine"}}});
  expect_near(run_one<float>(OpKind::kRNN, inputs(), attributes, 2, 0), {11, 112, 23, 0});
  expect_near(run_one<float>(OpKind::kRNN, inputs(), attributes, 2, 1), {112, 23});
  attributes.set("direction", std::string("reverse"));
  expect_near(run_one<float>(OpKind::kRNN, inputs(), attributes, 2, 0), {121, 12, 23, 0});
  attributes.set("clip", 20.0F);
  expect_near(run_one<float>(OpKind::kRNN, inputs(), attributes, 2, 1), {20, 20});
}

TEST(ReferenceRecurrent, Lstm) {
  // iofc: gates of x alone, then all that is optional.
  const auto inputs = [](bool all) {
    auto list = test_inputs(cube({1, 1, 1}, {1}), cube({1, 4, 1}, {1, 2, 3, 4}),
                            cube({1, 4, 1}, {0, 0, 0, 0}));
    if (!all) return list;
    list.resize(5);
    list.emplace_back(cube({1, 1, 1}, {0.5F}));
    list.emplace_back(cube({1, 1, 1}, {2}));
    list.emplace_back(cube({1, 3}, {0.1F, 0.2F, 0.3F}));
    return list;
  };
  const auto run = [&](bool all, std::size_t output, Attributes attributes = {}) {
    return run_one<float>(OpKind::kLSTM, inputs(all), std::move(attributes), 3, output);
  };
  const float c = logistic(1) * std::tanh(4.0F);
  expect_near(run(false, 0), {logistic(2) * std::tanh(c)});
  expect_near(run(false, 2), {c});
  const float in = logistic(1 + 0.1F * 2);
  const float cell = logistic(3 + 0.3F * 2) * 2 + in * std::tanh(4.0F);
  expect_near(run(true, 2), {cell});
  expect_near(run(true, 1), {logistic(2 + 0.2F * cell) * std::tanh(cell)});
  expect_near(run(true, 2, test_attributes({{"input_forget", std::int64_t{1}}})),
              {(1 - in) * 2 + in * std::tanh(4.0F)});
}

TEST(ReferenceRecurrent, GruBeforeAndBehindTheReset) {
  // zrh; biases of x, then of the state.
  const auto inputs = [] {
    return test_inputs(cube({1, 1, 1}, {1}), cube({1, 3, 1}, {1, 2, 3}), cube({1, 3, 1}, {0, 0, 4}),
                       cube({1, 6}, {0, 0, 0.25F, 0, 0, 0.5F}), std::nullopt,
                       cube({1, 1, 1}, {0.1F}));
  };
  const float z = logistic(1), reset = logistic(2);
  const auto state = [&](float candidate) {
    return Floats{(1 - z) * std::tanh(candidate) + z * 0.1F};
  };
  expect_near(run_one<float>(OpKind::kGRU, inputs(), {}, 2, 1),
              state(3 + 0.75F + reset * 0.1F * 4));
  expect_near(run_one<float>(OpKind::kGRU, inputs(),
                             test_attributes({{"linear_before_reset", std::int64_t{1}}}), 2, 1),
              state(3 + 0.25F + reset * (0.1F * 4 + 0.5F)));
}

TEST(ReferenceRecurrent, EveryActivation) {
  const auto rnn = [](const char* name, float x, std::vector<float> alpha = {},
                      std::vector<float> beta = {}) {
    return run_one<float>(
        OpKind::kRNN, test_inputs(cube({1, 1, 1}, {x}), cube({1, 1, 1}, {1}), cube({1, 1, 1}, {0})),
        test_attributes({{"activations", std::vector<std::string>{name}},
                         {"activation_alpha", alpha},
                         {"activation_beta", beta}}))[0];
  };
  EXPECT_FLOAT_EQ(rnn("Affine", 3, {2}, {1}), 7);
  EXPECT_FLOAT_EQ(rnn("Elu", -1, {2}), 2 * std::expm1(-1.0F));
  EXPECT_FLOAT_EQ(rnn("HardSigmoid", 1), 0.7F);
  EXPECT_FLOAT_EQ(rnn("LeakyRelu", -1), -0.01F);
  EXPECT_FLOAT_EQ(rnn("Relu", -1), 0);
  EXPECT_FLOAT_EQ(rnn("ScaledTanh", 1, {2}, {3}), 2 * std::tanh(3.0F));
  EXPECT_FLOAT_EQ(rnn("Sigmoid", 1), logistic(1));
  EXPECT_FLOAT_EQ(rnn("Softplus", 1), std::log1p(std::exp(1.0F)));
  EXPECT_FLOAT_EQ(rnn("Softsign", -1), -0.5F);
  EXPECT_FLOAT_EQ(rnn("Tanh", 1), std::tanh(1.0F));
  EXPECT_FLOAT_EQ(rnn("ThresholdedRelu", 0.9F), 0);
}

TEST(ReferenceRecurrent, EmptyAndHostile) {
  const auto rnn = [](Dims x, std::int64_t hidden, std::vector<std::int32_t> lengths) {
    const std::int64_t in = x[2], batch = x[1];
    return KernelRun{
        OpKind::kRNN,
        test_inputs(
            test_tensor<float>(x, std::vector<float>(static_cast<std::size_t>(x.elements()), 1)),
            test_tensor<float>({1, hidden, in},
                               std::vector<float>(static_cast<std::size_t>(hidden * in), 1)),
            test_tensor<float>({1, hidden, hidden},
                               std::vector<float>(static_cast<std::size_t>(hidden * hidden), 1)),
            std::nullopt, row(lengths),
            test_tensor<float>({1, batch, hidden},
                               std::vector<float>(static_cast<std::size_t>(batch * hidden), 3))),
        {},
        2};
  };
  const auto none = run_kernel(rnn({0, 1, 1}, 1, {0}), KernelLibrary::kReference);
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(test_values<float>(none->at(1)), Floats{3});  // no step changes the state
  for (const auto& [x, hidden] :
       {std::pair(Dims{2, 0, 1}, 2), {Dims{2, 1, 0}, 2}, {Dims{2, 1, 1}, 0}})
    EXPECT_TRUE(
        run_kernel(rnn(x, hidden, std::vector<std::int32_t>(static_cast<std::size_t>(x[1]), 2)),
                   KernelLibrary::kReference)
            .has_value());
  for (const std::int32_t length : {-1, 3, std::numeric_limits<std::int32_t>::min()})
    EXPECT_FALSE(run_kernel(rnn({2, 1, 1}, 1, {length}), KernelLibrary::kReference).has_value());
}

}  // namespace
}  // namespace parallax
