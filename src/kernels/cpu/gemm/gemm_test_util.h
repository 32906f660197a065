// For tests of products: the types that the core computes in, a row for each, and nodes.
#pragma once

#include <gtest/gtest.h>

#include "kernels/cpu/bf16_test_util.h"
#include "parallax/dtype.h"

namespace parallax {

struct GemmTestType {
  const char* name;
  Precision precision;
  bool (*available)();
  Result<KernelOutcome> (*run)(const KernelRun& run);
  /// Returns the results of the reference kernel for operands rounded to the type, so that only the
  /// order of the sums differs: products of two bf16 are exact in f32.
  Result<std::vector<Tensor>> (*want)(const KernelRun& run);
};

inline const GemmTestType kGemmTestTypes[] = {
    {"f32", Precision::kF32, [] { return true; },
     [](const KernelRun& run) { return run_kernel_tiles(run, KernelLibrary::kCpu); },
     [](const KernelRun& run) { return run_kernel(run, KernelLibrary::kReference); }},
    {"bf16", Precision::kBf16, cpu_multiplies_bf16, run_in_bf16,
     [](const KernelRun& run) {
       return run_kernel(with_rounded_operands(run), KernelLibrary::kReference);
     }},
};

inline void PrintTo(const GemmTestType& type, std::ostream* out) { *out << type.name; }

inline void expect_products(const GemmTestType& type, const KernelRun& run, Tolerance tolerance) {
  const auto got = type.run(run);
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  const auto want = type.want(run);
  ASSERT_TRUE(want.has_value()) << want.error().to_string();
  expect_close(got->outputs[0], (*want)[0], tolerance);
}

/// Tests of each type that this CPU has.
class GemmTypes : public testing::TestWithParam<GemmTestType> {
 protected:
  void SetUp() override {
    if (!GetParam().available()) GTEST_SKIP() << "this CPU does not have " << GetParam().name;
  }
};
#define PX_FOR_GEMM_TYPES(suite)                                            \
  INSTANTIATE_TEST_SUITE_P(Table, suite, testing::ValuesIn(kGemmTestTypes), \
                           [](const auto& row) { return std::string(row.param.name); })

/// Returns a MatMul of random numbers.
inline KernelRun matmul_run(const Dims& a, const Dims& b) {
  return {OpKind::kMatMul, test_inputs(random_floats(a, 1, -1, 1), random_floats(b, 2, -1, 1))};
}
/// Returns a MatMul with a constant right operand.
inline KernelRun constant_matmul_run(const Dims& a, const Dims& b) {
  KernelRun run = matmul_run(a, b);
  run.constants = 0b10;
  return run;
}

}  // namespace parallax
