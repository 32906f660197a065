// Attention as models have it, RotaryEmbedding, LinearAttention and CausalConvWithState.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using Tensors = std::vector<std::optional<Tensor>>;

Tensor heads(std::int64_t count, std::int64_t length, const Floats& elements) {
  return test_tensor<float>({1, count, length, 1}, elements);
}

/// Queries of zeros weigh all keys that they see alike; values tell which these are.
Floats seen(std::int64_t queries, std::int64_t keys, Attributes attributes = {},
            Tensors further = {}) {
  Floats values;
  for (std::int64_t j = 0; j < keys; ++j) values.push_back(std::pow(10.0F, static_cast<float>(j)));
  Tensors inputs = test_inputs(heads(1, queries, Floats(static_cast<std::size_t>(queries), 0)),
                               heads(1, keys, Floats(static_cast<std::size_t>(keys), 1)),
                               heads(1, keys, values));
  for (auto& input : further) inputs.push_back(std::move(input));
  return run_one<float>(OpKind::kAttention, std::move(inputs), std::move(attributes));
}
Attributes attention(std::initializer_list<std::pair<std::string, AttributeValue>> named) {
  return test_attributes(named);
}

TEST(ReferenceScaledAttention, MasksCausalityAndWindows) {
  expect_near(seen(1, 2), {5.5F});
  expect_near(seen(2, 2, attention({{"is_causal", std::int64_t{1}}})), {1, 5.5F});
  expect_near(seen(3, 3,
                   attention({{"left_window_size", std::int64_t{1}},
                              {"right_window_size", std::int64_t{0}}})),
              {1, 5.5F, 55});
  // A mask that is too short hides the last key; a row that sees nothing gives zeros.
  expect_near(seen(2, 3, {}, test_inputs(test_tensor<bool>({2, 2}, {true, true, false, false}))),
              {5.5F, 0});
  expect_near(seen(1, 2, {}, test_inputs(test_tensor<float>({1, 2}, {std::log(3.0F), 0}))),
              {3.25F});
}

TEST(ReferenceScaledAttention, LengthsOfSequences) {
  const auto with_length = [](std::int64_t length, Attributes attributes = {}) {
    return seen(2, 3, std::move(attributes),
                test_inputs(std::nullopt, std::nullopt, std::nullopt, ints({length})));
  };
  expect_near(with_length(2), {5.5F, 5.5F});
  // The last query stands at the last key.
  expect_near(with_length(3, attention({{"is_causal", std::int64_t{1}}})), {5.5F, 37});
  expect_near(with_length(1, attention({{"is_causal", std::int64_t{1}}})), {0, 1});
}

TEST(ReferenceScaledAttention, RefusesLengthsThatAreNone) {
  for (const std::int64_t length :
       {std::int64_t{-1}, std::int64_t{3}, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(error_of(OpKind::kAttention,
                       test_inputs(heads(1, 1, {0}), heads(1, 2, {1, 1}), heads(1, 2, {1, 2}),
                                   std::nullopt, std::nullopt, std::nullopt, ints({length})))
                  .code,
              ErrorCode::kInvalidInput);
  }
}

TEST(ReferenceScaledAttention, CachesAndScores) {
  const auto run = [](std::int64_t mode, std::size_t output) {
    return run_one<float>(
        OpKind::kAttention,
        test_inputs(heads(2, 1, {1, 2}), heads(1, 1, {3}), heads(1, 1, {7}), std::nullopt,
                    heads(1, 1, {1}), heads(1, 1, {5})),
        attention({{"qk_matmul_output_mode", mode}, {"softcap", 2.0F}, {"scale", 1.0F}}), 4,
        output);
  };
  expect_near(run(0, 1), {1, 3});
  expect_near(run(0, 2), {5, 7});
  expect_near(run(0, 3), {1, 3, 2, 6});
  const auto capped = [](float x) { return 2 * std::tanh(x / 2); };
  expect_near(run(1, 3), {capped(1), capped(3), capped(2), capped(6)});
  const float first = 1 / (1 + std::exp(capped(3) - capped(1)));
  expect_near({run(3, 3)[0]}, {first});
  expect_near({run(0, 0)[0]}, {5 * first + 7 * (1 - first)});
}

TEST(ReferenceScaledAttention, PackedHeadsAndEmpty) {
  // Two heads side by side, each its own softmax.
  const auto y = run_one<float>(
      OpKind::kAttention,
      test_inputs(test_tensor<float>({1, 1, 2}, {0, 0}),
                  test_tensor<float>({1, 2, 2}, {0, 0, 0, 0}),
                  test_tensor<float>({1, 2, 2}, {1, 10, 3, 30})),
      attention({{"q_num_heads", std::int64_t{2}}, {"kv_num_heads", std::int64_t{2}}}));
  expect_near(y, {2, 20});
  expect_near(seen(2, 0), {0, 0});
  EXPECT_TRUE(seen(0, 2).empty());
}

TEST(ReferenceRotaryEmbedding, TurnsPairs) {
  const auto run = [](Attributes attributes, Tensor x, std::vector<std::int64_t> positions) {
    return run_one<float>(
        OpKind::kRotaryEmbedding,
        test_inputs(
            std::move(x), test_tensor<float>({2, 1}, {1, 0}), test_tensor<float>({2, 1}, {0, 1}),
            test_tensor<std::int64_t>({1, static_cast<std::int64_t>(positions.size())}, positions)),
        std::move(attributes));
  };
  const auto x = [] { return test_tensor<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}); };
  const auto two = [](std::int64_t interleaved) {
    return test_attributes(
        {{"rotary_embedding_dim", std::int64_t{2}}, {"interleaved", interleaved}});
  };
  expect_near(run(two(0), x(), {0, 1}), {1, 2, 3, -5, 4, 6});
  expect_near(run(two(1), x(), {-1, 0}), {-2, 1, 3, 4, 5, 6});
  const KernelRun out{
      OpKind::kRotaryEmbedding,
      test_inputs(x(), test_tensor<float>({1, 1}, {1}), test_tensor<float>({1, 1}, {1}),
                  test_tensor<std::int64_t>({1, 2}, {0, 1})),
      two(0)};
  EXPECT_FALSE(run_kernel(out, KernelLibrary::kReference).has_value());
}

TEST(ReferenceLinearAttention, RulesCarryAState) {
  const auto run = [](const char* rule, Tensors further, std::size_t output) {
    Tensors inputs =
        test_inputs(test_tensor<float>({1, 2, 1}, {1, 2}), test_tensor<float>({1, 2, 1}, {1, 1}),
                    test_tensor<float>({1, 2, 1}, {3, 4}));
    for (auto& input : further) inputs.push_back(std::move(input));
    return run_one<float>(OpKind::kLinearAttention, std::move(inputs),
                          test_attributes({{"q_num_heads", std::int64_t{1}},
                                           {"kv_num_heads", std::int64_t{1}},
                                           {"update_rule", std::string(rule)}}),
                          2, output);
  };
  const auto rates = [](float value) { return test_tensor<float>({1, 2, 1}, {value, value}); };
  expect_near(run("linear", {}, 0), {3, 14});
  expect_near(run("linear", test_inputs(heads(1, 1, {10})), 1), {17});
  expect_near(run("gated", test_inputs(std::nullopt, rates(std::log(0.5F))), 0), {3, 11});
  expect_near(run("delta", test_inputs(std::nullopt, std::nullopt, rates(0.5F)), 0), {1.5F, 5.5F});
}

TEST(ReferenceCausalConv, FiltersWhatCameBefore) {
  const auto run = [](Tensors further, std::size_t output, const char* activation = "none") {
    Tensors inputs = test_inputs(test_tensor<float>({1, 1, 2}, {1, 2}),
                                 test_tensor<float>({1, 1, 3}, {100, 10, 1}));
    for (auto& input : further) inputs.push_back(std::move(input));
    return run_one<float>(OpKind::kCausalConvWithState, std::move(inputs),
                          test_attributes({{"activation", std::string(activation)}}), 2, output);
  };
  const auto state = [] {
    return test_inputs(row<float>({0.5F}), test_tensor<float>({1, 1, 2}, {3, 4}));
  };
  expect_near(run({}, 0), {1, 12});
  expect_near(run(state(), 0), {341.5F, 412.5F});
  expect_near(run(state(), 1), {1, 2});
  expect_near(run({}, 0, "swish"), {1 / (1 + std::exp(-1.0F)), 12 / (1 + std::exp(-12.0F))});
}

}  // namespace
}  // namespace parallax
