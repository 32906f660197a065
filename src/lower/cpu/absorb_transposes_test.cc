#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text/text.h"
#include "lower/cpu/lower.h"
#include "ops/infer.h"
#include "ops/params/fused_attention.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

const std::string kQuery = "symbols b s t\ninput q f32 [b, s, 6, 8]\n";
const std::string kInputs =
    kQuery + "input k f32 [b, t, 6, 8]\ninput v f32 [b, t, 6, 5]\nconst c f32 [] = [0.5]\n";
const std::string kOperands =
    "qt = Transpose(q) {perm = [0, 2, 1, 3]}\nkt = Transpose(k) {perm = [0, 2, 3, 1]}\n"
    "vt = Transpose(v) {perm = [0, 2, 1, 3]}\n";
const std::string kTransposedAttention = "y = FusedAttention(qt, kt, vt)\n";

struct TransposeCase {
  const char* name;
  std::string text;
  const char* after;  ///< operators in order; of FusedAttention also scale, inputs and permutations
};

void PrintTo(const TransposeCase& row, std::ostream* out) { *out << row.name; }

const std::vector<TransposeCase> kTransposeCases = {
    {"All",
     kInputs + kOperands + kTransposedAttention +
         "z = Transpose(y) {perm = [0, 2, 1, 3]}\noutput z",
     "FusedAttention(q0213,k0231,v0213)0213"},
    {"OperandsOnly", kInputs + kOperands + kTransposedAttention + "output y",
     "FusedAttention(q0213,k0231,v0213)"},
    {"TwoTransposesOfKeys",
     kInputs +
         "qt = Transpose(q) {perm = [0, 2, 1, 3]}\nku = Transpose(k) {perm = [0, 2, 1, 3]}\n"
         "kt = Transpose(ku) {perm = [0, 1, 3, 2]}\nvt = Transpose(v) {perm = [0, 2, 1, 3]}\n" +
         kTransposedAttention + "output y",
     "FusedAttention(q0213,k0231,v0213)"},
    {"OperandReadElsewhere",
     kInputs + kOperands + kTransposedAttention + "z = Neg(vt)\noutput y, z",
     "Transpose FusedAttention(q0213,k0231,vt) Neg"},
    {"OperandIsOutput", kInputs + kOperands + kTransposedAttention + "output y, qt",
     "Transpose FusedAttention(qt,k0231,v0213)"},
    {"ColumnsOfValues",
     kQuery +
         "input k f32 [b, t, 6, 8]\ninput v f32 [b, 6, 5, t]\n"
         "qt = Transpose(q) {perm = [0, 2, 1, 3]}\nkt = Transpose(k) {perm = [0, 2, 3, 1]}\n"
         "vt = Transpose(v) {perm = [0, 1, 3, 2]}\n" +
         kTransposedAttention + "output y",
     "Transpose FusedAttention(q0213,k0231,vt)"},
    {"ResultByColumns",
     kInputs + kOperands + kTransposedAttention +
         "z = Transpose(y) {perm = [0, 1, 3, 2]}\noutput z",
     "FusedAttention(q0213,k0231,v0213) Transpose"},
    {"ResultReadElsewhere",
     kInputs + kOperands + kTransposedAttention +
         "z = Transpose(y) {perm = [0, 2, 1, 3]}\nn = Neg(y)\noutput z, n",
     "FusedAttention(q0213,k0231,v0213) Transpose Neg"},
    {"Scaled",
     "symbols b s t\ninput p f32 [b, s, 48]\ninput k f32 [b, t, 6, 8]\n"
     "input v f32 [b, t, 6, 5]\nconst c f32 [] = [0.5]\nconst n i64 [4] = [0, 0, 6, 8]\n"
     "m = Mul(c, p)\nq = Reshape(m, n)\n" +
         kOperands + kTransposedAttention + "output y",
     "Reshape FusedAttention(q0213,k0231,v0213)*0.5"},
    {"BothScaled",
     kInputs + "qm = Mul(q, c)\nkm = Mul(k, c)\nqt = Transpose(qm) {perm = [0, 2, 1, 3]}\n"
               "kt = Transpose(km) {perm = [0, 2, 3, 1]}\n"
               "vt = Transpose(v) {perm = [0, 2, 1, 3]}\n"
               "y = FusedAttention(qt, kt, vt) {scale = 3.0}\noutput y",
     "FusedAttention(q0213,k0231,v0213)*0.75"},
    {"ProductReadElsewhere",
     kInputs +
         "qm = Mul(q, c)\nqt = Transpose(qm) {perm = [0, 2, 1, 3]}\n"
         "kt = Transpose(k) {perm = [0, 2, 3, 1]}\n"
         "vt = Transpose(v) {perm = [0, 2, 1, 3]}\n" +
         kTransposedAttention + "z = Neg(qm)\noutput y, z",
     "Mul FusedAttention(qm0213,k0231,v0213) Neg"},
    {"ProductOfTensors",
     kInputs +
         "qm = Mul(q, q)\nqt = Transpose(qm) {perm = [0, 2, 1, 3]}\n"
         "kt = Transpose(k) {perm = [0, 2, 3, 1]}\n"
         "vt = Transpose(v) {perm = [0, 2, 1, 3]}\n" +
         kTransposedAttention + "output y",
     "Mul FusedAttention(qm0213,k0231,v0213)"},
    {"OneProductForBoth",
     "input q f32 [6, 8, 8]\ninput v f32 [6, 8, 5]\nconst c f32 [] = [0.5]\nm = Mul(q, c)\n"
     "y = FusedAttention(m, m, v)\noutput y",
     "Mul FusedAttention(m,m,v)"},
};

std::string digits(const std::vector<std::int64_t>& perm) {
  std::string text;
  for (const std::int64_t axis : perm) text += std::to_string(axis);
  return text;
}

std::string operators_with_perms(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += (text.empty() ? "" : " ") + std::string(to_string(node.op));
    if (node.op != OpKind::kFusedAttention) continue;
    const auto params = params_of<FusedAttentionParams>(node);
    for (std::size_t i = 0; i < kAttentionPerms.size(); ++i) {
      text += (i == 0 ? "(" : ",") + graph.values[node.inputs[i]].name +
              digits(params.*kAttentionPerms[i]);
    }
    text += ")" + digits(params.y_perm);
    const float scale = params.scale;
    if (scale != 1.0F) text += "*" + std::to_string(scale).substr(0, scale == 0.5F ? 3 : 4);
  }
  return text;
}

class AbsorbTransposes : public testing::TestWithParam<TransposeCase> {};

TEST_P(AbsorbTransposes, FiresExactlyWhereItMay) {
  expect_rewrite(GetParam().text, absorb_transposes, operators_with_perms, GetParam().after);
}

INSTANTIATE_TEST_SUITE_P(Table, AbsorbTransposes, testing::ValuesIn(kTransposeCases),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace parallax
