#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ir/text/text.h"
#include "lower/patterns/patterns.h"
#include "ops/infer.h"

namespace parallax {
namespace {

/// Parts of Swin v2's attention that a case may write otherwise.
struct Parts {
  std::string lengths = "l = ReduceL2(qt, last)\nm = ReduceL2(kt, last)\n";
  std::string clips = "lc = Clip(l, eps)\nmc = Clip(m, eps)\n";
  std::string units = "qn = Div(qt, lc)\nkn = Div(kt, mc)\n";
  std::string scale = "a = Mul(p, scale)\n";
  std::string bias = "c = Add(bias, a)\n";
  std::string mask = "e = Identity(c)\n";
  std::string tail = "output y";
};

std::string text_of(const Parts& parts) {
  return "symbols b\ninput q f32 [4, 9, 3, 8]\ninput k f32 [4, 9, 3, 8]\n"
         "input v f32 [4, 9, 3, 5]\nconst scale f32 [3, 1, 1] = [1, 2, 3]\n"
         "const bias f32 [1, 3, 9, 9] = fill 0.5\nconst masks f32 [1, 2, 1, 9, 9] = fill 0.25\n"
         "const one f32 [1, 1, 1, 9, 9] = fill 0.25\n"
         "const eps f32 [] = [0.5]\nconst eps2 f32 [] = [0.25]\nconst last i64 [1] = [-1]\n"
         "const first i64 [1] = [1]\nconst shape i64 [4] = [4, 3, 9, 8]\n"
         "const windows i64 [5] = [2, 2, 3, 9, 9]\nconst flat i64 [4] = [4, 3, 9, 9]\n"
         "qt = Transpose(q) {perm = [0, 2, 1, 3]}\nkt = Transpose(k) {perm = [0, 2, 1, 3]}\n"
         "vt = Transpose(v) {perm = [0, 2, 1, 3]}\n" +
         parts.lengths + parts.clips + parts.units +
         "kf = Transpose(kn) {perm = [0, 1, 3, 2]}\np = MatMul(qn, kf)\n" + parts.scale +
         parts.bias + parts.mask +
         "w = Softmax(e)\nr = MatMul(w, vt)\ny = Transpose(r) {perm = [0, 2, 1, 3]}\n" + parts.tail;
}

struct CosineCase {
  const char* name;
  Parts parts;
  const char* inputs;  ///< inputs of CosineAttention; empty if the pass must not fire
};

void PrintTo(const CosineCase& row, std::ostream* out) { *out << row.name; }

const std::string kWindows = "c1 = Reshape(c, windows)\n";
const std::string kBack = "e = Reshape(c2, flat)\n";

const std::vector<CosineCase> kCosineCases = {
    // "e = Identity(c)" is gone when the pass runs; the cases without mask say so.
    {"Bias", {.bias = "e = Add(bias, a)\n", .mask = ""}, "q k v 3 3x9x9"},
    {"NoBias", {.scale = "e = Mul(scale, p)\n", .bias = "", .mask = ""}, "q k v 3"},
    {"OneScaleForAllHeads",
     {.scale = "a = Mul(p, eps)\n", .bias = "e = Add(bias, a)\n", .mask = ""},
     "q k v 3 3x9x9"},
    {"SquaresOfSizes",
     {.lengths = "qa = Abs(qt)\nqq = Mul(qa, qa)\nqs = ReduceSum(qq, last)\nl = Sqrt(qs)\n"
                 "ka = Abs(kt)\nkk = Mul(ka, ka)\nks = ReduceSum(kk, last)\nm = Sqrt(ks)\n",
      .bias = "e = Add(bias, a)\n",
      .mask = ""},
     "q k v 3 3x9x9"},
    {"Mask", {.mask = kWindows + "c2 = Add(c1, masks)\n" + kBack}, "q k v 3 3x9x9 2x9x9"},
    {"MaskWithoutBias",
     {.scale = "c = Mul(p, scale)\n",
      .bias = "",
      .mask = kWindows + "c2 = Add(c1, masks)\n" + kBack},
     "q k v 3 - 2x9x9"},
    {"MaskTwice",
     {.mask = kWindows + "c0 = Add(masks, c1)\nc2 = Add(c0, masks)\n" + kBack},
     "q k v 3 3x9x9 2x9x9"},
    {"Expanded",
     {.units = "le = Expand(lc, shape)\nqn = Div(qt, le)\nme = Expand(mc, shape)\n"
               "kn = Div(kt, me)\n",
      .bias = "e = Add(bias, a)\n",
      .mask = ""},
     "q k v 3 3x9x9"},
    {"Unclipped",
     {.clips = "",
      .units = "qn = Div(qt, l)\nkn = Div(kt, m)\n",
      .bias = "e = Add(bias, a)\n",
      .mask = ""},
     "q k v 3 3x9x9"},
    {"LengthsBeforeHeads",
     {.lengths = "ql = ReduceL2(q, last)\nl = Transpose(ql) {perm = [0, 2, 1, 3]}\n"
                 "kl = ReduceL2(k, last)\nm = Transpose(kl) {perm = [0, 2, 1, 3]}\n",
      .bias = "e = Add(bias, a)\n",
      .mask = ""},
     "q k v 3 3x9x9"},
    {"LengthsOfOtherBeforeHeads",
     {.lengths = "ql = ReduceL2(k, last)\nl = Transpose(ql) {perm = [0, 2, 1, 3]}\n"
                 "kl = ReduceL2(q, last)\nm = Transpose(kl) {perm = [0, 2, 1, 3]}\n",
      .bias = "e = Add(bias, a)\n",
      .mask = ""},
     ""},
    {"OtherEpsilon",
     {.clips = "lc = Clip(l, eps)\nmc = Clip(m, eps2)\n", .bias = "e = Add(bias, a)\n", .mask = ""},
     ""},
    {"LengthOfOther",
     {.lengths = "l = ReduceL2(kt, last)\nm = ReduceL2(qt, last)\n",
      .bias = "e = Add(bias, a)\n",
      .mask = ""},
     ""},
    {"LengthAlongHeads",
     {.lengths = "l = ReduceL2(qt, first)\nm = ReduceL2(kt, first)\n",
      .bias = "e = Add(bias, a)\n",
      .mask = ""},
     ""},
    {"ClippedAbove",
     {.clips = "lc = Clip(l, eps, eps)\nmc = Clip(m, eps, eps)\n",
      .bias = "e = Add(bias, a)\n",
      .mask = ""},
     ""},
    {"NoScale", {.scale = "", .bias = "e = Add(bias, p)\n", .mask = ""}, ""},
    {"MaskOfAll", {.mask = kWindows + "c2 = Add(c1, one)\n" + kBack}, ""},
    {"ScoresRead",
     {.bias = "e = Add(bias, a)\n", .mask = "", .tail = "z = Neg(a)\noutput y, z"},
     ""},
    {"WeightsAreOutput", {.bias = "e = Add(bias, a)\n", .mask = "", .tail = "output y, w"}, ""},
};

std::string cosine_inputs(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op != OpKind::kCosineAttention) continue;
    EXPECT_EQ(graph.nodes.size(), 1U);
    std::string text;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i > 0) text += ' ';
      if (!node.inputs[i].valid()) {
        text += '-';
        continue;
      }
      const Value& value = graph.values[node.inputs[i]];
      text += value.kind == ValueKind::kInput ? value.name : to_string(value.shape, {});
    }
    return text;
  }
  return "";
}

class FuseCosineAttention : public testing::TestWithParam<CosineCase> {};

TEST_P(FuseCosineAttention, FiresExactlyWhereItMay) {
  auto graph = parse_graph(text_of(GetParam().parts));
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_TRUE(infer_graph(*graph));
  const Shape shape = graph->values[graph->outputs[0]].shape;
  const Result<int> changes = fuse_cosine_attention(*graph, {});
  ASSERT_TRUE(changes) << changes.error().to_string();
  EXPECT_EQ(cosine_inputs(*graph), GetParam().inputs);
  const Status valid = verify(*graph, Stage::kSimplify);
  EXPECT_TRUE(valid) << valid.error().to_string();
  const Status inferred = infer_graph(*graph);
  EXPECT_TRUE(inferred) << inferred.error().to_string();
  EXPECT_EQ(graph->values[graph->outputs[0]].shape, shape);
}

INSTANTIATE_TEST_SUITE_P(Table, FuseCosineAttention, testing::ValuesIn(kCosineCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(FuseCosineAttention, AddsUpMasks) {
  auto graph = parse_graph(
      text_of({.mask = kWindows + "c0 = Add(masks, c1)\nc2 = Add(c0, masks)\n" + kBack}));
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_TRUE(infer_graph(*graph));
  ASSERT_TRUE(fuse_cosine_attention(*graph, {}));
  ASSERT_EQ(graph->nodes.size(), 1U);
  const Node& node = graph->nodes[NodeId{0}];
  const auto& mask = graph->values[node.inputs.at(5)].constant;
  ASSERT_TRUE(mask.has_value());
  float first = 0;
  std::memcpy(&first, mask->bytes.data(), sizeof(first));
  EXPECT_EQ(first, 0.5F);
  EXPECT_EQ(node.attributes.get_float("epsilon", 0), 0.5F);
}

}  // namespace
}  // namespace parallax
