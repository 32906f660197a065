#include "lower/cpu/factor_attention.h"

#include <gtest/gtest.h>

#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

const std::string kProjections =
    "symbols b q s u\ninput t f32 [b, q, 6, 4]\ninput x f32 [b, s, 20]\n"
    "const wk f32 [20, 24] = fill 0.5\nconst wv f32 [20, 18] = fill 0.25\n"
    "const bk f32 [24] = fill 1.0\nconst bv f32 [18] = fill 2.0\n"
    "const ks i64 [4] = [0, -1, 6, 4]\nconst vs i64 [4] = [0, -1, 6, 3]\n";
const std::string kKeys = "kp = MatMul(x, wk)\nk = Reshape(kp, ks)\n";
const std::string kValues = "vp = MatMul(x, wv, bv)\nv = Reshape(vp, vs)\n";
const std::string kKeysValues = kKeys + kValues;
const std::string kPerms = "k_perm = [0, 2, 3, 1], v_perm = [0, 2, 1, 3], y_perm = [0, 2, 1, 3]}\n";
const std::string kAttention =
    "y = FusedAttention(t, k, v) {scale = 0.5, q_perm = [0, 2, 1, 3], " + kPerms + "output y";

const char* const kPlain = "MatMul Reshape MatMul Reshape FusedAttention";
const char* const kFactored =
    "Transpose MatMul Reshape FusedAttention Reshape MatMul Add Transpose";

struct FactorCase {
  const char* name;
  std::string text;
  const char* after;
};

void PrintTo(const FactorCase& row, std::ostream* out) { *out << row.name; }

const std::vector<FactorCase> kFactorCases = {
    {"Projected", kProjections + kKeysValues + kAttention, kFactored},
    {"BiasOfKeysDropsOut",
     kProjections + "kp = MatMul(x, wk, bk)\nk = Reshape(kp, ks)\n" + kValues + kAttention,
     kFactored},
    {"NoBias", kProjections + kKeys + "vp = MatMul(x, wv)\nv = Reshape(vp, vs)\n" + kAttention,
     "Transpose MatMul Reshape FusedAttention Reshape MatMul Transpose"},
    {"QueriesByHead",
     kProjections + kKeysValues + "input h f32 [b, 6, q, 4]\ny = FusedAttention(h, k, v) {" +
         "k_perm = [0, 2, 3, 1], v_perm = [0, 2, 1, 3]}\noutput y",
     "MatMul Reshape FusedAttention Reshape MatMul Add"},
    {"OneProjectionForBoth",
     kProjections + kKeys + "y = FusedAttention(t, k, k) {q_perm = [0, 2, 1, 3], " + kPerms +
         "output y",
     "Transpose MatMul Reshape FusedAttention Reshape MatMul Transpose"},
    {"Masked",
     kProjections + kKeysValues + "input m f32 [b, 1, 1, s]\ny = FusedAttention(t, k, v, m) " +
         "{q_perm = [0, 2, 1, 3], " + kPerms + "output y",
     kPlain},
    {"KeysReadTwice", kProjections + kKeysValues + kAttention + "\nz = Neg(k)\noutput z",
     "MatMul Reshape MatMul Reshape FusedAttention Neg"},
    {"ValuesAreOutput", kProjections + kKeysValues + kAttention + ", v", kPlain},
    {"ProductIsOutput", kProjections + kKeysValues + kAttention + ", kp", kPlain},
    {"Activation",
     kProjections + "kp = MatMul(x, wk) then Relu\nk = Reshape(kp, ks)\n" + kValues + kAttention,
     kPlain},
    {"WeightsAreComputed",
     kProjections + "input w f32 [20, 24]\nkp = MatMul(x, w)\nk = Reshape(kp, ks)\n" + kValues +
         kAttention,
     kPlain},
    {"BiasIsComputed",
     kProjections + kKeys + "input c f32 [18]\nvp = MatMul(x, wv, c)\nv = Reshape(vp, vs)\n" +
         kAttention,
     kPlain},
    {"OtherSource",
     kProjections + kKeys + "input z f32 [b, s, 20]\nvp = MatMul(z, wv)\nv = Reshape(vp, vs)\n" +
         kAttention,
     kPlain},
    {"HeadsInAnotherPlace",
     kProjections + kKeys + "input h f32 [b, 6, q, s]\ny = FusedAttention(h, k, k) {" +
         "k_perm = [0, 2, 1, 3], v_perm = [0, 2, 3, 1]}\noutput y",
     "MatMul Reshape FusedAttention"},
    {"AsManyQueriesAsKeys",
     kProjections + kKeysValues + "input h f32 [b, s, 6, 4]\ny = FusedAttention(h, k, v) " +
         "{q_perm = [0, 2, 1, 3], " + kPerms + "output y",
     kPlain},
    {"BatchOfItsOwn",
     kProjections + kKeysValues + "input h f32 [1, q, 6, 4]\ny = FusedAttention(h, k, v) " +
         "{q_perm = [0, 2, 1, 3], " + kPerms + "output y",
     kPlain},
};

class FactorAttention : public testing::TestWithParam<FactorCase> {};

TEST_P(FactorAttention, FiresExactlyWhereItMay) {
  const Graph before = graph_of(GetParam().text);
  const auto found = find_cross_attention(before);
  const auto after = factor_attention(before, found);
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_EQ(operators_of(*after), GetParam().after);
  EXPECT_EQ(found.empty(), operators_of(before) == operators_of(*after));
  EXPECT_EQ(after->symbols.size(), before.symbols.size());
  ASSERT_EQ(after->outputs.size(), before.outputs.size());
  for (std::size_t i = 0; i < before.outputs.size(); ++i) {
    const Value &was = before.values[before.outputs[i]], &is = after->values[after->outputs[i]];
    EXPECT_EQ(is.name, was.name);
    EXPECT_EQ(is.shape, was.shape);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, FactorAttention, testing::ValuesIn(kFactorCases),
                         [](const auto& row) { return std::string(row.param.name); });

/// Sizes of Whisper's smallest decoder.
Binding sizes(std::int64_t batch, std::int64_t queries, std::int64_t keys) {
  return {{batch, queries, keys}};
}

TEST(FactoringPays, WithFewQueries) {
  const auto found = find_cross_attention(
      graph_of("symbols b q s\ninput t f32 [b, q, 6, 64]\ninput x f32 [b, s, 384]\n"
               "const w f32 [384, 384] = fill 0.5\nconst hs i64 [4] = [0, -1, 6, 64]\n"
               "kp = MatMul(x, w)\nk = Reshape(kp, hs)\nvp = MatMul(x, w)\n"
               "v = Reshape(vp, hs)\ny = FusedAttention(t, k, v) {q_perm = [0, 2, 1, 3], " +
               kPerms + "output y"));
  ASSERT_EQ(found.size(), 1U);
  for (const std::int64_t queries : {1, 16, 56})
    EXPECT_TRUE(factoring_pays(found, sizes(2, queries, 1500))) << queries;
  const std::int64_t most = std::int64_t{1} << 62;
  for (const Binding& none :
       {sizes(1, 57, 1500), sizes(1, 1500, 1500), sizes(1, 16, 16), sizes(1, 16, 90),
        sizes(0, 16, 1500), sizes(1, 0, 1500), sizes(1, 16, 0), sizes(most, most, most), Binding{}})
    EXPECT_FALSE(factoring_pays(found, none));
  EXPECT_TRUE(factoring_pays(found, sizes(most, 1, most)));
  EXPECT_FALSE(factoring_pays({}, sizes(1, 16, 1500)));
}

TEST(FactoringPays, KnownSizesDoNotStandInTheWay) {
  const auto found = [](const char* queries) {
    return find_cross_attention(
               graph_of("input t f32 [1, " + std::string(queries) +
                        ", 6, 4]\ninput x f32 [1, 100, 24]\nconst w f32 [24, 24] = fill 0.5\n"
                        "const hs i64 [4] = [0, -1, 6, 4]\nkp = MatMul(x, w)\nk = Reshape(kp, hs)\n"
                        "vp = MatMul(x, w)\nv = Reshape(vp, hs)\n"
                        "y = FusedAttention(t, k, v) {q_perm = [0, 2, 1, 3], " +
                        kPerms + "output y"))
        .size();
  };
  EXPECT_EQ(found("2"), 1U);
  EXPECT_EQ(found("10"), 0U);
}

}  // namespace
}  // namespace parallax
