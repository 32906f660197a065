// Errors for a lack of memory, for the loaders of all formats. Thread-safety: pure function.
//
// Each loader wraps its outermost function in within_memory(), so that an out-of-memory condition
// while a file is read becomes an error of this load and reaches no caller as an exception.
#pragma once

#include <new>
#include <stdexcept>

#include "load/names.h"

namespace parallax {

/// Returns load(); kOutOfMemory if it throws for a lack of memory. `load` returns a Result. Other
/// exceptions pass through. Whatever `load` had made is freed by then.
template <class Load>
auto within_memory(Load load) -> decltype(load()) {
  try {
    return load();
  } catch (const std::bad_alloc&) {
    return tl::unexpected(load_error(ErrorCode::kOutOfMemory, "not enough memory for the model"));
  } catch (const std::length_error&) {
    return tl::unexpected(load_error(ErrorCode::kOutOfMemory, "not enough memory for the model"));
  }
}

}  // namespace parallax
