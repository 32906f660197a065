#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text/text.h"
#include "lower/patterns/patterns.h"
#include "ops/infer.h"

namespace parallax {
namespace {

struct PadCase {
  const char* name;
  std::string text;
  /// Operators with their pads afterwards, e.g. "Conv[1 1 2 2]".
  const char* after;
};

void PrintTo(const PadCase& row, std::ostream* out) { *out << row.name; }

std::string operators_with_pads(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += text.empty() ? "" : " ";
    text += to_string(node.op);
    std::string pads;
    for (const std::int64_t pad : node.attributes.get_ints("pads"))
      pads += (pads.empty() ? "" : " ") + std::to_string(pad);
    if (node.attributes.get_int("count_include_pad", 0) != 0) pads += " counted";
    if (!pads.empty()) text += "[" + pads + "]";
  }
  return text;
}

/// Returns text for x, its Pad `p` with `pads`, weights `w` of 3x3 and `v` of a depthwise 3x3.
std::string padded(const std::string& pads,
                   const std::string& image = "input x f32 [1, 2, 5, 5]\n") {
  return image + "const w f32 [2, 2, 3, 3] = fill 0.5\nconst v f32 [2, 1, 3, 3] = fill 0.5\n" +
         "const n i64 [8] = [" + pads + "]\nconst zero f32 [] = [0]\nconst one f32 [] = [1]\n" +
         "const low f32 [] = [-inf]\n";
}
const std::string kOne = "0, 0, 1, 1, 0, 0, 1, 1";
const std::string kPool = " {kernel_shape = [3, 3]";

const std::vector<PadCase> kPadCases = {
    {"Conv", padded(kOne) + "p = Pad(x, n)\ny = Conv(p, w)\noutput y", "Conv[1 1 1 1]"},
    {"ConvWithPads",
     padded("0, 0, 0, 1, 0, 0, 1, 0") +
         "p = Pad(x, n, zero)\ny = Conv(p, w) {pads = [1, 1, 1, 1]}\noutput y",
     "Conv[1 2 2 1]"},
    {"Depthwise", padded(kOne) + "p = Pad(x, n)\ny = Conv(p, v) {group = 2}\noutput y",
     "Conv[1 1 1 1]"},
    {"SymbolicSize",
     padded(kOne, "symbols h\ninput x f32 [1, 2, h, 5]\n") +
         "p = Pad(x, n)\ny = Conv(p, w)\noutput y",
     "Conv[1 1 1 1]"},
    {"ChannelsLast",
     padded("0, 1, 2, 0, 0, 1, 0, 0", "input x f32 [1, 5, 5, 2]\n") +
         "p = Pad(x, n)\ny = Conv(p, w) {layout = \"NHWC\"}\noutput y",
     "Conv[1 2 1 0]"},
    {"ChannelsLastThatArePadded",
     padded("0, 0, 1, 1, 0, 0, 1, 0", "input x f32 [1, 7, 5, 1]\n") +
         "p = Pad(x, n)\ny = Conv(p, w) {layout = \"NHWC\"}\noutput y",
     "Pad Conv"},
    {"AutoPadValid",
     padded(kOne) + "p = Pad(x, n)\ny = Conv(p, w) {auto_pad = \"VALID\"}\noutput y",
     "Conv[1 1 1 1]"},
    {"Dilated",
     padded("0, 0, 4, 4, 0, 0, 4, 4") +
         "p = Pad(x, n)\ny = Conv(p, w) {dilations = [2, 2]}\noutput y",
     "Conv[4 4 4 4]"},
    {"TwoReaders",
     padded(kOne) + "p = Pad(x, n)\ny = Conv(p, w)\nz = Conv(p, v) {group = 2}\noutput y, z",
     "Conv[1 1 1 1] Conv[1 1 1 1]"},
    {"NamedAxes",
     padded(kOne) + "const m i64 [2] = [2, 1]\nconst a i64 [1] = [-1]\n"
                    "p = Pad(x, m, zero, a)\ny = Conv(p, w)\noutput y",
     "Conv[0 2 0 1]"},
    {"AveragePool", padded(kOne) + "p = Pad(x, n)\ny = AveragePool(p)" + kPool + "}\noutput y",
     "AveragePool[1 1 1 1 counted]"},
    {"MaxPoolOfRelu",
     padded(kOne) + "r = Relu(x)\np = Pad(r, n)\ny = MaxPool(p)" + kPool + "}\noutput y",
     "Relu MaxPool[1 1 1 1]"},
    {"MaxPoolOfLowest", padded(kOne) + "p = Pad(x, n, low)\ny = MaxPool(p)" + kPool + "}\noutput y",
     "MaxPool[1 1 1 1]"},

    {"OfOnes", padded(kOne) + "p = Pad(x, n, one)\ny = Conv(p, w)\noutput y", "Pad Conv"},
    {"Reflected", padded(kOne) + "p = Pad(x, n) {mode = \"reflect\"}\ny = Conv(p, w)\noutput y",
     "Pad Conv"},
    {"Cropped", padded("0, 0, -1, 1, 0, 0, 1, 1") + "p = Pad(x, n)\ny = Conv(p, w)\noutput y",
     "Pad Conv"},
    {"OfChannels",
     padded("0, 1, 0, 0, 0, 0, 0, 0", "input x f32 [1, 1, 5, 5]\n") +
         "p = Pad(x, n)\ny = Conv(p, w)\noutput y",
     "Pad Conv"},
    {"AnotherReader", padded(kOne) + "p = Pad(x, n)\ny = Conv(p, w)\nz = Neg(p)\noutput y, z",
     "Pad Conv Neg"},
    {"IsOutput", padded(kOne) + "p = Pad(x, n)\ny = Conv(p, w)\noutput y, p", "Pad Conv"},
    {"OfWeights",
     "input x f32 [1, 2, 5, 5]\ninput w f32 [2, 2, 1, 1]\nconst n i64 [8] = [" + kOne +
         "]\np = Pad(w, n)\ny = Conv(x, p)\noutput y",
     "Pad Conv"},
    {"AutoPadSame",
     padded(kOne) + "p = Pad(x, n)\ny = Conv(p, w) {auto_pad = \"SAME_UPPER\"}\noutput y",
     "Pad Conv"},
    {"WindowOfPaddingAlone",
     padded("0, 0, 3, 1, 0, 0, 1, 1") + "p = Pad(x, n)\ny = Conv(p, w)\noutput y", "Pad Conv"},
    {"RuntimePads",
     "input x f32 [1, 2, 5, 5]\ninput n i64 [8]\nconst w f32 [2, 2, 3, 3] = fill 0.5\n"
     "p = Pad(x, n)\ny = Conv(p, w)\noutput y",
     "Pad Conv"},
    {"MaxPoolOfAny", padded(kOne) + "p = Pad(x, n)\ny = MaxPool(p)" + kPool + "}\noutput y",
     "Pad MaxPool"},
    {"MaxPoolCeil",
     padded(kOne) + "p = Pad(x, n, low)\ny = MaxPool(p)" + kPool + ", ceil_mode = 1}\noutput y",
     "Pad MaxPool"},
    {"AveragePoolThatPads",
     padded(kOne) + "p = Pad(x, n)\ny = AveragePool(p)" + kPool +
         ", pads = [1, 1, 1, 1]}\noutput y",
     "Pad AveragePool[1 1 1 1]"},
};

class FusePad : public testing::TestWithParam<PadCase> {};

TEST_P(FusePad, FiresExactlyWhereItMay) {
  auto graph = parse_graph(GetParam().text);
  ASSERT_TRUE(graph) << graph.error().to_string();
  const Status before = infer_graph(*graph);
  ASSERT_TRUE(before) << before.error().to_string();
  std::vector<Shape> shapes;
  for (const ValueId output : graph->outputs) shapes.push_back(graph->values[output].shape);
  const Result<int> changes = fuse_pad(*graph, {});
  ASSERT_TRUE(changes) << changes.error().to_string();
  EXPECT_EQ(operators_with_pads(*graph), GetParam().after);
  EXPECT_EQ(*changes == 0, std::string(GetParam().after).find("Pad ") != std::string::npos);
  const Status valid = verify(*graph, Stage::kSimplify);
  EXPECT_TRUE(valid) << valid.error().to_string();
  const Status inferred = infer_graph(*graph);
  EXPECT_TRUE(inferred) << inferred.error().to_string();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    EXPECT_EQ(graph->values[graph->outputs[i]].shape, shapes[i]);
}

INSTANTIATE_TEST_SUITE_P(Table, FusePad, testing::ValuesIn(kPadCases),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace parallax
