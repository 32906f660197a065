#include <gtest/gtest.h>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

TEST(CpuMatMulBatched, AgreesWithReference) {
  struct Case {
    Dims a, b;
  };
  for (const auto& [a, b] :
       {Case{{7}, {7}}, Case{{3, 7}, {7}}, Case{{7}, {7, 5}}, Case{{2, 3, 7}, {7}},
        Case{{7}, {2, 7, 5}}, Case{{3, 7}, {7, 64}}, Case{{20, 7}, {7, 64}},
        Case{{2, 3, 49, 32}, {2, 3, 32, 49}}, Case{{2, 3, 49, 49}, {2, 3, 49, 32}},
        Case{{2, 1, 5, 6}, {1, 3, 6, 7}}, Case{{5, 6}, {2, 3, 6, 7}}, Case{{2, 3, 5, 6}, {6, 70}},
        Case{{1, 2, 300, 64}, {1, 2, 64, 301}}, Case{{1, 2, 150, 600}, {1, 2, 600, 64}},
        Case{{3, 4, 4, 8}, {3, 4, 8, 4}}, Case{{0, 3, 4}, {0, 4, 5}}, Case{{2, 0, 4}, {2, 4, 5}}}) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    expect_same_as_reference(
        {OpKind::kMatMul, test_inputs(random_floats(a, 1, -1, 1), random_floats(b, 2, -1, 1))},
        {1e-4, 1e-4});
  }
}

TEST(CpuMatMulBatched, FusesBiasAndActivation) {
  KernelRun run{OpKind::kMatMul,
                test_inputs(random_floats({2, 30, 9}, 1, -1, 1),
                            random_floats({2, 9, 70}, 2, -1, 1), random_floats({70}, 3))};
  run.epilogue = then("Gelu");
  expect_same_as_reference(run, {1e-5, 2e-5});
}

TEST(CpuMatMulBatched, ReadsATransposedOperandWhereItLies) {
  struct Case {
    Dims a, b;
    std::vector<std::int64_t> perm;
  };
  for (const auto& [a, b, perm] :
       {Case{{2, 6, 16, 7}, {33, 6, 7}, {1, 2, 0}}, Case{{2, 6, 16, 33}, {33, 6, 7}, {1, 0, 2}},
        Case{{6, 1, 70}, {33, 6, 70}, {1, 2, -3}}, Case{{3, 4}, {5, 4}, {1, 0}},
        Case{{1, 4}, {1, 1, 4, 1}, {0, 1, 2, 3}}, Case{{5, 6}, {2, 6, 3, 7}, {2, 0, 1, 3}},
        Case{{0, 5, 6}, {1, 7, 6}, {0, 2, 1}}}) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    KernelRun run{OpKind::kMatMul,
                  test_inputs(random_floats(a, 1, -1, 1), random_floats(b, 2, -1, 1)),
                  test_attributes({{"b_perm", perm}})};
    expect_same_as_reference(run, {1e-5, 1e-5});
    run.constants = 2;
    expect_same_as_reference(run, {1e-5, 1e-5});
  }
}

}  // namespace
}  // namespace parallax
