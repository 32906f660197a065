#include "npy_types.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace parallax::cli {
namespace {

// float16, as its bits.
struct Half {
  std::uint16_t bits;
};

double value_of(Half half) {
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

struct Type {
  std::string_view code, name;
  std::int64_t bytes;
};
// '<' little-endian, '|' a single byte.
constexpr std::array<Type, 12> kTypes = {{{"<f4", "float32", 4},
                                          {"<f8", "float64", 8},
                                          {"<f2", "float16", 2},
                                          {"<i8", "int64", 8},
                                          {"<i4", "int32", 4},
                                          {"<i2", "int16", 2},
                                          {"|i1", "int8", 1},
                                          {"<u8", "uint64", 8},
                                          {"<u4", "uint32", 4},
                                          {"<u2", "uint16", 2},
                                          {"|u1", "uint8", 1},
                                          {"|b1", "bool", 1}}};

const Type* find(std::string_view code) {
  const auto* found = std::ranges::find(kTypes, code, &Type::code);
  return found == kTypes.end() ? nullptr : found;
}

// Calls `use` with a value of the C++ type behind a code.
template <class Use>
auto with_type(std::string_view code, Use use) {
  if (code == "<f4") return use(float{});
  if (code == "<f8") return use(double{});
  if (code == "<f2") return use(Half{});
  if (code == "<i8") return use(std::int64_t{});
  if (code == "<i4") return use(std::int32_t{});
  if (code == "<i2") return use(std::int16_t{});
  if (code == "|i1") return use(std::int8_t{});
  if (code == "<u8") return use(std::uint64_t{});
  if (code == "<u4") return use(std::uint32_t{});
  if (code == "<u2") return use(std::uint16_t{});
  if (code == "|u1") return use(std::uint8_t{});
  return use(Boolean{});
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

std::string_view npy_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "<f4";
    case DType::kI64:
      return "<i8";
    case DType::kI32:
      return "<i4";
    case DType::kI8:
      return "|i1";
    case DType::kU8:
      return "|u1";
    case DType::kBool:
      return "|b1";
  }
  return "";
}

std::optional<DType> npy_dtype(std::string_view type) {
  for (DType d : {DType::kF32, DType::kI64, DType::kI32, DType::kI8, DType::kU8, DType::kBool}) {
    if (npy_type(d) == type) return d;
  }
  return std::nullopt;
}

std::string npy_name(std::string_view type) {
  if (const Type* const known = find(type)) return std::string(known->name);
  if (type.starts_with('>')) {
    if (const Type* const known = find(fmt::format("<{}", type.substr(1))))
      return fmt::format("big-endian {}", known->name);
  }
  return fmt::format("elements of type '{}'", type);
}

std::int64_t npy_element_bytes(std::string_view type) {
  const Type* const known = find(type);
  return known == nullptr ? 0 : known->bytes;
}

std::optional<UnfitElement> npy_convert(std::string_view type, std::span<const std::byte> from,
                                        MutableTensorView to) {
  const auto count = static_cast<std::size_t>(to.dims.elements());
  const auto into = [&]<class To>(To* elements) {
    return with_type(type, [&]<class From>(From) {
      return convert<From>(from, std::span<To>(elements, count));
    });
  };
  switch (to.dtype) {
    case DType::kF32:
      return into(to.as<float>());
    case DType::kI64:
      return into(to.as<std::int64_t>());
    case DType::kI32:
      return into(to.as<std::int32_t>());
    case DType::kI8:
      return into(to.as<std::int8_t>());
    case DType::kU8:
      return into(to.as<std::uint8_t>());
    case DType::kBool:
      return into(to.as<bool>());
  }
  return std::nullopt;
}

}  // namespace parallax::cli
