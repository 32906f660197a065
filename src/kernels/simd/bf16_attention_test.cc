#include <gtest/gtest.h>

#include "kernels/simd/bf16_test_util.h"

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
  // Weights and values are off by 2^-9 of themselves, scores by less than 2^-7.
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
