#include "base/caught.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

namespace parallax {
namespace {

template <class Thrown>
Error error_of(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return caught(Stage::kCompile);
  }
}

TEST(Caught, SaysWhatWasThrown) {
  for (const Error& error : {error_of(std::bad_alloc()), error_of(std::length_error("too long"))}) {
    EXPECT_EQ(error.code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(error.stage, Stage::kCompile);
    EXPECT_EQ(error.message, "out of memory");
  }
  const Error error = error_of(std::runtime_error(std::string(100, 'x')));
  EXPECT_EQ(error.code, ErrorCode::kInternal);
  EXPECT_EQ(error.message, std::string(100, 'x'));
}

TEST(Caught, HasATextForWhatHasNone) {
  for (const Error& untold : {error_of(7), error_of(std::runtime_error(""))}) {
    EXPECT_EQ(untold.code, ErrorCode::kInternal);
    EXPECT_EQ(untold.message, "unknown failure");
  }
}

}  // namespace
}  // namespace parallax
