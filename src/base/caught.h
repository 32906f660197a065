// Turns exceptions of the standard library into errors, even with no memory left for a message.
// Thread-safety: pure function.
#pragma once

#include "parallax/result.h"

namespace parallax {

/// The exception that is being handled: kOutOfMemory for bad_alloc, for length_error, and if there
/// is no memory for the message; otherwise kInternal. The message is never empty, whatever was
/// thrown. Call it in a catch block only.
Error caught(Stage stage) noexcept;

}  // namespace parallax
