#include <gtest/gtest.h>

#include "kernels/cpu/bf16_test_util.h"

namespace parallax {
namespace {

struct CosineSizes {
  std::int64_t batches, queries, keys, heads, depth, width;
  std::int64_t masks = 0;
  bool biased = false;
};

void PrintTo(const CosineSizes& s, std::ostream* out) {
  *out << s.batches << " x " << s.queries << " x " << s.keys << ", " << s.heads << " heads";
}

KernelRun cosine_attention(const CosineSizes& s, float epsilon = 1e-6F) {
  KernelRun run{OpKind::kCosineAttention,
                test_inputs(random_floats({s.batches, s.queries, s.heads, s.depth}, 1),
                            random_floats({s.batches, s.keys, s.heads, s.depth}, 2),
                            random_floats({s.batches, s.keys, s.heads, s.width}, 3),
                            random_floats({s.heads}, 4, 0.5F, 20)),
                test_attributes({{"epsilon", epsilon}})};
  if (s.biased || s.masks > 0) run.inputs.emplace_back();
  if (s.biased) run.inputs[4] = random_floats({s.heads, s.queries, s.keys}, 5, -2, 2);
  if (s.masks > 0) run.inputs.emplace_back(random_floats({s.masks, s.queries, s.keys}, 6, -9, 9));
  return run;
}

class CpuCosineAttention : public testing::TestWithParam<CosineSizes> {};

TEST_P(CpuCosineAttention, AgreesWithReference) {
  expect_same_as_reference(cosine_attention(GetParam()), {1e-5, 1e-5});
}

TEST_P(CpuCosineAttention, InBf16IsNearTheReference) {
  PX_NEEDS_BF16();
  const KernelRun run = cosine_attention(GetParam());
  const auto got = run_in_bf16(run);
  const auto want = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  ASSERT_TRUE(want.has_value());
  // Cosines times up to 20 are off by up to 20 * 2^-8, so weights by up to a tenth of themselves.
  expect_close(got->outputs[0], (*want)[0], {0.1F, 0.1F});
}

INSTANTIATE_TEST_SUITE_P(Table, CpuCosineAttention,
                         testing::Values(CosineSizes{1, 1, 1, 1, 1, 1},
                                         CosineSizes{4, 49, 49, 3, 32, 32},
                                         CosineSizes{4, 49, 49, 3, 32, 32, 4, true},
                                         CosineSizes{6, 49, 49, 2, 32, 32, 2, false},
                                         CosineSizes{2, 64, 64, 2, 24, 40, 1, true},
                                         CosineSizes{3, 7, 70, 5, 3, 17, 3, true},
                                         CosineSizes{1, 256, 256, 2, 32, 32, 0, true},
                                         CosineSizes{2, 5, 3, 2, 8, 0, 1, true},
                                         CosineSizes{0, 5, 3, 2, 8, 4, 1, true}));

TEST(CosineAttention, ShortVectorsAreDividedByEpsilon) {
  // Lengths 1e-3 against an epsilon of 1: cosines near 0, so that weights are nearly equal.
  KernelRun run{OpKind::kCosineAttention,
                test_inputs(test_tensor<float>({1, 1, 1, 1}, {1e-3F}),
                            test_tensor<float>({1, 2, 1, 1}, {1e-3F, -1e-3F}),
                            test_tensor<float>({1, 2, 1, 1}, {1, 3}), test_tensor<float>({1}, {1})),
                test_attributes({{"epsilon", 1.0F}})};
  for (const KernelLibrary library : {KernelLibrary::kReference, KernelLibrary::kCpu}) {
    const auto y = run_kernel(run, library);
    ASSERT_TRUE(y.has_value()) << y.error().to_string();
    EXPECT_NEAR(test_values<float>(y->at(0))[0], 2.0F, 1e-4F);
  }
}

TEST(CosineAttention, IsSoftmaxOfCosines) {
  // cos 0 and 90 degrees times ln 3: weights 3/4 and 1/4 before bias, 1/2 each with it.
  const float ln3 = std::log(3.0F);
  KernelRun run{
      OpKind::kCosineAttention,
      test_inputs(test_tensor<float>({1, 1, 1, 2}, {5, 0}),
                  test_tensor<float>({1, 2, 1, 2}, {2, 0, 0, 7}),
                  test_tensor<float>({1, 2, 1, 1}, {4, 8}), test_tensor<float>({1}, {ln3})),
      {}};
  const auto plain = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(plain.has_value()) << plain.error().to_string();
  EXPECT_NEAR(test_values<float>(plain->at(0))[0], 5.0F, 1e-5F);
  run.inputs.emplace_back(test_tensor<float>({1, 1, 2}, {0, ln3 / 2}));
  run.inputs.emplace_back(test_tensor<float>({1, 1, 2}, {-ln3 / 2, 0}));
  const auto moved = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(moved.has_value()) << moved.error().to_string();
  EXPECT_NEAR(test_values<float>(moved->at(0))[0], 6.0F, 1e-5F);
}

TEST(CosineAttention, LeavesToReferenceWhatItDoesNotCover) {
  EXPECT_TRUE(cpu_declines(cosine_attention({2, 4, 0, 2, 3, 3})));
  EXPECT_TRUE(cpu_declines(cosine_attention({2, 4, 3, 2, 0, 3})));
}

}  // namespace
}  // namespace parallax
