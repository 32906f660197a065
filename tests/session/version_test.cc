#include "parallax/version.h"

#include <gtest/gtest.h>

#include <string>

#include "parallax/parallax.h"

namespace parallax {
namespace {

TEST(Version, TextHasItsNumbers) {
  EXPECT_EQ(PARALLAX_VERSION, std::to_string(PARALLAX_VERSION_MAJOR) + "." +
                                  std::to_string(PARALLAX_VERSION_MINOR) + "." +
                                  std::to_string(PARALLAX_VERSION_PATCH));
}

TEST(Version, OneHeaderHasTheWholeApi) {
  const Error none = Session::create(*Model::load(ModelBytes{}), {.threads = -1}).error();
  EXPECT_EQ(none.code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace parallax
