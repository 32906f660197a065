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

/// Returns a tensor of rank 1.
template <class T>
Tensor row(const std::vector<T>& elements) {
  return test_tensor<T>({static_cast<std::int64_t>(elements.size())}, elements);
}
/// Returns a tensor of rank 0.
template <class T>
Tensor scalar(T element) {
  return test_tensor<T>({}, {element});
}
/// Short names for lists of attributes, inputs and expected elements.
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
/// Returns an i64 tensor of rank 1: shapes, axes and indices.
inline Tensor ints(const Ints& elements) { return row<std::int64_t>(elements); }
/// Returns [[1, 2, 3], [4, 5, 6]] in f32.
inline Tensor matrix() { return test_tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }
/// Returns attributes with `axis` alone.
inline Attributes on_axis(std::int64_t axis) { return test_attributes({{"axis", axis}}); }

/// Runs a node on the reference library and returns the elements of output `output`, whose type
/// must be T. If the node cannot run, fails the test and returns no elements.
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
  EXPECT_EQ(result->at(output).dtype(), dtype_of<T>());
  return test_values<T>(result->at(output));
}

/// Returns the error of running a node. If it runs without one, fails the test and returns an empty
/// error.
inline Error error_of(OpKind op, std::vector<std::optional<Tensor>> inputs,
                      Attributes attributes = {}) {
  const KernelRun run{op, std::move(inputs), std::move(attributes)};
  const auto result = run_kernel(run, KernelLibrary::kReference);
  if (!result) return result.error();
  ADD_FAILURE() << to_string(op) << " ran";
  return {};
}

/// Expects equal sizes and elements that differ by at most `tolerance`. NaN never matches.
inline void expect_near(const Floats& actual, const Floats& expected, float tolerance = 1e-5F) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

}  // namespace parallax
