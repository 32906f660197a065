#include <gtest/gtest.h>

#include <string>

#include "compile/compile_test_util.h"

namespace parallax {
namespace {

std::string replaced(std::string text, std::string_view type) {
  for (std::size_t at = text.find("TYPE"); at != std::string::npos; at = text.find("TYPE"))
    text.replace(at, 4, type);
  return text;
}

// A kernel, a view, and slices that a body reads: inference accepts any type for them.
constexpr std::string_view kGraphs[] = {
    "input x TYPE [3, 2]\ny = Transpose(x) {perm = [1, 0]} @moved\noutput y\n",
    "input x TYPE [3, 2]\ny = Flatten(x) @moved\noutput y\n",
    R"(input s f32 [2]
       input x TYPE [3, 2]
       t, whole = Scan(s, x) {num_scan_inputs = 1, scan_input_axes = [1]} @moved
       body
         input acc f32 [2]
         input column TYPE [3]
         output acc, column
       end
       output t, whole)"};

TEST(Types, OfAnySizeAreMovedAndThoseOfBytesSliced) {
  for (const DTypeInfo& type : kDTypes) {
    if (type.bits == 0) continue;  // inference refuses them
    for (const std::string_view graph : kGraphs) {
      const auto compiled = compile(context_of(replaced(std::string(graph), type.text)), {}, {});
      const bool sliced = graph.find("Scan") != std::string_view::npos;
      ASSERT_EQ(compiled.has_value(), !sliced || type.bits >= 8) << type.text;
      if (compiled) continue;
      EXPECT_EQ(compiled.error().code, ErrorCode::kUnsupported);
      EXPECT_EQ(compiled.error().node, "moved");
      EXPECT_NE(compiled.error().message.find("slices of 'x'"), std::string::npos)
          << compiled.error().message;
    }
  }
}

}  // namespace
}  // namespace parallax
