#include "files/npy_types.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "parallax/elements.h"

namespace parallax::cli {
namespace {

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

// 2^(bits) of the numbers that an integer type has above zero.
int bits_above_zero(const DTypeInfo& info) {
  return info.bits - (info.kind == DTypeClass::kSigned ? 1 : 0);
}

bool fits_integer(const DTypeInfo& info, double value) {
  // Powers of two, which doubles hold: the largest integer of 64 bits is not one of them.
  const double end = std::ldexp(1.0, bits_above_zero(info));
  const double begin = info.kind == DTypeClass::kSigned ? -end : 0.0;
  return std::trunc(value) == value && value >= begin && value < end;
}

bool fits_integer(const DTypeInfo& info, std::int64_t value) {
  if (value < 0) return info.kind == DTypeClass::kSigned && (value >> bits_above_zero(info)) == -1;
  const int bits = bits_above_zero(info);
  return bits >= 63 || (value >> bits) == 0;
}

bool fits_integer(const DTypeInfo& info, std::uint64_t value) {
  const int bits = bits_above_zero(info);
  return bits == 64 || (value >> bits) == 0;
}

// Writes a number; false where the type has none for it.
template <class Number>
bool write_fitting(Number value, MutableTensorView to, std::int64_t i) {
  const DTypeInfo& info = info_of(to.dtype);
  const bool integer = info.kind == DTypeClass::kSigned || info.kind == DTypeClass::kUnsigned;
  if (integer && !fits_integer(info, value)) return false;
  write_element(to.dtype, value, to.bytes.data(), i, {.saturate = false});
  if (info.kind != DTypeClass::kFloat || !std::isfinite(static_cast<double>(value))) return true;
  return std::isfinite(read_element<double>(to.dtype, to.bytes.data(), i));
}

template <class Number>
std::optional<UnfitElement> convert(DType type, std::span<const std::byte> from,
                                    MutableTensorView to) {
  for (std::int64_t i = 0; i < to.dims.elements(); ++i) {
    const auto value = read_element<Number>(type, from.data(), i);
    if (!write_fitting(value, to, i))
      return UnfitElement{static_cast<std::size_t>(i), fmt::format("{}", value)};
  }
  return std::nullopt;
}

}  // namespace

std::string npy_type(DType dtype) {
  if (contains(kNumPyTypes, dtype)) return code_of(dtype);
  if (dtype == DType::kF8E5M2) return "<f1";  // ml_dtypes calls it so
  const DTypeInfo& info = info_of(dtype);
  return info.bits == 0 ? std::string() : fmt::format("<V{}", std::max(info.bits / 8, 1));
}

std::optional<DType> npy_dtype(std::string_view type) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (contains(kNumPyTypes, dtype) && code_of(dtype) == type) return dtype;
  }
  return std::nullopt;
}

bool npy_holds(std::string_view type, DType dtype) {
  if (contains(kNumPyTypes, dtype)) return npy_dtype(type) == dtype;
  const std::string code = npy_type(dtype);
  // Saved again by a NumPy without ml_dtypes, bytes have no order.
  return !code.empty() && (type == code || type == fmt::format("|V{}", code.back()));
}

std::string npy_name(std::string_view type) {
  if (const auto known = npy_dtype(type)) return std::string(to_string(*known));
  if (type.starts_with('>')) {
    if (const auto known = npy_dtype(fmt::format("<{}", type.substr(1))))
      return fmt::format("big-endian {}", to_string(*known));
  }
  return fmt::format("elements of type '{}'", type);
}

DType npy_layout(DType dtype) {
  const int bits = info_of(dtype).bits;
  return bits > 0 && bits < 8 ? DType::kU8 : dtype;
}

// The bits of floats are those of the unsigned integers of their size.
Result<Tensor> npy_pack(const TensorView& bytes, DType dtype) {
  auto tensor = Tensor::allocate(dtype, bytes.dims);
  if (!tensor) return tensor;
  const DType integer = info_of(dtype).bits == 2 ? DType::kU2 : DType::kU4;
  write_elements(integer, std::span(bytes.as<std::uint8_t>(), bytes.bytes.size()),
                 tensor->mutable_view().bytes.data(), 0);
  return tensor;
}

Result<Tensor> npy_unpack(const TensorView& tensor) {
  auto bytes = Tensor::allocate(DType::kU8, tensor.dims);
  if (!bytes) return bytes;
  const DType integer = info_of(tensor.dtype).bits == 2 ? DType::kU2 : DType::kU4;
  const auto to = bytes->mutable_view();
  read_elements(integer, tensor.bytes.data(), 0, std::span(to.as<std::uint8_t>(), to.bytes.size()));
  return bytes;
}

std::optional<UnfitElement> npy_convert(DType type, std::span<const std::byte> from,
                                        MutableTensorView to) {
  switch (info_of(type).kind) {
    case DTypeClass::kFloat:
      return convert<double>(type, from, to);
    case DTypeClass::kSigned:
      return convert<std::int64_t>(type, from, to);
    default:
      return convert<std::uint64_t>(type, from, to);
  }
}

}  // namespace parallax::cli
