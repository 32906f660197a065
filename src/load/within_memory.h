// Errors for a lack of memory, for the loaders of all formats. Thread-safety: pure function.
#pragma once

#include <new>
#include <stdexcept>

#include "load/names.h"

namespace parallax {

/// Returns load(); kOutOfMemory if it throws for a lack of memory.
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
