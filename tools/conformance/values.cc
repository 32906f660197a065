#include "values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "parallax/elements.h"

namespace parallax::conformance {
namespace {

double random_element(DTypeClass kind, char letter, std::mt19937_64& random) {
  // Not a std distribution: those differ from library to library.
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return static_cast<double>(
        low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1)));
  };
  const bool is_float = kind == DTypeClass::kFloat;
  if (kind == DTypeClass::kBool) return between(0, 1);
  if (letter == 'i') return between(-2, 1);
  if (letter == 'k') return between(0, 1);
  if (letter == 'q') return between(kind == DTypeClass::kUnsigned ? 0 : -2, 2);
  if (letter == 'p') return is_float ? between(32, 256) / 128 : between(1, 9);
  if (letter == 'd') {
    const double size = is_float ? between(32, 256) / 128 : between(1, 9);
    return kind != DTypeClass::kUnsigned && between(0, 1) == 1 ? -size : size;
  }
  if (is_float) return between(-256, 256) / 128;
  return between(kind == DTypeClass::kUnsigned ? 0 : -9, 9);
}

Distance compare_floats(std::span<const float> got, std::span<const float> expected,
                        double allowed) {
  double largest = 0, worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected[i], found = got[i];
    if (std::isfinite(wanted)) largest = std::max(largest, std::fabs(wanted));
    if (wanted == found || (std::isnan(wanted) && std::isnan(found))) continue;
    double off = std::fabs(wanted - found);
    if (!std::isfinite(off)) off = std::numeric_limits<double>::infinity();
    if (off > worst) {
      worst = off;
      at = i;
    }
  }
  if (worst == 0) return {};
  const double off = largest > 0 ? worst / largest : std::numeric_limits<double>::infinity();
  if (off <= allowed) return {off, ""};
  return {off, fmt::format("element {} is {:g} and should be {:g}: off by {:.2g} of the largest "
                           "magnitude, {:g} is allowed",
                           at, got[at], expected[at], off, allowed)};
}

}  // namespace

std::vector<std::byte> random_elements(DType dtype, const Dims& dims, char letter,
                                       std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(dtype, dims).value_or(0)));
  const DTypeClass kind = info_of(dtype).kind;
  for (std::int64_t i = 0; i < dims.elements(); ++i)
    write_element(dtype, random_element(kind, letter, random), bytes.data(), i);
  return bytes;
}

Distance distance(const TensorView& got, const TensorView& expected, double allowed) {
  constexpr double kNotAtAll = std::numeric_limits<double>::infinity();
  if (got.dtype != expected.dtype || !(got.dims == expected.dims))
    return {kNotAtAll, fmt::format("it is {} {} and should be {} {}", to_string(got.dtype),
                                   got.dims.to_string(), to_string(expected.dtype),
                                   expected.dims.to_string())};
  const auto count = static_cast<std::size_t>(expected.dims.elements());
  if (got.dtype == DType::kF32)
    return compare_floats({got.as<float>(), count}, {expected.as<float>(), count}, allowed);
  const std::size_t size = count == 0 ? 1 : got.bytes.size() / count;
  for (std::size_t i = 0; i < count; ++i)
    if (std::memcmp(got.bytes.data() + i * size, expected.bytes.data() + i * size, size) != 0)
      return {kNotAtAll, fmt::format("element {} is another one", i)};
  return {};
}

}  // namespace parallax::conformance
