// For tests of what special numbers become: tensors with them, and whether two agree.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <span>
#include <string>

#include "parallax/tensor.h"

namespace parallax {

/// Numbers in [-1, 1], and `special` at one place or everywhere.
inline Tensor numbers(const Dims& dims, std::optional<float> special, bool everywhere,
                      unsigned seed = 7) {
  Tensor tensor = *Tensor::allocate(DType::kF32, dims);
  const auto n = static_cast<std::size_t>(dims.elements());
  const std::span<float> elements(tensor.mutable_view().as<float>(), n);
  std::minstd_rand random(seed);
  for (float& x : elements) x = static_cast<float>(random() % 2001) / 1000 - 1;
  if (special && everywhere) std::ranges::fill(elements, *special);
  if (special && n > 0) elements[n / 2] = *special;
  return tensor;
}

/// Integers of 8 bits.
inline bool is_byte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

/// An input for tests: numbers(), or bools or bytes of which `special` changes none.
inline Tensor test_input(DType dtype, const Dims& dims, std::optional<float> special,
                         bool everywhere, unsigned seed = 7) {
  if (dtype != DType::kBool && !is_byte(dtype)) return numbers(dims, special, everywhere, seed);
  Tensor tensor = *Tensor::allocate(dtype, dims);
  const auto n = static_cast<std::size_t>(dims.elements());
  std::minstd_rand random(seed);
  for (std::size_t i = 0; is_byte(dtype) && i < n; ++i)
    tensor.mutable_view().bytes[i] = static_cast<std::byte>(random() % 256);
  for (std::size_t i = 0; !is_byte(dtype) && i < n; ++i)
    tensor.mutable_view().as<bool>()[i] = random() % 1024 < 512;
  return tensor;
}

/// The same of bytes, which may be one unit apart.
inline std::string byte_problem(const Tensor& got, const Tensor& oracle) {
  for (std::size_t i = 0; i < oracle.view().bytes.size(); ++i) {
    const int a = std::to_integer<int>(got.view().bytes[i]);
    const int b = std::to_integer<int>(oracle.view().bytes[i]);
    const bool is_signed = oracle.dtype() == DType::kI8;
    const int apart = is_signed ? static_cast<std::int8_t>(a) - static_cast<std::int8_t>(b) : a - b;
    if (std::abs(apart) > 1) return fmt::format("byte {} is {}, not {}", i, a, b);
  }
  return {};
}

/// What is wrong with `got`; empty where nothing is. `spreads`: NaN may also come out beside those
/// of the oracle. `exact`: f32, so that all must agree.
inline std::string problem(const Tensor& got, const Tensor& oracle, bool spreads, bool exact) {
  if (!(got.dims() == oracle.dims())) return "another shape";
  if (is_byte(oracle.dtype())) return byte_problem(got, oracle);
  float scale = 1e-6F;
  const float *a = got.view().as<float>(), *b = oracle.view().as<float>();
  const std::int64_t n = oracle.dims().elements();
  for (std::int64_t i = 0; i < n; ++i)
    if (std::isfinite(b[i])) scale = std::max(scale, std::abs(b[i]));
  for (std::int64_t i = 0; i < n; ++i) {
    const bool same = std::isnan(b[i])   ? std::isnan(a[i])
                      : std::isinf(b[i]) ? a[i] == b[i]
                                         : std::abs(a[i] - b[i]) <= 1e-3F * scale;
    const bool excused = std::isnan(b[i]) ? false : !exact || (spreads && std::isnan(a[i]));
    if (!same && !excused) return fmt::format("element {} is {}, not {}", i, a[i], b[i]);
  }
  return {};
}

}  // namespace parallax
