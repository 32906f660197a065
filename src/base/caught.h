// Turns exceptions of the standard library into errors, even if there is no memory left for a
// message. Thread-safe: reads the exception of the calling thread.
#pragma once

#include "parallax/result.h"

namespace parallax {

/// Returns the exception that is being handled as an error of `stage`: kOutOfMemory for
/// std::bad_alloc and std::length_error, and if there is no memory for the message; otherwise
/// kInternal. The message is never empty: "out of memory" for kOutOfMemory; otherwise what(), or
/// "unknown failure" if that is empty or the exception is no std::exception. The error names no
/// node. REQUIRES: called within a catch block.
Error caught(Stage stage) noexcept;

}  // namespace parallax
