// A model file that was cut short never loads, wherever the cut is.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "load/onnx/onnx.h"

namespace parallax {
namespace {

TEST(Truncation, TheDigitsModelCutAtFiveHundredPlaces) {
  std::ifstream file(PX_SOURCE_DIR "/models/digits/digits.onnx", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  ASSERT_GT(whole.size(), 500U);
  const auto load = [&](std::size_t size) {
    return load_onnx({std::as_bytes(std::span(whole.data(), size)), nullptr, {}});
  };
  EXPECT_TRUE(load(whole.size()));
  for (std::size_t i = 0; i < 500; ++i) {
    const std::size_t size = whole.size() * i / 500;
    const auto graph = load(size);
    ASSERT_FALSE(graph) << "cut at byte " << size << " of " << whole.size();
    EXPECT_EQ(graph.error().code, ErrorCode::kInvalidModel) << size;
    EXPECT_FALSE(graph.error().message.empty()) << size;
  }
}

}  // namespace
}  // namespace parallax
