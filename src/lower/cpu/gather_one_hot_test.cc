// Results are compared by tests/spellings/one_hot.graph.
#include <gtest/gtest.h>

#include <string>

#include "lower/cpu/lower.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

const std::string kIndex =
    "symbols s\ninput i i32 [2, s]\ninput j i32 [2, s, 1]\ninput f f32 [2, s]\n"
    "const depth i64 [1] = [4]\nconst values f32 [2] = [0, 1]\nconst all i32 [4] = [0, 1, 2, 3]\n"
    "const w f32 [4, 3] = fill 2\n";
const std::string kHot = kIndex + "h = OneHot(i, depth, values)\n";

struct OneHotCase {
  const char* name;
  std::string text;
  const char* after;
};
void PrintTo(const OneHotCase& row, std::ostream* out) { *out << row.name; }

const OneHotCase kOneHotCases[] = {
    {"Product", kHot + "y = MatMul(h, w)\noutput y", "Clip Gather"},
    {"LastAxisByNumber",
     kIndex + "h = OneHot(i, depth, values) {axis = 2}\ny = MatMul(h, w)\noutput y", "Clip Gather"},
    {"OtherAxis",
     "input i i32 [2, 4]\nconst depth i64 [1] = [4]\nconst values f32 [2] = [0, 1]\n"
     "const w f32 [4, 3] = fill 2\nh = OneHot(i, depth, values) {axis = 0}\ny = MatMul(h, w)\n"
     "output y",
     "OneHot MatMul"},
    {"OtherValues",
     kIndex + "const v f32 [2] = [0, 2]\nh = OneHot(i, depth, v)\ny = MatMul(h, w)\noutput y",
     "OneHot MatMul"},
    {"RealIndex", kIndex + "h = OneHot(f, depth, values)\ny = MatMul(h, w)\noutput y",
     "OneHot MatMul"},
    {"WeightsOfARun", kHot + "input v f32 [4, 3]\ny = MatMul(h, v)\noutput y", "OneHot MatMul"},
    {"BatchOfWeights", kHot + "const v f32 [2, 4, 3] = fill 2\ny = MatMul(h, v)\noutput y",
     "OneHot MatMul"},
    {"RowsOnTheRight",
     kIndex + "h = OneHot(i, depth, values)\nconst v f32 [3, 4] = fill 2\n"
              "t = Transpose(h) {perm = [0, 2, 1]}\ny = MatMul(v, t)\noutput y",
     "OneHot Transpose MatMul"},
    {"ViewOfOtherRows",
     "input i i32 [2, 4]\nconst depth i64 [1] = [6]\nconst values f32 [2] = [0, 1]\n"
     "const to i64 [2] = [12, 4]\nconst w f32 [4, 3] = fill 2\nh = OneHot(i, depth, values)\n"
     "r = Reshape(h, to)\ny = MatMul(r, w)\noutput y",
     "OneHot Reshape MatMul"},
    {"Equal", kIndex + "e = Equal(j, all)\nh = Cast(e) {to = 1}\ny = MatMul(h, w)\noutput y",
     "Clip Gather Reshape"},
    {"EqualReversed",
     kIndex + "e = Equal(all, j)\nh = Cast(e) {to = 1}\ny = MatMul(h, w)\noutput y",
     "Clip Gather Reshape"},
    {"EqualToOtherNumbers",
     kIndex + "const odd i32 [4] = [0, 1, 3, 2]\ne = Equal(j, odd)\nh = Cast(e) {to = 1}\n"
              "y = MatMul(h, w)\noutput y",
     "Equal Cast MatMul"},
    {"EqualByRows",
     "input j i32 [4, 1]\nconst all i32 [4, 1] = [0, 1, 2, 3]\ninput k i32 [4, 4]\n"
     "const w f32 [4, 3] = fill 2\ne = Equal(k, all)\nh = Cast(e) {to = 1}\ny = MatMul(h, w)\n"
     "output y",
     "Equal Cast MatMul"},
};

class GatherOneHot : public testing::TestWithParam<OneHotCase> {};

TEST_P(GatherOneHot, ReadsRowsOfWeights) {
  expect_rewrite(GetParam().text, gather_one_hot, operators_of, GetParam().after);
}

INSTANTIATE_TEST_SUITE_P(Cases, GatherOneHot, testing::ValuesIn(kOneHotCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(GatherOneHotNearMisses, NameTheGuardThatRefused) {
  const NearMissCase rows[] = {
      {gather_one_hot,
       kHot + "const v f32 [4, 1] = [1, inf, 2, 3]\ny = MatMul(h, v) @last\noutput y",
       "the weights are not finite"},
  };
  expect_near_misses(rows);
}

TEST(GatherOneHotNearMisses, TablesAreCopiesOfWeights) {
  Graph graph = graph_of(kHot + "y = MatMul(h, w)\noutput y");
  const PassContext context;
  ASSERT_TRUE(context.quota->take_bytes(context.quota->bytes_left()));
  EXPECT_EQ(gather_one_hot(graph, context).value_or(-1), 0);
  const auto missed = context.near_misses->take();
  ASSERT_EQ(missed.size(), 1U);
  EXPECT_EQ(missed[0].reason, "loading may not copy more weights");
}

}  // namespace
}  // namespace parallax
