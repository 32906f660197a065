// For tests of products: the types that the core computes in, a row for each, and nodes.
#pragma once

#include <gtest/gtest.h>

#include "kernels/cpu/bf16_test_util.h"
#include "parallax/dtype.h"
#include "parallax/elements.h"

namespace parallax {

/// Returns the same node with input 1 rounded to f16.
inline KernelRun with_half_weights(const KernelRun& run) {
  KernelRun rounded{run.op, {}, run.attributes, run.outputs, run.constants, run.epilogue};
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    std::vector<float> elements = test_values<float>(*run.inputs[i]);
    if (i == 1) {
      std::vector<std::byte> halves(2 * elements.size());
      write_elements<float>(DType::kF16, elements, halves.data(), 0);
      read_elements<float>(DType::kF16, halves.data(), 0, elements);
    }
    rounded.inputs.emplace_back(test_tensor<float>(run.inputs[i]->dims(), elements));
  }
  return rounded;
}

/// Makes the kernel of a node whose input 1 is known to have the values of f16.
inline Result<std::unique_ptr<Kernel>> make_of_halves(KernelRequest request) {
  std::vector<TensorDesc> inputs(request.inputs.begin(), request.inputs.end());
  inputs[1].is_half = true;
  request.inputs = inputs;
  return test_detail::make_of(request, KernelLibrary::kCpu);
}

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

/// Products with constants alone.
inline const GemmTestType kHalfWeights = {
    "f16", Precision::kF32, [] { return true; },
    [](const KernelRun& run) { return run_kernel_tiles(with_half_weights(run), make_of_halves); },
    [](const KernelRun& run) {
      return run_kernel(with_half_weights(run), KernelLibrary::kReference);
    }};

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
