#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/attention/attention_test_util.h"
#include "kernels/cpu/bf16_test_util.h"

namespace parallax {
namespace {

KernelRun attention(std::int64_t queries, std::int64_t keys, std::int64_t depth, std::int64_t width,
                    const Dims& mask = {}) {
  KernelRun run{OpKind::kFusedAttention, {}, test_attributes({{"scale", 0.125F}})};
  run.inputs = test_inputs(random_floats({2, 3, queries, depth}, 1, -1, 1),
                           random_floats({2, 3, depth, keys}, 2, -1, 1),
                           random_floats({2, 3, keys, width}, 3, -1, 1));
  if (mask.rank() > 0) run.inputs.emplace_back(random_floats(mask, 4, -3, 3));
  return run;
}

void expect_near_reference(const KernelRun& run) {
  const auto got = run_in_bf16(run);
  const auto want = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  ASSERT_TRUE(want.has_value());
  // Weights and values are off by a relative 2^-9, scores by less than 2^-7.
  expect_close(got->outputs[0], (*want)[0], {1e-2, 1e-2});
}

TEST(Bf16Attention, SizesThatFillNoBlock) {
  PX_NEEDS_BF16();
  for (const std::int64_t queries : {13, 24, 55})
    for (const std::int64_t keys : {1, 63, 257, 513})
      for (const std::int64_t width : {1, 64, 90}) {
        SCOPED_TRACE(std::to_string(queries) + " " + std::to_string(keys));
        expect_near_reference(attention(queries, keys, 33, width));
      }
}

TEST(Bf16Attention, Masks) {
  PX_NEEDS_BF16();
  for (const Dims& mask : {Dims{300}, Dims{1, 3, 50, 300}, Dims{2, 1, 1, 300}})
    expect_near_reference(attention(50, 300, 64, 64, mask));
}

TEST(Bf16Attention, FillsWhatIsChosen) {
  PX_NEEDS_BF16();
  for (const Dims& choice : {Dims{301}, Dims{1, 3, 50, 301}}) {
    for (const std::int64_t form : {0, 1, 2, 3}) {
      KernelRun run = attention(50, 301, 64, 64, {2, 1, 50, 301});
      run.inputs.emplace_back(random_bools(choice, 5));
      run.attributes.set("fill", -1e9F);
      run.attributes.set("fill_where", form % 2);
      run.attributes.set("fill_last", form / 2);
      expect_near_reference(run);
    }
  }
}

TEST(Bf16Attention, WeightsThatAreNoNumbersCountAsZero) {
  PX_NEEDS_BF16();
  KernelRun run = attention(20, 300, 16, 20);
  run.attributes.set("nan_is_zero", std::int64_t{1});
  std::vector<float> mask(20 * 300, 0.0F);
  std::fill_n(mask.begin() + 600, 600, -std::numeric_limits<float>::infinity());
  run.inputs.emplace_back(test_tensor<float>({20, 300}, mask));
  expect_near_reference(run);
}

TEST(Bf16Attention, KeysInRows) {
  PX_NEEDS_BF16();
  for (const std::int64_t keys : {1, 193, 511}) {
    KernelRun run = attention(30, keys, 33, 20);
    run.inputs[1] = random_floats({2, 3, keys, 33}, 2, -1, 1);
    run.attributes.set("k_perm", std::vector<std::int64_t>{0, 1, 3, 2});
    expect_near_reference(run);
  }
}

TEST(Bf16Attention, MaskedKeysDoNotCount) {
  PX_NEEDS_BF16();
  constexpr float kNo = -std::numeric_limits<float>::infinity();
  // All of the first and of the last block of keys are masked.
  for (const float never : {kNo, std::numeric_limits<float>::lowest()}) {
    KernelRun run = attention(20, 500, 16, 20);
    std::vector<float> mask(500, never);
    mask[200] = mask[301] = 0;
    run.inputs.emplace_back(test_tensor<float>({500}, mask));
    expect_near_reference(run);
  }
}

/// Rows for padding are masked completely; softmax then gives all keys the same weight.
TEST(Bf16Attention, AllKeysMaskedByTheLowestCountTheSame) {
  PX_NEEDS_BF16();
  for (const std::int64_t keys : {1, 2, 3, 193}) {
    KernelRun run = attention(20, keys, 16, 20);
    const std::vector<float> mask(static_cast<std::size_t>(keys),
                                  std::numeric_limits<float>::lowest());
    run.inputs.emplace_back(test_tensor<float>({keys}, mask));
    expect_near_reference(run);
  }
}

TEST(Bf16Attention, LargeScores) {
  PX_NEEDS_BF16();
  KernelRun run = attention(20, 300, 8, 8);
  run.attributes.set("scale", 300.0F);
  const auto got = run_in_bf16(run);
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  // Weights that add up to 1 keep the range of V.
  for (const float y : test_values<float>(got->outputs[0])) EXPECT_LE(std::abs(y), 1.01F);
}

TEST(Bf16Attention, NanStays) {
  PX_NEEDS_BF16();
  KernelRun run = attention(20, 300, 8, 8);
  std::vector<float> q = test_values<float>(*run.inputs[0]);
  q[3] = std::numeric_limits<float>::quiet_NaN();
  run.inputs[0] = test_tensor<float>(run.inputs[0]->dims(), q);
  const auto got = run_in_bf16(run);
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  const std::vector<float> y = test_values<float>(got->outputs[0]);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(y[i]), i < 8) << i;
}

TEST(Bf16Attention, ManyKeysArePackedBlockByBlock) {
  PX_NEEDS_BF16();
  const KernelRun run = attention(14, 9000, 32, 32);
  expect_near_reference(run);
}

TEST(Bf16Attention, LongRunsOfQueriesAreCut) {
  PX_NEEDS_BF16();
  const auto got = run_in_bf16(attention(700, 700, 64, 64));
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  EXPECT_GE(got->tiles, 12);
}

}  // namespace
}  // namespace parallax
