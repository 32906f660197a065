#include "ir/text/text.h"

#include <gtest/gtest.h>

#include "ir/builder.h"

namespace parallax {
namespace {

constexpr std::string_view kGolden = R"(graph demo
symbols batch seq
data_symbols found
symbols "odd name"
input x f32 [batch, seq, 768]
input ids i64 [2*seq + 1, "odd name", found]
const w f32 [768, 3] = fill 0.5
const "a/b\"\\" i64 [3] = [1, -2, 9223372036854775807]
const flags bool [2] = [0, 1]
const scalar f32 [] = [1e-05]
const none f32 [0, 4] = []
symbolic shape i64 [3] = [batch, -batch*seq + 3, max(1, floor_div(seq, 2))]
h: f32 [batch, seq, 3] = MatMul(x, w) then Silu {alpha = 1.702} @MatMul_0
a: f32 [], _, b: f32 [] = Split(h) {axis = 1, fill = tensor u8 [2, 2] [1, 2, 3, 4], mode = "x y", num = -2.0, sizes = [1, 2], weights = floats [1.0, inf]} @"my split"
y: f32 [] = Clip(a, _, scalar) @Clip_2
output y, b, w
)";

TEST(Text, RoundTrip) {
  const auto graph = parse_graph(kGolden);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(print(*graph), kGolden);
  const auto status = verify(*graph, Stage::kLoad);
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(Text, ReadsWhatPeopleWrite) {
  const auto graph = parse_graph(R"(
    symbols s   # the length
    input x f32 [s, (s + 1)*2]
    const one i64 [1] = fill 1

    y = Relu(x)
    output y)");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->nodes[NodeId{0}].name, "Relu_0");
  EXPECT_EQ(graph->values[graph->outputs[0]].shape, Shape{});
  EXPECT_EQ(to_string(graph->values[graph->inputs[0]].shape, graph->symbol_names()), "sx(2*s + 2)");
}

TEST(Text, LongConstantsAreAbbreviatedAndRefused) {
  Graph graph;
  GraphBuilder builder(graph);
  std::vector<std::int64_t> elements(100);
  elements[7] = 1;
  builder.output(builder.ints("w", elements));
  const std::string text = print(graph);
  EXPECT_NE(text.find("..."), std::string::npos);
  EXPECT_FALSE(parse_graph(text));
}

TEST(Text, HasEveryElementType) {
  for (const DTypeInfo& type : kDTypes) {
    const std::string input = "input x " + std::string(type.text) + " [3]\n";
    const auto graph = parse_graph(input);
    ASSERT_TRUE(graph) << type.text;
    EXPECT_EQ(print(*graph), input);
    const auto constant = parse_graph("const c " + std::string(type.text) + " [2] = [1, 1]\n");
    EXPECT_EQ(constant.has_value(), type.bits > 0) << type.text;
    if (constant || type.kind == DTypeClass::kString) continue;
    EXPECT_NE(constant.error().message.find("have no text"), std::string::npos) << type.text;
  }
}

TEST(Text, ElementsAreReadAsTheyArePrinted) {
  for (const std::string_view text :
       {"const c f16 [3] = [0.5, -2.0, inf]\n", "const c f8e5m2 [2] = [0.75, nan]\n",
        "const c f64 [1] = [0.1]\n", "const c i4 [3] = [-8, 0, 7]\n",
        "const c u2 [5] = [0, 1, 2, 3, 0]\n", "const c f4e2m1 [2] = [-6.0, 0.5]\n",
        "const c u4 [5] = fill 9\n", "const c i2 [0] = []\n",
        "const c u64 [1] = [18446744073709551615]\n", "const c u16 [70] = fill 65535\n"}) {
    const auto graph = parse_graph(text);
    ASSERT_TRUE(graph) << text << graph.error().to_string();
    EXPECT_EQ(print(*graph), text);
  }
}

TEST(Text, ErrorsNameTheLine) {
  for (const std::string_view bad : {"y = Relu(x)",
                                     "input x f99 [1]",
                                     "input x f32 [n]",
                                     "input x f32 [1",
                                     "const c f32 [2] = [1]",
                                     "const c i64 [1] = [1.5]",
                                     "const c f32 [99999999999] = fill 0",
                                     "y = Nothing()",
                                     "input x f32 [9223372036854775808]",
                                     "input x f32 [1,1,1,1,1,1,1,1,1]",
                                     "input x f32 [] junk",
                                     "graph \"open",
                                     "symbols a a",
                                     "y = Relu(_) then Exp",
                                     "output _",
                                     "?",
                                     "const c i64 [-1] = []",
                                     "const c i4 [1] = [8]",
                                     "const c u2 [1] = [-1]",
                                     "const c u4 [1] = [1, 2]",
                                     "const c f16 [1] = [x]"}) {
    const auto graph = parse_graph("# first\n" + std::string(bad));
    ASSERT_FALSE(graph) << bad;
    EXPECT_EQ(graph.error().code, ErrorCode::kInvalidModel) << bad;
    EXPECT_EQ(graph.error().message.rfind("line 2: ", 0), 0U) << graph.error().message;
  }
}

TEST(Text, DeepNestingIsRefused) {
  EXPECT_FALSE(parse_graph("input x f32 [" + std::string(100000, '(') + "]"));
  EXPECT_FALSE(parse_graph("input x f32 [" + std::string(100000, '-') + "1]"));
}

}  // namespace
}  // namespace parallax
