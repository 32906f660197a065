// For tests of this folder: random tensors, and the comparison of a Highway kernel with the
// reference kernel on the same node.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/cpu/tiles.h"
#include "kernels/kernel_test_util.h"

namespace parallax {

/// Returns elements uniform in [low, high), the same for the same seed.
inline Tensor random_floats(const Dims& dims, unsigned seed, float low = -3.0F, float high = 3.0F) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> elements(static_cast<std::size_t>(dims.elements()));
  for (float& x : elements) x = uniform(generator);
  return test_tensor<float>(dims, elements);
}

/// Integers uniform in [low, high].
template <class T>
Tensor random_integers(const Dims& dims, unsigned seed, int low, int high) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> uniform(low, high);
  std::vector<T> elements(static_cast<std::size_t>(dims.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<T>(uniform(generator));
  return test_tensor<T>(dims, elements);
}

/// Returns NaN, infinities, zeros, denormals and numbers near which functions saturate.
inline std::vector<float> special_floats() {
  using Limits = std::numeric_limits<float>;
  return {Limits::quiet_NaN(),
          Limits::infinity(),
          -Limits::infinity(),
          0.0F,
          -0.0F,
          1e-40F,
          -1e-40F,
          Limits::min(),
          1.0F,
          -1.0F,
          87.0F,
          -87.0F,
          89.5F,
          -89.5F,
          104.5F,
          -104.5F,
          1e30F,
          -1e30F,
          9.5F,
          -9.5F};
}

/// How far a result may be from the reference: absolute + relative * |reference|. Zeros: the bytes
/// must be the same.
struct Tolerance {
  double relative = 0, absolute = 0;
};

inline bool close_to(float got, float want, Tolerance tolerance) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(static_cast<double>(got) - static_cast<double>(want)) <=
         tolerance.absolute + tolerance.relative * std::abs(static_cast<double>(want));
}

inline void expect_close(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  ASSERT_EQ(got.dims(), want.dims());
  ASSERT_EQ(got.dtype(), want.dtype());
  const auto a = got.view().bytes, b = want.view().bytes;
  if (want.dtype() != DType::kF32 || (tolerance.relative == 0 && tolerance.absolute == 0)) {
    EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
    return;
  }
  const auto x = test_values<float>(got), y = test_values<float>(want);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(close_to(x[i], y[i], tolerance))
        << "element " << i << ": " << x[i] << ", reference " << y[i];
}

/// Runs the node with both libraries. Every tile runs on its own over garbage, so a result that
/// depends on how work was cut, or misses elements, shows.
inline void expect_same_as_reference(const KernelRun& run, Tolerance tolerance = {}) {
  const auto want = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(want.has_value()) << want.error().to_string();
  const auto got = run_kernel(run, KernelLibrary::kCpu);
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  ASSERT_EQ(got->size(), want->size());
  for (std::size_t i = 0; i < got->size(); ++i) expect_close((*got)[i], (*want)[i], tolerance);
}

/// Returns a maker that gives kernels of this folder input 1, a constant, as a file stores it
/// (f16 if `half`). The bytes where input 1 has its own elements are zeros: kernels must not read
/// them.
inline KernelMaker make_with_stored(const StoredForm& form, bool half = false) {
  return [stored = std::make_shared<const StoredForm>(form), half](KernelRequest request) {
    std::vector<TensorDesc> inputs(request.inputs.begin(), request.inputs.end());
    const std::vector<std::byte> zeros(to_size(inputs[1].dims.elements() * kFloatBytes));
    inputs[1].is_half = half;
    inputs[1].stored = stored;
    inputs[1].data = zeros.data();
    request.inputs = inputs;
    return test_detail::make_of(request, KernelLibrary::kCpu);
  };
}

/// Returns true if no kernel of this folder covers the node.
inline bool cpu_declines(const KernelRun& run) {
  const auto got = run_kernel(run, KernelLibrary::kCpu);
  return !got && got.error().code == ErrorCode::kUnsupported;
}

}  // namespace parallax
