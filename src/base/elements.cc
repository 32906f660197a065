#include "parallax/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/convert.h"

namespace parallax {
namespace {

/// Floats of a sign, an exponent and a mantissa, by their bits without the sign.
struct FloatFormat {
  int mantissa_bits;
  int bias;
  unsigned sign;
  unsigned greatest;    ///< finite number
  unsigned beyond;      ///< the value of greater numbers: infinity or NaN
  unsigned nan;         ///< the same as `sign` if zero has no sign
  bool saturates;       ///< clamps, on request
  bool always = false;  ///< it has no infinity and no NaN
};

constexpr FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00, false};
    case DType::kBF16:
      return {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, false};
    case DType::kF8E4M3FN:
      return {3, 7, 0x80, 0x7e, 0x7f, 0x7f, true};
    case DType::kF8E4M3FNUZ:
      return {3, 8, 0x80, 0x7f, 0x80, 0x80, true};
    case DType::kF8E5M2:
      return {2, 15, 0x80, 0x7b, 0x7c, 0x7e, true};
    case DType::kF8E5M2FNUZ:
      return {2, 16, 0x80, 0x7f, 0x80, 0x80, true};
    default:  // kF4E2M1
      return {1, 1, 0x8, 0x7, 0x7, 0x0, false, true};
  }
}

template <DType kType>
float decode(unsigned bits) {
  constexpr FloatFormat kFormat = format_of(kType);
  constexpr bool kSignedZero = kFormat.nan != kFormat.sign;
  const unsigned size = bits & (kFormat.sign - 1);
  if (!kFormat.always && (kSignedZero ? size > kFormat.greatest : bits == kFormat.nan)) {
    if (size != kFormat.beyond || kFormat.beyond == kFormat.nan)
      return std::numeric_limits<float>::quiet_NaN();
    return bits == size ? std::numeric_limits<float>::infinity()
                        : -std::numeric_limits<float>::infinity();
  }
  const auto exponent = static_cast<int>(size >> kFormat.mantissa_bits);
  const unsigned mantissa = size & ((1U << kFormat.mantissa_bits) - 1);
  const unsigned leading = exponent == 0 ? 0 : 1U << kFormat.mantissa_bits;
  const float x = std::ldexp(static_cast<float>(mantissa | leading),
                             (exponent == 0 ? 1 : exponent) - kFormat.bias - kFormat.mantissa_bits);
  return bits == size ? x : -x;
}

template <DType kType>
unsigned encode(double x, bool saturate) {
  constexpr FloatFormat kFormat = format_of(kType);
  constexpr bool kSignedZero = kFormat.nan != kFormat.sign;
  const unsigned sign = std::signbit(x) ? kFormat.sign : 0;
  if (std::isnan(x)) return kSignedZero ? kFormat.nan | sign : kFormat.nan;
  const double size = std::fabs(x);
  const bool clamp = kFormat.always || (kFormat.saturates && saturate);
  const unsigned beyond = clamp ? kFormat.greatest : kFormat.beyond;
  unsigned bits = beyond;
  // 2^(bias + 2) is beyond all numbers of all formats; below, exponents are small integers.
  if (size < std::ldexp(1.0, kFormat.bias + 2)) {
    const int exponent =
        size == 0 ? 1 - kFormat.bias : std::max(std::ilogb(size), 1 - kFormat.bias);
    // Halves go to the even neighbour. The leading bit and a carry add up in the exponent's field.
    const auto mantissa =
        static_cast<unsigned>(std::nearbyint(std::ldexp(size, kFormat.mantissa_bits - exponent)));
    bits = (static_cast<unsigned>(exponent + kFormat.bias - 1) << kFormat.mantissa_bits) + mantissa;
    if (bits > kFormat.greatest) bits = beyond;
  }
  return kSignedZero || (bits != 0 && bits != kFormat.nan) ? bits | sign : bits;
}

/// Returns 2^(bits - 127); NaN if all bits are set.
float decode_scale(std::uint8_t bits) {
  return bits == 0xff ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, bits - 127);
}

/// Scales have no sign: that of `x` is dropped.
std::uint8_t encode_scale(double x, Narrowing how) {
  constexpr int kGreatest = 127;
  const double size = std::fabs(x);
  if (std::isnan(x)) return 0xff;
  if (std::isinf(x) || size == 0) return how.saturate ? (size == 0 ? 0 : 0xfe) : 0xff;
  int exponent = std::ilogb(size);
  const double fraction = std::ldexp(size, -exponent);
  if (how.scale == Narrowing::Scale::kUp && fraction > 1) ++exponent;
  if (how.scale == Narrowing::Scale::kNearest && fraction >= 1.5) ++exponent;
  if (!how.saturate && std::abs(exponent) > kGreatest) return 0xff;
  return static_cast<std::uint8_t>(std::clamp(exponent, -kGreatest, kGreatest) + kGreatest);
}

/// Returns an element of whole bytes as a number of a C++ type.
template <class T>
auto number_of(T element) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return to_float(element);
  } else if constexpr (std::is_same_v<T, Float8E8M0>) {
    return decode_scale(element.bits);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return element;
  } else {
    return decode<dtype_of<T>()>(element.bits);
  }
}

template <class T, class Number>
T element_of(Number x, Narrowing how) {
  if constexpr (std::is_arithmetic_v<T>) {
    return convert_number<T>(x);
  } else if constexpr (std::is_same_v<T, Float16> && std::is_same_v<Number, float>) {
    return to_float16(x);
  } else if constexpr (std::is_same_v<T, BFloat16> && std::is_same_v<Number, float>) {
    return to_bfloat16(x);
  } else if constexpr (std::is_same_v<T, Float8E8M0>) {
    return {encode_scale(static_cast<double>(x), how)};
  } else {
    return {static_cast<decltype(T::bits)>(
        encode<dtype_of<T>()>(static_cast<double>(x), how.saturate))};
  }
}

/// The place of an element that is smaller than a byte.
struct Place {
  std::size_t byte;
  unsigned shift;
};
Place place_of(int bits, std::int64_t i) {
  const std::int64_t in_byte = 8 / bits;
  return {static_cast<std::size_t>(i / in_byte), static_cast<unsigned>(i % in_byte * bits)};
}

template <class Number>
Number read_packed(const DTypeInfo& info, const std::byte* bytes, std::int64_t i) {
  const Place place = place_of(info.bits, i);
  const unsigned raw =
      std::to_integer<unsigned>(bytes[place.byte]) >> place.shift & ((1U << info.bits) - 1);
  if (info.kind == DTypeClass::kFloat) return convert_number<Number>(decode<DType::kF4E2M1>(raw));
  const unsigned sign = info.kind == DTypeClass::kSigned ? 1U << (info.bits - 1) : 0;
  return convert_number<Number>(static_cast<int>(raw ^ sign) - static_cast<int>(sign));
}

template <class Number>
void write_packed(const DTypeInfo& info, Number x, std::byte* bytes, std::int64_t i) {
  const Place place = place_of(info.bits, i);
  const unsigned mask = (1U << info.bits) - 1;
  const unsigned raw = info.kind == DTypeClass::kFloat
                           ? encode<DType::kF4E2M1>(static_cast<double>(x), true)
                           : static_cast<unsigned>(convert_number<std::int64_t>(x)) & mask;
  const auto kept = std::to_integer<unsigned>(bytes[place.byte]) & ~(mask << place.shift);
  bytes[place.byte] = static_cast<std::byte>(kept | raw << place.shift);
}

/// The type that memory has an element in: any byte but 0 is a bool that is true.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

}  // namespace

template <class Number>
void read_elements(DType dtype, const std::byte* bytes, std::int64_t first, std::span<Number> to) {
  const DTypeInfo& info = info_of(dtype);
  if (info.bits > 0 && info.bits < 8) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = read_packed<Number>(info, bytes, first + static_cast<std::int64_t>(i));
    return;
  }
  dispatch<kByteTypes>(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const std::byte* at = bytes + first * static_cast<std::int64_t>(sizeof(T));
    for (std::size_t i = 0; i < to.size(); ++i) {
      Stored<T> element;
      std::memcpy(&element, at + i * sizeof element, sizeof element);
      if constexpr (std::is_same_v<T, bool>)
        to[i] = convert_number<Number>(element != 0);
      else
        to[i] = convert_number<Number>(number_of(element));
    }
  });
}

template <class Number>
void write_elements(DType dtype, std::span<const Number> from, std::byte* bytes, std::int64_t first,
                    Narrowing how) {
  const DTypeInfo& info = info_of(dtype);
  if (info.bits > 0 && info.bits < 8) {
    for (std::size_t i = 0; i < from.size(); ++i)
      write_packed(info, from[i], bytes, first + static_cast<std::int64_t>(i));
    return;
  }
  dispatch<kByteTypes>(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    std::byte* at = bytes + first * static_cast<std::int64_t>(sizeof(T));
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Stored<T> element = element_of<T>(from[i], how);
      std::memcpy(at + i * sizeof element, &element, sizeof element);
    }
  });
}

// Numbers are the native types.
#define PX_NUMBER_true(Number)                                                           \
  template void read_elements(DType, const std::byte*, std::int64_t, std::span<Number>); \
  template void write_elements(DType, std::span<const Number>, std::byte*, std::int64_t, Narrowing);
#define PX_NUMBER_false(Number)
#define PX_DTYPE(name, text, bits, kind, cpp, numpy, onnx, tflite, native) PX_NUMBER_##native(cpp)
#include "parallax/dtypes.def"
#undef PX_DTYPE
#undef PX_NUMBER_false
#undef PX_NUMBER_true

// Has no branches, so that compilers vectorize it.

float to_float(Float16 element) {
  const std::uint32_t size = element.bits & 0x7fffU;
  const std::uint32_t sign = static_cast<std::uint32_t>(element.bits & 0x8000U) << 16U;
  const float tiny = static_cast<float>(static_cast<std::int32_t>(size)) * 0x1p-24F;
  const std::uint32_t exponent = size >= 0x7c00U ? 224U << 23U : 112U << 23U;
  const std::uint32_t normal = (size << 13U) + exponent;
  const std::uint32_t quiet = size > 0x7c00U ? 0x400000U : 0;
  return std::bit_cast<float>(
      sign | (size < 0x400U ? std::bit_cast<std::uint32_t>(tiny) : normal | quiet));
}

float to_float(BFloat16 element) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(element.bits) << 16U);
}

Float16 to_float16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t size = bits & 0x7fffffffU;
  // One half and its neighbours are as far apart as the least numbers of the type.
  const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) -
                             std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t normal = (size + 0xfffU + (size >> 13U & 1U) - (112U << 23U)) >> 13U;
  const std::uint32_t large = size > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t half = size < 0x38800000U ? tiny : size < 0x47800000U ? normal : large;
  return {static_cast<std::uint16_t>((bits >> 16U & 0x8000U) | half)};
}

BFloat16 to_bfloat16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U;
  const std::uint32_t nan = bits >> 16U | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded)};
}

}  // namespace parallax
