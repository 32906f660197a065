#include "load/onnx/tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "ir/strings.h"
#include "load/names.h"
#include "load/onnx/external_data.h"

namespace parallax {
namespace {

// Constants point into the file, whose numbers are little-endian.
static_assert(std::endian::native == std::endian::little);

struct OtherType {
  std::int64_t onnx;
  std::string_view name;
  std::int64_t bits;
};
/// TensorProto.DataTypes that are no DType.
constexpr OtherType kOtherTypes[] = {{0, "undefined", 0},
                                     {14, "complex64", 64},
                                     {15, "complex128", 128},
                                     {27, "float6_e2m3fn", 6},
                                     {28, "float6_e3m2fn", 6}};

const OtherType* find_other(std::int64_t type) {
  const auto* const found = std::ranges::find(kOtherTypes, type, &OtherType::onnx);
  return found == std::end(kOtherTypes) ? nullptr : found;
}

std::string name_of(const OnnxTensor& tensor) {
  return tensor.name.empty() ? "a tensor" : "tensor " + quote(tensor.name);
}

Result<Dims> read_dims(const OnnxTensor& tensor) {
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0) {
      return invalid_model(fmt::format("{} has the dimension {}", name_of(tensor), dim));
    }
  }
  return Dims(tensor.dims);
}

Result<std::int64_t> byte_size(const OnnxTensor& tensor, DType dtype, const Dims& dims) {
  const auto bytes = bytes_of(dtype, dims);
  if (!bytes) {
    return invalid_model(
        fmt::format("the size of {} {} overflows", name_of(tensor), dims.to_string()));
  }
  return *bytes;
}

std::span<const std::byte> as_bytes(std::string_view view) {
  return std::as_bytes(std::span(view.data(), view.size()));
}

/// Kernels read bools as C++ bools, for which other bytes than 0 and 1 are undefined.
Status check_bools(const OnnxTensor& tensor, std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) {
    if (std::to_integer<unsigned>(b) > 1) {
      return invalid_model(
          fmt::format("bool {} holds the byte {}", name_of(tensor), std::to_integer<int>(b)));
    }
  }
  return {};
}

template <class T>
Constant own(DType dtype, const Dims& dims, std::vector<T> elements) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
  return Constant{dtype, dims, std::as_bytes(std::span(*owner)), owner};
}

tl::unexpected<Error> size_error(const OnnxTensor& tensor, DType dtype, const Dims& dims,
                                 std::size_t stored, std::string_view unit) {
  return invalid_model(fmt::format("{} is declared as {} {} but stores {} {}", name_of(tensor),
                                   to_string(dtype), dims.to_string(), stored, unit));
}

std::size_t bytes_in(const std::vector<std::string_view>& runs) {
  std::size_t bytes = 0;
  for (const std::string_view run : runs) bytes += run.size();
  return bytes;
}

/// The least and the greatest number that a field may hold for a type.
struct FieldRange {
  std::int64_t low, high;
};
template <class T>
constexpr FieldRange kRangeOf = {static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                 static_cast<std::int64_t>(std::numeric_limits<T>::max())};

/// Elements of varint runs, each in `range`. int32_data may sign-extend negative values to 64 bits
/// or not. Of elements below a byte each number has a byte's.
template <class T>
Result<Constant> decode_varints(const OnnxTensor& tensor, DType dtype, const Dims& dims,
                                FieldRange range = kRangeOf<T>) {
  const auto count = static_cast<std::size_t>(bytes_of(dtype, dims).value_or(0)) / sizeof(T);
  std::vector<T> elements;
  const std::size_t stored_bytes = bytes_in(tensor.runs);
  if (count > stored_bytes) return size_error(tensor, dtype, dims, stored_bytes, "bytes");
  elements.reserve(count);
  for (const std::string_view run : tensor.runs) {
    const char* p = run.data();
    const char* end = p + run.size();
    while (p != end) {
      auto element = static_cast<std::int64_t>(protozero::decode_varint(&p, end));
      if (tensor.field == OnnxField::kInt32) element = static_cast<std::int32_t>(element);
      if (sizeof(T) < sizeof element && (element < range.low || element > range.high)) {
        return invalid_model(fmt::format("{} holds {}, which is not a valid {}", name_of(tensor),
                                         element, to_string(dtype)));
      }
      if (elements.size() == count) {
        return size_error(tensor, dtype, dims, count + 1, "or more elements");
      }
      elements.push_back(static_cast<T>(element));
    }
  }
  if (elements.size() != count) return size_error(tensor, dtype, dims, elements.size(), "elements");
  return own(dtype, dims, std::move(elements));
}

/// float_data and double_data, whose numbers are bytes as memory has them.
Result<Constant> decode_floats(const OnnxTensor& tensor, DType dtype, const Dims& dims,
                               const std::shared_ptr<const void>& owner) {
  const auto& runs = tensor.runs;
  const std::size_t bytes = bytes_in(runs);
  if (bytes != static_cast<std::size_t>(bytes_of(dtype, dims).value_or(0)))
    return size_error(tensor, dtype, dims, bytes, "bytes");
  if (runs.size() == 1) return Constant{dtype, dims, as_bytes(runs[0]), owner};
  std::vector<char> joined;
  joined.reserve(bytes);
  for (const std::string_view run : runs) joined.insert(joined.end(), run.begin(), run.end());
  return own(dtype, dims, std::move(joined));
}

/// The field that holds elements of a type.
OnnxField field_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return OnnxField::kFloat;
    case DType::kF64:
      return OnnxField::kDouble;
    case DType::kI64:
      return OnnxField::kInt64;
    case DType::kString:
      return OnnxField::kString;
    case DType::kU32:
    case DType::kU64:
      return OnnxField::kUint64;
    default:
      return OnnxField::kInt32;
  }
}

/// Whether elements lie in fields of other types.
bool stores_others(const OnnxTensor& tensor, DType dtype) {
  return tensor.mixed || (tensor.field != OnnxField::kNone && tensor.field != field_of(dtype));
}

Result<Constant> decode_field(const OnnxTensor& tensor, DType dtype, const Dims& dims,
                              const std::shared_ptr<const void>& owner) {
  if (dtype == DType::kBool) return decode_varints<std::uint8_t>(tensor, dtype, dims, {0, 1});
  if (info_of(dtype).bits < 8) return decode_varints<std::uint8_t>(tensor, dtype, dims);
  constexpr DTypeSet kOthers = kByteTypes & ~dtype_bit(DType::kBool);
  return dispatch<kOthers>(dtype, [&](auto type) -> Result<Constant> {
    using T = typename decltype(type)::type;
    if constexpr (std::is_floating_point_v<T>) {
      return decode_floats(tensor, dtype, dims, owner);
    } else if constexpr (std::is_integral_v<T>) {
      return decode_varints<T>(tensor, dtype, dims);
    } else {  // its bits
      return decode_varints<decltype(T::bits)>(tensor, dtype, dims);
    }
  });
}

Result<Constant> decode_typed(const OnnxTensor& tensor, DType dtype, const Dims& dims,
                              const std::shared_ptr<const void>& owner) {
  if (stores_others(tensor, dtype)) {
    return invalid_model(fmt::format("{} is declared as {} but stores elements of another type",
                                     name_of(tensor), to_string(dtype)));
  }
  try {
    return decode_field(tensor, dtype, dims, owner);
  } catch (const protozero::exception& e) {
    return invalid_model(
        fmt::format("{} is truncated or malformed ({})", name_of(tensor), e.what()));
  }
}

Result<Constant> read_strings(const OnnxTensor& tensor, const Dims& dims) {
  if (stores_others(tensor, DType::kString) || tensor.raw_data || tensor.data_location != 0)
    return invalid_model(name_of(tensor) + " is of strings but stores other elements");
  if (auto constant = make_strings(dims, tensor.runs)) return *std::move(constant);
  return size_error(tensor, DType::kString, dims, tensor.runs.size(), "elements");
}

}  // namespace

std::string onnx_type_name(std::int64_t type) {
  if (const auto dtype = dtype_from_onnx(type)) return std::string(to_string(*dtype));
  const OtherType* const other = find_other(type);
  return other == nullptr ? fmt::format("type {}", type) : std::string(other->name);
}

std::optional<std::int64_t> onnx_bytes(std::int64_t type, std::int64_t elements) {
  const auto dtype = dtype_from_onnx(type);
  if (dtype && info_of(*dtype).bits > 0) return bytes_of(*dtype, elements);
  const OtherType* const other = find_other(type);
  const auto bits = checked_mul(elements, other == nullptr ? 0 : other->bits);
  return bits ? std::optional(*bits / 8 + (*bits % 8 == 0 ? 0 : 1)) : std::nullopt;
}

Result<DType> onnx_dtype(std::int64_t type, const std::string& what) {
  const auto dtype = dtype_from_onnx(type);
  if (dtype && (contains(kSizedTypes, *dtype) || *dtype == DType::kString)) return *dtype;
  if (type == 0 || (!dtype && find_other(type) == nullptr)) {
    return invalid_model(fmt::format("{} has the unknown element type {}", what, type));
  }
  return unsupported(fmt::format("{} has the element type {}, which is not supported", what,
                                 onnx_type_name(type)));
}

Result<Constant> read_tensor(const OnnxTensor& tensor, const std::shared_ptr<const void>& owner,
                             ExternalFiles& external) {
  PX_ASSIGN(const DType dtype, onnx_dtype(tensor.data_type, name_of(tensor)));
  PX_ASSIGN(const Dims dims, read_dims(tensor));
  if (dtype == DType::kString) return read_strings(tensor, dims);
  PX_ASSIGN(const std::int64_t size, byte_size(tensor, dtype, dims));
  if (tensor.segment) return unsupported(name_of(tensor) + " is stored in segments");
  const bool typed = tensor.field != OnnxField::kNone;
  const bool is_external = tensor.data_location == 1;
  if (tensor.data_location != 0 && !is_external) {
    return invalid_model(
        fmt::format("{} has the unknown data location {}", name_of(tensor), tensor.data_location));
  }
  if (static_cast<int>(typed) + static_cast<int>(tensor.raw_data.has_value()) +
          static_cast<int>(is_external) >
      1) {
    return invalid_model(name_of(tensor) + " stores its elements twice");
  }
  if (is_external) {
    auto bytes = read_external(external, tensor.external_data, size);
    if (!bytes) {
      Error error = std::move(bytes).error();
      error.message = fmt::format("{}: {}", name_of(tensor), error.message);
      return tl::unexpected(std::move(error));
    }
    if (dtype == DType::kBool) PX_RETURN_IF_ERROR(check_bools(tensor, bytes->bytes));
    return Constant{dtype, dims, bytes->bytes, std::move(bytes->owner)};
  }
  if (!tensor.external_data.empty()) {
    return invalid_model(name_of(tensor) + " has external data but is not stored externally");
  }
  if (!tensor.raw_data) return decode_typed(tensor, dtype, dims, owner);
  if (tensor.raw_data->size() != static_cast<std::size_t>(size)) {
    return size_error(tensor, dtype, dims, tensor.raw_data->size(), "bytes");
  }
  if (dtype == DType::kBool) PX_RETURN_IF_ERROR(check_bools(tensor, as_bytes(*tensor.raw_data)));
  return Constant{dtype, dims, as_bytes(*tensor.raw_data), owner};
}

}  // namespace parallax
