#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text/text.h"
#include "lower/patterns/patterns.h"
#include "ops/infer.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

const std::string kHead =
    "symbols b s t u\ninput q f32 [b, 6, s, 8]\ninput k f32 [b, 6, 8, t]\n"
    "input v f32 [b, 6, t, 5]\nconst c f32 [] = [0.5]\n";
const std::string kTail = "w = Softmax(a) {axis = -1}\ny = MatMul(w, v)\noutput y";

struct AttentionCase {
  const char* name;
  std::string text;
  const char* after;  ///< operators in order; FusedAttention with scale and inputs
};

void PrintTo(const AttentionCase& row, std::ostream* out) { *out << row.name; }

const std::vector<AttentionCase> kAttentionCases = {
    {"Plain", kHead + "a = MatMul(q, k)\n" + kTail, "FusedAttention(q,k,v)*1"},
    {"Scaled", kHead + "p = MatMul(q, k)\na = Mul(c, p)\n" + kTail, "FusedAttention(q,k,v)*0.5"},
    {"Divided", kHead + "p = MatMul(q, k)\na = Div(p, c)\n" + kTail, "FusedAttention(q,k,v)*2"},
    {"Masked",
     kHead + "input m f32 [b, 1, s, t]\np = MatMul(q, k)\nd = Mul(p, c)\na = Add(m, d)\n" + kTail,
     "FusedAttention(q,k,v,m)*0.5"},
    {"MaskOfKeys", kHead + "input m f32 [t]\np = MatMul(q, k)\na = Add(p, m)\n" + kTail,
     "FusedAttention(q,k,v,m)*1"},
    {"ChosenByWhere",
     kHead +
         "input m bool [b, 1, s, t]\np = MatMul(q, k)\nd = Mul(p, c)\n"
         "a = Where(m, d, c)\n" +
         kTail,
     "FusedAttention(q,k,v,_,m)*0.5"},
    {"ChosenAndMasked",
     kHead +
         "input m bool [s, t]\ninput n f32 [t]\np = MatMul(q, k)\nd = Where(m, c, p)\n"
         "a = Add(d, n)\n" +
         kTail,
     "FusedAttention(q,k,v,n,m)*1"},
    {"MaskedAndChosen",
     kHead +
         "input m bool [s, t]\ninput n f32 [t]\np = MatMul(q, k)\nd = Add(p, n)\n"
         "a = Where(m, d, c)\n" +
         kTail,
     "FusedAttention(q,k,v,n,m)*1"},
    {"ChosenTwice",
     kHead + "input m bool [s, t]\np = MatMul(q, k)\nd = Where(m, p, c)\na = Where(m, d, c)\n" +
         kTail,
     "MatMul Where Where Softmax MatMul"},
    {"ChosenByQuery", kHead + "input m bool [s, 1]\np = MatMul(q, k)\na = Where(m, p, c)\n" + kTail,
     "MatMul Where Softmax MatMul"},
    {"ChosenScoresRead",
     kHead + "input m bool [s, t]\np = MatMul(q, k)\na = Where(m, p, c)\nw = Softmax(a)\n"
             "y = MatMul(w, v)\nz = Neg(a)\noutput y, z",
     "MatMul Where Softmax MatMul Neg"},
    {"ScaledTwice", kHead + "p = MatMul(q, k)\nd = Mul(c, p)\na = Mul(c, d)\n" + kTail,
     "MatMul Mul Mul Softmax MatMul"},
    {"ScaledAfterMask",
     kHead + "input m f32 [t]\np = MatMul(q, k)\nd = Add(p, m)\na = Mul(d, c)\n" + kTail,
     "MatMul Add Mul Softmax MatMul"},
    {"DividesTheConstant", kHead + "p = MatMul(q, k)\na = Div(c, p)\n" + kTail,
     "MatMul Div Softmax MatMul"},
    {"MaskPerQuery", kHead + "input m f32 [s, 1]\np = MatMul(q, k)\na = Add(p, m)\n" + kTail,
     "MatMul Add Softmax MatMul"},
    {"MaskPerhapsLarger",
     kHead +
         "input m f32 [u, 1, s, t]\np = MatMul(q, k)\n"
         "a = Add(p, m)\n" +
         kTail,
     "MatMul Add Softmax MatMul"},
    {"MaskOfHigherRank",
     kHead + "input m f32 [1, 1, 1, s, t]\np = MatMul(q, k)\na = Add(p, m)\n" + kTail,
     "MatMul Add Softmax MatMul"},
    {"OtherAxis", kHead + "a = MatMul(q, k)\nw = Softmax(a) {axis = 2}\ny = MatMul(w, v)\noutput y",
     "MatMul Softmax MatMul"},
    {"WeightsRead",
     kHead + "a = MatMul(q, k)\nw = Softmax(a)\ny = MatMul(w, v)\nz = Neg(w)\noutput y, z",
     "MatMul Softmax MatMul Neg"},
    {"WeightsAreOutput", kHead + "a = MatMul(q, k)\n" + kTail + ", w", "MatMul Softmax MatMul"},
    {"ScoresAreOutput", kHead + "a = MatMul(q, k)\n" + kTail + ", a", "MatMul Softmax MatMul"},
    {"ScoresRead",
     kHead + "p = MatMul(q, k)\na = Mul(p, c)\nw = Softmax(a)\ny = MatMul(w, v)\nz = Neg(p)\n"
             "output y, z",
     "MatMul Mul Softmax MatMul Neg"},
    {"WeightsOnTheRight",
     kHead + "input u f32 [b, 6, 7, s]\na = MatMul(q, k)\nw = Softmax(a)\ny = MatMul(u, w)\n"
             "output y",
     "MatMul Softmax MatMul"},
    {"VectorOfValues",
     kHead + "input u f32 [t]\na = MatMul(q, k)\nw = Softmax(a)\ny = MatMul(w, u)\noutput y",
     "MatMul Softmax MatMul"},
    {"Chain",
     kHead + "a = MatMul(q, k)\nw = Softmax(a)\ny = MatMul(w, v)\ninput l f32 [b, 6, 5, t]\n"
             "d = MatMul(y, l)\ne = Softmax(d)\nz = MatMul(e, v)\noutput z",
     "FusedAttention(q,k,v)*1 FusedAttention(y,l,v)*1"},
};

std::string operators_with_inputs(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (!text.empty()) text += ' ';
    text += to_string(node.op);
    if (node.op != OpKind::kFusedAttention) continue;
    std::string names;
    for (const ValueId input : node.inputs) {
      names += names.empty() ? "" : ",";
      names += input.valid() ? graph.values[input].name : "_";
    }
    const float scale = node.attributes.get_float("scale", 1.0F);
    text += "(" + names + ")*" + (scale == 0.5F ? "0.5" : scale == 2.0F ? "2" : "1");
  }
  return text;
}

class FuseAttention : public testing::TestWithParam<AttentionCase> {};

TEST_P(FuseAttention, FiresExactlyWhereItMay) {
  expect_rewrite(GetParam().text, fuse_attention, operators_with_inputs, GetParam().after);
}

INSTANTIATE_TEST_SUITE_P(Table, FuseAttention, testing::ValuesIn(kAttentionCases),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace parallax
