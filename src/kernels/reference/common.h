// Helpers of the reference kernels: element types as C++ types, errors, element access. Only
// kernels/ and delegates/opencl include this. Functions are pure. Tiles of reference kernels are
// cut by shapes and by constants such as those below, never by caches or instruction sets.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/checked.h"
#include "base/convert.h"
#include "base/status.h"
#include "ir/dtype_sets.h"
#include "kernels/kernel.h"

namespace parallax {

/// Result of a KernelFactory; a null kernel means that the request is not supported. Errors are of
/// stage kCompile, for requests that no kernel can run.
using KernelResult = Result<std::unique_ptr<Kernel>>;

/// A bool as memory holds it: any byte but 0 is true. Files and users may supply bytes other than 0
/// and 1, which a C++ bool must not hold. Copies keep the byte as it is; only a conversion from
/// bool normalises it. It converts to and from bool implicitly, so that generic code treats it as
/// one.
struct BoolByte {
  std::uint8_t byte = 0;  ///< as stored; constructors write 0 or 1
  BoolByte() = default;
  BoolByte(bool value) : byte(value ? 1 : 0) {}  // NOLINT(google-explicit-constructor)
  operator bool() const { return byte != 0; }    // NOLINT(google-explicit-constructor)
};
// Tensors of bool are read as arrays of it.
static_assert(sizeof(BoolByte) == 1);

/// Calls make(std::type_identity<T>{}), which returns a KernelResult, with the C++ type of `dtype`,
/// BoolByte for bool. Returns a null kernel if `dtype` is not a native type of the set: kernels
/// compute in native types only, and the registry widens tensors of other types. `make` is
/// instantiated for each type of the set that is native, and called at most once. Errors: those of
/// `make`.
template <DTypeSet kSet, class Make>
KernelResult make_for(DType dtype, Make make) {
  return dispatch<kSet & kNativeTypes>(dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make(std::type_identity<std::conditional_t<std::is_same_v<T, bool>, BoolByte, T>>{});
  });
}
/// Variant that passes the unsigned integer of the element's size, for kernels that only move
/// elements. Returns a null kernel for elements smaller than a byte. Floats and integers of a size
/// share one kernel, so that it is compiled four times only.
template <class Make>
KernelResult make_for_size(DType dtype, Make make) {
  switch (size_of(dtype)) {
    case 1:
      return make(std::type_identity<std::uint8_t>{});
    case 2:
      return make(std::type_identity<std::uint16_t>{});
    case 4:
      return make(std::type_identity<std::uint32_t>{});
    case 8:
      return make(std::type_identity<std::uint64_t>{});
    default:
      return nullptr;
  }
}

/// Make errors for early returns: of stage kRun from run_tile(), of stage kCompile from factories.
/// The caller adds the node's name. Messages are lower-case phrases without a full stop, e.g. "an
/// input is left out".
inline tl::unexpected<Error> run_error(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kRun, code, {}, std::move(message)});
}
inline tl::unexpected<Error> make_error(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kCompile, code, {}, std::move(message)});
}

/// Checks that no input is left out, for operators with a variable number of inputs. Called by
/// factories of Concat, Sum, Einsum and the like. Errors: kInvalidModel.
inline Status require_all_inputs(const KernelRequest& request) {
  for (const TensorDesc& input : request.inputs) {
    if (!input.present) return make_error(ErrorCode::kInvalidModel, "an input is left out");
  }
  return {};
}

/// Elements of one tile of an operator that does little work per element. Kernels whose elements
/// cost more use a fraction of it.
inline constexpr std::int64_t kElementsPerTile = 1 << 15;
/// Multiply-accumulate operations of one tile of a matrix product or convolution. A tile has whole
/// rows or pixels, so one may have more.
inline constexpr std::int64_t kMacsPerTile = 1 << 18;

/// Read and write element `i` of memory of any alignment. `i` counts elements of T from `bytes` on,
/// without a check of bounds: kernels derive it from shapes that were inferred before.
template <class T>
T load_element(const std::byte* bytes, std::int64_t i) {
  T value;
  std::memcpy(&value, bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <class T>
void store_element(std::byte* bytes, std::int64_t i, T value) {
  std::memcpy(bytes + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}
/// Returns element `i` of a tensor of any alignment. For axes, shapes and indices that are inputs:
/// they may be read from a mapped file at any address. REQUIRES: `dtype` is kI64 or kI32.
inline std::int64_t load_index(const std::byte* bytes, DType dtype, std::int64_t i) {
  return dtype == DType::kI64 ? load_element<std::int64_t>(bytes, i)
                              : load_element<std::int32_t>(bytes, i);
}
/// Returns `axis` counted from the front. Callers check the range first: attributes in shape
/// inference, axes that are inputs in run_tile(). REQUIRES: -rank <= axis < rank.
inline int positive_axis(std::int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}
/// Returns the product of dimensions [begin, end); 1 if there are none. Used for strides and for
/// sizes of blocks of axes; dimensions of a tensor that exists always fit. REQUIRES: it fits 63
/// bits.
inline std::int64_t count_of(const Dims& dims, int begin, int end) {
  std::int64_t count = 1;
  for (int axis = begin; axis < end; ++axis) count *= dims[axis];
  return count;
}

/// Add, subtract and multiply: integers wrap modulo 2^bits without undefined behaviour, floats
/// follow IEEE 754. Kernels use them for sums and products of elements, so that overflow is
/// defined.
template <class T>
T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}
template <class T>
T wrap_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) - static_cast<U>(b)));
  } else {
    return a - b;
  }
}
template <class T>
T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) * static_cast<U>(b)));
  } else {
    return a * b;
  }
}

/// Converts as Cast does: integers wrap, floats saturate if converted to integers (NaN as in
/// convert_number()), bool is "not zero". Floats are truncated towards zero before they saturate.
/// NaN becomes true as a bool.
template <class To, class From>
To convert(From x) {
  // BoolByte is a class, which convert_number() does not know.
  if constexpr (std::is_same_v<To, BoolByte>) {
    return BoolByte(x != From{0});
  } else if constexpr (std::is_same_v<From, BoolByte>) {
    return static_cast<To>(x ? 1 : 0);
  } else {
    return convert_number<To>(x);
  }
}

}  // namespace parallax
