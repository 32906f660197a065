// Maps C++ element types to DType constants.
#pragma once

#include <optional>
#include <type_traits>

#include "parallax/dtype.h"

namespace parallax {

/// Returns the DType whose elements have the C++ type T; nullopt if no DType has.
template <class T>
consteval std::optional<DType> find_dtype() {
  std::optional<DType> found;
#define PX_DTYPE(name, text, bits, kind, cpp, ...) \
  if (std::is_same_v<T, cpp> && !std::is_void_v<T>) found = DType::name;
#include "parallax/dtypes.def"
#undef PX_DTYPE
  return found;
}

/// The DType of T. Fails to compile if no DType has elements of that type.
template <class T>
requires(find_dtype<T>().has_value()) inline constexpr DType kDTypeOf = *find_dtype<T>();

}  // namespace parallax
