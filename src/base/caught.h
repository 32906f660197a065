// From exceptions of the standard library to errors, also where there is no memory left for a text.
// Thread-safety: pure function.
#pragma once

#include "parallax/result.h"

namespace parallax {

/// What is being handled: kOutOfMemory for bad_alloc, for lengths that no container has, and for
/// what else is thrown when not even its text finds memory; otherwise kInternal. For handlers only.
Error caught(Stage stage) noexcept;

}  // namespace parallax
