#include "kernels/cpu/gemm/bf16_block.h"

#include <gtest/gtest.h>

#include "kernels/cpu/bf16_test_util.h"

namespace parallax {
namespace {

constexpr Tolerance kSums{1e-4, 1e-4};

TEST(Bf16Block, ProductsOfTensorsThatAreComputedWhileRunning) {
  PX_NEEDS_BF16();
  struct Case {
    Dims a, b;
  };
  for (const auto& [a, b] :
       {Case{{13, 7}, {7, 64}}, Case{{20, 7}, {7, 65}}, Case{{2, 3, 49, 32}, {2, 3, 32, 49}},
        Case{{2, 3, 49, 49}, {2, 3, 49, 33}}, Case{{1, 2, 300, 64}, {1, 2, 64, 301}},
        Case{{1, 2, 150, 601}, {1, 2, 601, 64}}, Case{{3, 14, 1}, {3, 1, 14}}}) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    KernelRun run{OpKind::kMatMul,
                  test_inputs(random_floats(a, 1, -1, 1), random_floats(b, 2, -1, 1))};
    expect_bf16_products(run, kSums);
    run.inputs.emplace_back(random_floats({b[b.rank() - 1]}, 3));
    run.epilogue = then("Gelu");
    expect_bf16_products(run, kSums);
  }
}

TEST(Bf16Block, FewRowsStayF32) {
  PX_NEEDS_BF16();
  const KernelRun run{OpKind::kMatMul, test_inputs(random_floats({2, 3, 40}, 1, -1, 1),
                                                   random_floats({2, 40, 5}, 2, -1, 1))};
  const auto got = run_in_bf16(run);
  const auto want = run_kernel(run, KernelLibrary::kCpu);
  ASSERT_TRUE(got && want);
  expect_close(got->outputs[0], (*want)[0], {});
}

TEST(Bf16Block, AttentionIsNearTheReference) {
  PX_NEEDS_BF16();
  using Ints = std::vector<std::int64_t>;
  for (const bool transposed : {false, true}) {
    for (const std::int64_t queries : {1, 40, 300}) {
      for (const std::int64_t keys : {1, 17, 600}) {
        SCOPED_TRACE(std::to_string(queries) + " " + std::to_string(keys));
        KernelRun run{OpKind::kFusedAttention, {}, test_attributes({{"scale", 0.125F}})};
        if (transposed) {
          run.inputs = test_inputs(random_floats({2, queries, 3, 64}, 1, -1, 1),
                                   random_floats({2, keys, 3, 64}, 2, -1, 1),
                                   random_floats({2, keys, 3, 21}, 3, -1, 1));
          run.attributes.set("q_perm", Ints{0, 2, 1, 3});
          run.attributes.set("k_perm", Ints{0, 2, 3, 1});
          run.attributes.set("v_perm", Ints{0, 2, 1, 3});
        } else {
          run.inputs = test_inputs(random_floats({6, queries, 64}, 1, -1, 1),
                                   random_floats({6, 64, keys}, 2, -1, 1),
                                   random_floats({6, keys, 21}, 3, -1, 1));
        }
        const auto got = run_in_bf16(run);
        const auto want = run_kernel(run, KernelLibrary::kReference);
        ASSERT_TRUE(got.has_value()) << got.error().to_string();
        ASSERT_TRUE(want.has_value());
        // Scores are off by up to some 64 * 2^-8 / 8 / 4, weights and values by 2^-9 of themselves.
        expect_close(got->outputs[0], (*want)[0], {1e-2, 1e-2});
      }
    }
  }
}

}  // namespace
}  // namespace parallax
