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
#include "load/onnx/names.h"

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

/// Elements of varint runs, each in the range of T. The field holds int32 or int64; negative values
/// may be sign-extended to 64 bits or not.
template <class T>
Result<Constant> decode_varints(const OnnxTensor& tensor, DType dtype, const Dims& dims,
                                const std::vector<std::string_view>& runs) {
  const auto count = static_cast<std::size_t>(dims.elements());
  std::vector<T> elements;
  std::size_t stored_bytes = 0;
  for (const std::string_view run : runs) stored_bytes += run.size();
  if (count > stored_bytes) return size_error(tensor, dtype, dims, stored_bytes, "bytes");
  elements.reserve(count);
  for (const std::string_view run : runs) {
    const char* p = run.data();
    const char* end = p + run.size();
    while (p != end) {
      auto element = static_cast<std::int64_t>(protozero::decode_varint(&p, end));
      if constexpr (sizeof(T) < sizeof(std::int64_t)) element = static_cast<std::int32_t>(element);
      const std::int64_t low = dtype == DType::kBool ? 0 : std::numeric_limits<T>::min();
      const std::int64_t high = dtype == DType::kBool ? 1 : std::numeric_limits<T>::max();
      if (element < low || element > high) {
        return invalid_model(
            fmt::format("{} holds {}, which is no {}", name_of(tensor), element, to_string(dtype)));
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

Result<Constant> decode_floats(const OnnxTensor& tensor, const Dims& dims,
                               const std::shared_ptr<const void>& owner) {
  std::size_t bytes = 0;
  for (const std::string_view run : tensor.float_data) bytes += run.size();
  const auto expected = static_cast<std::size_t>(dims.elements()) * sizeof(float);
  if (bytes != expected) return size_error(tensor, DType::kF32, dims, bytes, "bytes");
  if (tensor.float_data.size() == 1) {
    return Constant{DType::kF32, dims, as_bytes(tensor.float_data[0]), owner};
  }
  std::vector<char> joined;
  joined.reserve(bytes);
  for (const std::string_view run : tensor.float_data) {
    joined.insert(joined.end(), run.begin(), run.end());
  }
  return own(DType::kF32, dims, std::move(joined));
}

Result<Constant> decode_typed(const OnnxTensor& tensor, DType dtype, const Dims& dims,
                              const std::shared_ptr<const void>& owner) {
  const bool floats = !tensor.float_data.empty();
  const bool narrow = !tensor.int32_data.empty();
  const bool wide = !tensor.int64_data.empty();
  const bool wants_floats = info_of(dtype).kind == DTypeClass::kFloat;
  const bool wants_wide = dtype == DType::kI64;
  if ((floats && !wants_floats) || (wide && !wants_wide) ||
      (narrow && (wants_floats || wants_wide))) {
    return invalid_model(fmt::format("{} is declared as {} but stores elements of another type",
                                     name_of(tensor), to_string(dtype)));
  }
  try {
    return dispatch<kComputedTypes>(dtype, [&](auto type) -> Result<Constant> {
      using T = typename decltype(type)::type;
      if constexpr (std::is_same_v<T, float>) {
        return decode_floats(tensor, dims, owner);
      } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return decode_varints<T>(tensor, dtype, dims, tensor.int64_data);
      } else if constexpr (std::is_same_v<T, bool>) {
        return decode_varints<std::uint8_t>(tensor, dtype, dims, tensor.int32_data);
      } else {
        static_assert(std::is_integral_v<T> && sizeof(T) <= 4, "ONNX has int32_data for these");
        return decode_varints<T>(tensor, dtype, dims, tensor.int32_data);
      }
    });
  } catch (const protozero::exception& e) {
    return invalid_model(
        fmt::format("{} is truncated or malformed ({})", name_of(tensor), e.what()));
  }
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
  if (dtype && info_of(*dtype).computed) return *dtype;
  if (type == 0 || (!dtype && find_other(type) == nullptr)) {
    return invalid_model(fmt::format("{} has the unknown element type {}", what, type));
  }
  return unsupported(fmt::format("{} has the element type {}, which is not supported", what,
                                 onnx_type_name(type)));
}

Result<Constant> read_tensor(const OnnxTensor& tensor, const std::shared_ptr<const void>& owner,
                             ExternalData& external) {
  PX_ASSIGN(const DType dtype, onnx_dtype(tensor.data_type, name_of(tensor)));
  PX_ASSIGN(const Dims dims, read_dims(tensor));
  PX_ASSIGN(const std::int64_t size, byte_size(tensor, dtype, dims));
  if (tensor.segment) return unsupported(name_of(tensor) + " is stored in segments");
  const bool typed = !tensor.float_data.empty() || !tensor.int32_data.empty() ||
                     !tensor.int64_data.empty() || tensor.other_data;
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
    auto bytes = external.read(tensor.external_data, size);
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
