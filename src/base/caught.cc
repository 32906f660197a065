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
      return error;
    } catch (const std::bad_alloc&) {
    }
  } catch (...) {
    error.code = ErrorCode::kInternal;
  }
  // So short that a string needs no memory for it.
  constexpr std::string_view kText = "out of memory";
  if (error.code == ErrorCode::kOutOfMemory) error.message = kText;
  return error;
}

}  // namespace parallax
