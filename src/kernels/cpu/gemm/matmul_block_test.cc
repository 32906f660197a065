#include "kernels/cpu/gemm/matmul_block.h"

#include <gtest/gtest.h>

#include "kernels/cpu/gemm/gemm_test_util.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

constexpr Tolerance kSums{1e-4, 1e-4};

class MatMulBlocks : public GemmTypes {};
PX_FOR_GEMM_TYPES(MatMulBlocks);

// Enough rows for every type, depths of several blocks and odd depths.
TEST_P(MatMulBlocks, OfTensorsThatAreComputedWhileRunning) {
  struct Case {
    Dims a, b;
  };
  for (const auto& [a, b] :
       {Case{{13, 7}, {7, 64}}, Case{{20, 7}, {7, 65}}, Case{{2, 3, 49, 32}, {2, 3, 32, 49}},
        Case{{2, 3, 49, 49}, {2, 3, 49, 33}}, Case{{1, 2, 300, 64}, {1, 2, 64, 301}},
        Case{{1, 2, 150, 601}, {1, 2, 601, 64}}, Case{{14, 1025}, {1025, 130}},
        Case{{14, 511}, {511, 130}}, Case{{20, 1023}, {1023, 130}}, Case{{3, 14, 1}, {3, 1, 14}}}) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    KernelRun run = matmul_run(a, b);
    expect_products(GetParam(), run, kSums);
    run.inputs.emplace_back(random_floats({b[b.rank() - 1]}, 3));
    for (const char* activation : {"Relu", "Gelu"}) {
      run.epilogue = then(activation);
      expect_products(GetParam(), run, kSums);
    }
  }
}

TEST_P(MatMulBlocks, OfATransposedOperand) {
  for (const std::int64_t depth : {1, 33, 511, 601}) {
    SCOPED_TRACE(depth);
    KernelRun run = matmul_run({2, 40, depth}, {2, 70, depth});
    run.attributes = test_attributes({{"b_perm", std::vector<std::int64_t>{0, 2, 1}}});
    expect_products(GetParam(), run, kSums);
  }
}

// Multiplies panels that the caller packs itself, as attention does.
TEST_P(MatMulBlocks, PackedPanels) {
  const GemmType& type = gemm_type(GetParam().precision);
  for (const bool transposed : {false, true}) {
    for (const std::int64_t depth : {1, 6, 33}) {
      for (const std::int64_t columns : {1, 16, 70}) {
        SCOPED_TRACE(std::to_string(depth) + " " + std::to_string(columns));
        constexpr std::int64_t kRows = 5;
        const Dims b_dims = transposed ? Dims{columns, depth} : Dims{depth, columns};
        KernelRun run = matmul_run({kRows, depth}, b_dims);
        if (transposed)
          run.attributes = test_attributes({{"b_perm", std::vector<std::int64_t>{1, 0}}});
        std::vector<float> a = test_values<float>(*run.inputs[0]);
        std::vector<float> b = test_values<float>(*run.inputs[1]);
        const auto bytes = [](std::int64_t steps) {
          return std::move(AlignedBytes::allocate(steps * kStepBytes)).value();
        };
        const std::int64_t steps = type.steps(depth);
        const AlignedBytes packed = bytes(steps * (columns + 64)), rows = bytes(kRows * steps);
        pack_panels(type, {b.data(), b_dims[1], transposed, depth, columns}, b.data(),
                    packed.data());
        const void* left = a.data();
        if (type.converts()) {
          type.convert_rows(a.data(), to_size(depth), to_size(kRows), to_size(depth), rows.data(),
                            to_size(steps));
          left = rows.data();
        }
        Tensor c = test_tensor<float>({kRows, columns}, std::vector<float>(kRows * columns));
        multiply_panels(type, {left, steps, packed.data(), c.mutable_view().bytes.data(), columns,
                               kRows, columns});
        const auto want = GetParam().want(run);
        ASSERT_TRUE(want.has_value()) << want.error().to_string();
        expect_close(c, (*want)[0], kSums);
      }
    }
  }
}

TEST(MatMulBlocksOfBf16, FewRowsStayF32) {
  PX_NEEDS_BF16();
  const KernelRun run{OpKind::kMatMul, test_inputs(random_floats({2, 3, 40}, 1, -1, 1),
                                                   random_floats({2, 40, 5}, 2, -1, 1))};
  const auto got = run_in_bf16(run);
  const auto want = run_kernel(run, KernelLibrary::kCpu);
  ASSERT_TRUE(got && want);
  expect_close(got->outputs[0], (*want)[0], {});
}

TEST(MatMulBlocksOfBf16, AttentionIsNearTheReference) {
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
        // Scores are off by up to some 64 * 2^-8 / 8 / 4, weights and values by a relative 2^-9.
        expect_close(got->outputs[0], (*want)[0], {1e-2, 1e-2});
      }
    }
  }
}

}  // namespace
}  // namespace parallax
