// For tests of the oneDNN kernels: random tensors, comparison with the reference kernel, and runs
// in any order of tiles. Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/kernel_test_util.h"

namespace parallax {

inline Tensor random_tensor(const Dims& dims, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> elements(static_cast<std::size_t>(dims.elements()));
  for (float& element : elements) element = uniform(random);
  return test_tensor<float>(dims, elements);
}

/// The greatest difference over the greatest element of `wanted`.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& wanted) {
  double worst = 0, scale = 1e-30;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    scale = std::max(scale, std::abs(static_cast<double>(wanted[i])));
  }
  return worst / scale;
}

/// Output 0 of the oneDNN kernel for `run`, tiles in a random order on `threads` threads. Output
/// and scratch start as garbage.
inline std::vector<float> run_shuffled(const KernelRun& run, const Dims& dims, std::uint32_t seed,
                                       std::size_t threads) {
  Node node;
  node.op = run.op;
  node.attributes = run.attributes;
  node.epilogue = run.epilogue;
  std::vector<TensorDesc> inputs;
  std::vector<const std::byte*> data;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const TensorView view = run.inputs[i]->view();
    const bool constant = (run.constants >> i & 1U) != 0;
    inputs.push_back({true, view.dtype, view.dims, constant ? view.bytes.data() : nullptr});
    data.push_back(constant ? nullptr : view.bytes.data());
  }
  const std::vector<TensorDesc> outputs = {{true, DType::kF32, dims, nullptr}};
  PackedWeights packed;
  auto kernel = test_detail::make_of({node, inputs, outputs, packed}, KernelLibrary::kOneDnn);
  EXPECT_TRUE(kernel) << kernel.error().to_string();
  if (!kernel) return {};

  Tensor result = test_tensor<float>(
      dims, std::vector<float>(static_cast<std::size_t>(dims.elements()), std::nanf("")));
  std::vector<std::int64_t> order(static_cast<std::size_t>((*kernel)->tiles()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  std::byte* const out[] = {result.mutable_view().bytes.data()};
  std::vector<std::thread> workers;
  for (std::size_t worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&, worker] {
      const std::int64_t bytes = (*kernel)->scratch_bytes();
      auto scratch = AlignedBytes::allocate(bytes);
      ASSERT_TRUE(scratch);
      std::fill_n(scratch->data(), bytes, std::byte{0xFF});
      const KernelArgs args{data, out, {scratch->data(), static_cast<std::size_t>(bytes)}, nullptr};
      for (std::size_t i = worker; i < order.size(); i += threads) {
        const Status status = (*kernel)->run_tile(order[i], args);
        EXPECT_TRUE(status) << status.error().to_string();
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  return test_values<float>(result);
}

/// Expects that oneDNN takes `run`, agrees with the reference and gives the same bits however its
/// tiles are run. Gives the number of tiles.
inline std::int64_t expect_like_reference(const KernelRun& run, double tolerance = 1e-5) {
  const auto wanted = run_kernel_tiles(run, KernelLibrary::kReference);
  const auto got = run_kernel_tiles(run, KernelLibrary::kOneDnn);
  EXPECT_TRUE(wanted) << wanted.error().to_string();
  EXPECT_TRUE(got) << got.error().to_string();
  if (!wanted || !got) return -1;
  const Tensor& reference = wanted->outputs[0];
  const std::vector<float> first = test_values<float>(got->outputs[0]);
  EXPECT_LE(relative_error(first, test_values<float>(reference)), tolerance);
  for (const std::size_t threads : {1U, 3U}) {
    const auto again =
        run_shuffled(run, reference.dims(), static_cast<std::uint32_t>(threads), threads);
    EXPECT_EQ(again, first) << "tiles in another order on " << threads << " threads";
  }
  return got->tiles;
}

}  // namespace parallax
