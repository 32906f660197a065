#include "npy_types.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace parallax::cli {
namespace {

double value_of(Float16 half) {
  const int exponent = half.bits >> 10U & 0x1FU;
  const double mantissa = half.bits & 0x3FFU;
  double value = std::ldexp(exponent == 0 ? mantissa : mantissa + 1024, std::max(exponent, 1) - 25);
  if (exponent == 31)
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  return (half.bits & 0x8000U) != 0 ? -value : value;
}
// A boolean, which may be any byte in a file.
struct Boolean {
  std::uint8_t byte;
};

std::uint8_t value_of(Boolean boolean) { return boolean.byte != 0 ? 1 : 0; }

template <class T>
T value_of(T value) {
  return value;
}

// The types that NumPy has itself.
constexpr DTypeSet kNumPyTypes = dtypes_where([](const DTypeInfo& type) {
  return type.kind == DTypeClass::kFloat
             ? type.numpy == "float64" || type.numpy == "float32" || type.numpy == "float16"
             : type.bits >= 8;
});

// '<' little-endian, '|' a single byte.
std::string code_of(DType dtype) {
  const DTypeInfo& info = info_of(dtype);
  constexpr std::string_view kLetters = "fiub";  // in the order of DTypeClass
  const char letter = kLetters[static_cast<std::size_t>(info.kind)];
  return fmt::format("{}{}{}", info.bits == 8 ? '|' : '<', letter, info.bits / 8);
}

template <class To, class From>
bool fits(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return true;
  } else if constexpr (std::is_floating_point_v<To>) {
    return !std::isfinite(static_cast<double>(value)) || std::isfinite(static_cast<To>(value));
  } else if constexpr (std::is_floating_point_v<From>) {
    // Powers of two, which doubles hold: the largest integer of 64 bits is not one of them.
    const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
    const double begin = std::is_signed_v<To> ? -end : 0.0;
    return std::trunc(value) == value && value >= begin && value < end;
  } else {
    return std::in_range<To>(value);
  }
}

template <class From, class To>
std::optional<UnfitElement> convert(std::span<const std::byte> from, std::span<To> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    From raw;
    std::memcpy(&raw, from.data() + i * sizeof raw, sizeof raw);
    const auto value = value_of(raw);
    if (!fits<To>(value)) return UnfitElement{i, fmt::format("{}", value)};
    to[i] = static_cast<To>(value);  // NOLINT(bugprone-signed-char-misuse): int8 is a number here
  }
  return std::nullopt;
}

}  // namespace

std::string npy_type(DType dtype) {
  return contains(kNumPyTypes, dtype) ? code_of(dtype) : std::string();
}

std::optional<DType> npy_dtype(std::string_view type) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (contains(kNumPyTypes, dtype) && code_of(dtype) == type) return dtype;
  }
  return std::nullopt;
}

std::string npy_name(std::string_view type) {
  if (const auto known = npy_dtype(type)) return std::string(to_string(*known));
  if (type.starts_with('>')) {
    if (const auto known = npy_dtype(fmt::format("<{}", type.substr(1))))
      return fmt::format("big-endian {}", to_string(*known));
  }
  return fmt::format("elements of type '{}'", type);
}

std::optional<UnfitElement> npy_convert(DType type, std::span<const std::byte> from,
                                        MutableTensorView to) {
  const auto count = static_cast<std::size_t>(to.dims.elements());
  using Unfit = std::optional<UnfitElement>;
  return dispatch<kComputedTypes>(to.dtype, [&](auto wanted) -> Unfit {
    using To = typename decltype(wanted)::type;
    return dispatch<kNumPyTypes>(type, [&](auto given) -> Unfit {
      using From = typename decltype(given)::type;
      using Stored = std::conditional_t<std::is_same_v<From, bool>, Boolean, From>;
      return convert<Stored>(from, std::span<To>(to.as<To>(), count));
    });
  });
}

}  // namespace parallax::cli
