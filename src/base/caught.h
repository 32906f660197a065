// Turns exceptions of the standard library into errors, even if there is no memory left for a
// message. Thread-safety: pure function.
#pragma once

#include "parallax/result.h"

namespace parallax {

/// Returns the exception that is being handled as an error of `stage`: kOutOfMemory for
/// std::bad_alloc and std::length_error, and if there is no memory for the message; otherwise
/// kInternal. The message is never empty, whatever was thrown. REQUIRES: called within a catch
/// block. The error names no node. Messages of std::exception are taken over as they are.
Error caught(Stage stage) noexcept;

}  // namespace parallax
