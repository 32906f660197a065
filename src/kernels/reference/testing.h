// Short forms for the tests of this folder: run one node on the reference library, look at one
// output or the error.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel_test_util.h"

namespace parallax {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

/// A vector of numbers as a tensor of rank 1.
template <class T>
Tensor row(const std::vector<T>& elements) {
  return test_tensor<T>({static_cast<std::int64_t>(elements.size())}, elements);
}
template <class T>
Tensor scalar(T element) {
  return test_tensor<T>({}, {element});
}
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
inline Tensor ints(const Ints& elements) { return row<std::int64_t>(elements); }
inline Tensor matrix() { return test_tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }
inline Attributes on_axis(std::int64_t axis) { return test_attributes({{"axis", axis}}); }

/// Elements of output `output`; a test failure and no elements where the node cannot run.
template <class T>
std::vector<T> run_one(OpKind op, std::vector<std::optional<Tensor>> inputs,
                       Attributes attributes = {}, int outputs = 1, std::size_t output = 0,
                       Epilogue epilogue = {}) {
  const KernelRun run{op, std::move(inputs), std::move(attributes), outputs, 0, epilogue};
  const auto result = run_kernel(run, KernelLibrary::kReference);
  if (!result) {
    ADD_FAILURE() << result.error().to_string();
    return {};
  }
  EXPECT_EQ(result->at(output).dtype(), kDTypeOf<T>);
  return test_values<T>(result->at(output));
}

/// The error that running the node gives; a test failure where it gives none.
inline Error error_of(OpKind op, std::vector<std::optional<Tensor>> inputs,
                      Attributes attributes = {}) {
  const KernelRun run{op, std::move(inputs), std::move(attributes)};
  const auto result = run_kernel(run, KernelLibrary::kReference);
  if (!result) return result.error();
  ADD_FAILURE() << to_string(op) << " ran";
  return {};
}

inline void expect_near(const Floats& actual, const Floats& expected, float tolerance = 1e-5F) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

}  // namespace parallax
