// Element types of tensors. parallax/dtypes.def lists them once; everything that depends on the
// type of a tensor's elements is derived from that list, here or by dispatch(). Constants and pure
// functions; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace parallax {

/// The element types: kF32, kI64, kBool, kString, ... (dtypes.def).
enum class DType : std::uint8_t {
#define PX_DTYPE(name, ...) name,
#include "parallax/dtypes.def"
#undef PX_DTYPE
};

/// The arithmetic of a type. Floats have 64 to 4 bits; signed integers are two's complement; a bool
/// is one byte, 0 or 1. A string has no fixed size: an Object holds it, never a Tensor.
enum class DTypeClass : std::uint8_t { kFloat, kSigned, kUnsigned, kBool, kString };

/// A row of dtypes.def. All texts live as long as the program.
struct DTypeInfo {
  std::string_view text;   ///< short name, "f32"
  int bits;                ///< size of one element in bits; 0 if it has no fixed size
  DTypeClass kind;         ///< floats, signed or unsigned integers, bools, strings
  std::string_view numpy;  ///< NumPy's name, "float32"
  int onnx;                ///< number in ONNX's TensorProto.DataType
  int tflite;              ///< number in TFLite's TensorType; -1 if TFLite lacks the type
  bool native;             ///< kernels compute in it; other types are converted to a native one
};

/// All rows, by DType.
inline constexpr auto kDTypes = std::to_array<DTypeInfo>({
#define PX_DTYPE(name, text, bits, kind, type, numpy, onnx, tflite, native) \
  {text, bits, DTypeClass::kind, numpy, onnx, tflite, native},
#include "parallax/dtypes.def"
#undef PX_DTYPE
});

/// The row that info_of() returns for a number that is no DType.
inline constexpr DTypeInfo kNoDType = {"?", 0, DTypeClass::kString, "unknown", -1, -1, false};
/// Returns the row of a type; kNoDType, whose size is 0, for a number that is no DType.
constexpr const DTypeInfo& info_of(DType dtype) {
  const auto row = static_cast<std::size_t>(dtype);
  return row < kDTypes.size() ? kDTypes[row] : kNoDType;
}

/// Returns the type with the short name `text`, as "f32" (not NumPy's "float32"); nullopt if there
/// is no such type.
constexpr std::optional<DType> dtype_from_text(std::string_view text) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].text == text) return static_cast<DType>(i);
  return std::nullopt;
}
/// Returns the type with the number `code` in TensorProto.DataType; nullopt if Parallax lacks it
/// (complex numbers) or ONNX does.
constexpr std::optional<DType> dtype_from_onnx(std::int64_t code) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].onnx == code) return static_cast<DType>(i);
  return std::nullopt;
}
/// Returns NumPy's name of the type: "float32", "bool", ... For types that NumPy lacks, it is
/// that of ml_dtypes: "bfloat16", "int4", ... "unknown" for a number that is no DType.
constexpr std::string_view to_string(DType dtype) { return info_of(dtype).numpy; }

/// Returns the bytes of a dense tensor with that many elements; elements smaller than a byte are
/// packed, and the sum is rounded up. nullopt if the result exceeds 63 bits, for a negative count,
/// and for types without a fixed size.
constexpr std::optional<std::int64_t> bytes_of(DType dtype, std::int64_t elements) {
  const int bits = info_of(dtype).bits;
  if (bits == 0 || elements < 0) return std::nullopt;
  if (bits < 8) return elements / (8 / bits) + (elements % (8 / bits) == 0 ? 0 : 1);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, std::int64_t{bits / 8}, &bytes)) return std::nullopt;
  return bytes;
}

/// Returns the bytes from one element to the next; 0 for elements smaller than a byte and for types
/// without a fixed size.
constexpr std::int64_t size_of(DType dtype) { return info_of(dtype).bits / 8; }
/// Returns the alignment of tensors in bytes: the size of an element, at least 1.
constexpr std::int64_t alignment_of(DType dtype) {
  return size_of(dtype) == 0 ? 1 : size_of(dtype);
}

/// A set of element types: bit i is the DType with that value.
using DTypeSet = std::uint32_t;
static_assert(kDTypes.size() <= 32);
/// Returns the set of one type. REQUIRES: `dtype` is a DType.
constexpr DTypeSet dtype_bit(DType dtype) { return DTypeSet{1} << static_cast<unsigned>(dtype); }
/// Whether `dtype` is in `set`; false for a number that is no DType.
constexpr bool contains(DTypeSet set, DType dtype) {
  return static_cast<std::size_t>(dtype) < kDTypes.size() && (set & dtype_bit(dtype)) != 0;
}
/// Returns the types whose rows satisfy `condition`.
template <class Condition>
constexpr DTypeSet dtypes_where(Condition condition) {
  DTypeSet set = 0;
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (condition(kDTypes[i])) set |= dtype_bit(static_cast<DType>(i));
  return set;
}
/// The types with a fixed size: all but kString.
inline constexpr DTypeSet kSizedTypes =
    dtypes_where([](const DTypeInfo& type) { return type.bits > 0; });
/// The types in which kernels compute. Others are computed too: their elements are converted to one
/// of these and back.
inline constexpr DTypeSet kNativeTypes =
    dtypes_where([](const DTypeInfo& type) { return type.native; });

/// An element of a type that C++ lacks, as its bits; elements.h converts it to a number and back.
/// It has the size and alignment of Bits, and no arithmetic of its own.
template <DType kType, class Bits>
struct Encoded {
  Bits bits = 0;
};
using Float16 = Encoded<DType::kF16, std::uint16_t>;
using BFloat16 = Encoded<DType::kBF16, std::uint16_t>;
using Float8E4M3FN = Encoded<DType::kF8E4M3FN, std::uint8_t>;
using Float8E4M3FNUZ = Encoded<DType::kF8E4M3FNUZ, std::uint8_t>;
using Float8E5M2 = Encoded<DType::kF8E5M2, std::uint8_t>;
using Float8E5M2FNUZ = Encoded<DType::kF8E5M2FNUZ, std::uint8_t>;
using Float8E8M0 = Encoded<DType::kF8E8M0, std::uint8_t>;

/// The C++ type of an element of `kType`, as the member `type`; void for elements smaller than a
/// byte and for strings.
template <DType kType>
struct ElementOf;
#define PX_DTYPE(name, text, bits, kind, cpp, numpy, onnx, tflite, native) \
  template <>                                                              \
  struct ElementOf<DType::name> : std::type_identity<cpp> {};
#include "parallax/dtypes.def"
#undef PX_DTYPE

/// Whether tensors have elements of the C++ type T: a type of the list, as float or Float16.
template <class T>
concept TensorElement = !std::is_void_v<T> && (false
#define PX_DTYPE(name, text, bits, kind, cpp, ...) || std::is_same_v<T, cpp>
#include "parallax/dtypes.def"
#undef PX_DTYPE
                                              );
/// Returns the DType whose elements have the C++ type T.
template <TensorElement T>
consteval DType dtype_of() {
  DType found{};
#define PX_DTYPE(name, text, bits, kind, cpp, ...) \
  if (std::is_same_v<T, cpp>) found = DType::name;
#include "parallax/dtypes.def"
#undef PX_DTYPE
  return found;
}

/// Types whose elements have bytes of their own and a C++ type.
inline constexpr DTypeSet kByteTypes =
    dtypes_where([](const DTypeInfo& type) { return type.bits >= 8; });

/// Returns `visit(std::type_identity<T>{})` for the C++ type T of `dtype` if `kSet` contains it;
/// otherwise a value-initialized result. `kSet` must be a subset of kByteTypes that is not empty.
template <DTypeSet kSet, class Visit>
constexpr auto dispatch(DType dtype, Visit visit) {
  static_assert(kSet != 0 && (kSet & ~kByteTypes) == 0);
  constexpr auto kFirst = static_cast<DType>(__builtin_ctz(kSet));
  using First = std::type_identity<typename ElementOf<kFirst>::type>;
  using Answer = std::invoke_result_t<Visit&, First>;
  switch (dtype) {
#define PX_DTYPE(name, ...)                                                      \
  case DType::name:                                                              \
    if constexpr (contains(kSet, DType::name))                                   \
      return visit(std::type_identity<typename ElementOf<DType::name>::type>{}); \
    else                                                                         \
      break;
#include "parallax/dtypes.def"
#undef PX_DTYPE
  }
  return Answer();
}

/// The type to which matrix products and convolutions round their operands. Everything else stays
/// f32: sums, results, and 3x3 convolutions with stride 1 (docs/decisions/reduced-precision.md).
enum class Precision : std::uint8_t {
  kF32,   ///< no rounding
  kBf16,  ///< 8 bits of significand: twice the speed and half the bytes of weights. Needs
          ///< Kernels::kBest and a CPU that supports it (Session::supports)
};

}  // namespace parallax
