#include "base/caught.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

namespace parallax {

Error caught(Stage stage) noexcept {
  Error error{stage, ErrorCode::kOutOfMemory, {}, {}};
  try {
    throw;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  } catch (const std::exception& exception) {
    try {
      error.message = exception.what();
      error.code = ErrorCode::kInternal;
    } catch (const std::bad_alloc&) {
    }
  } catch (...) {
    error.code = ErrorCode::kInternal;
  }
  // So short that a string needs no memory for them.
  constexpr std::string_view kNoMemory = "out of memory", kUntold = "unknown failure";
  if (error.code == ErrorCode::kOutOfMemory) {
    error.message = kNoMemory;
  } else if (error.message.empty()) {
    error.message = kUntold;
  }
  return error;
}

}  // namespace parallax
