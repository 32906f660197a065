// Turns errors of the library, which are values, into exceptions of the Python package. The GIL is
// held by all callers.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "parallax/result.h"

namespace parallax::python {

/// Raises the subclass of parallax.Error that belongs to the code.
[[noreturn]] void raise(const Error& error);
/// Raises parallax.InvalidInputError.
[[noreturn]] void raise_invalid(std::string message);

/// Returns the value, or raises the error.
template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace parallax::python
