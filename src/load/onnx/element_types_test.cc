#include "load/onnx/element_types.h"

#include <gtest/gtest.h>

#include "load/onnx_test_util.h"

namespace parallax {
namespace {

constexpr int kComplex64 = 14, kComplex128 = 15, kFloat6 = 27;

std::string input(std::string_view name, int type) { return value_info(name, type, {Dim(2)}); }

TEST(ElementTypes, AllThatAreMissingAreNamedTogether) {
  const std::string weights = tensor_head("w", kComplex128, {2});
  const struct {
    TestGraph graph;
    const char* message;
  } cases[] = {
      {{{node("Mul", {"x", "w"}, {"y"})},
        {weights},
        {input("x", kComplex64)},
        {input("y", kComplex64)}},
       "unsupported element types: complex64 (input 'x' and 1 more), complex128 (tensor 'w')"},
      {{{node("Identity", {"x"}, {"y"})}, {}, {input("x", kFloat6)}, {input("y", kFloat6)}},
       "input 'x' has the element type float6_e2m3fn, which is not supported"},
  };
  for (const auto& c : cases) {
    const auto graph = load(model(c.graph));
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(graph.error().message.find(c.message), std::string::npos) << graph.error().message;
  }
}

}  // namespace
}  // namespace parallax
