#include "kernels/matmul_limits.h"
#include "kernels/onednn/onednn_test_util.h"

namespace parallax {
namespace {

constexpr std::int64_t kMany = kSmallMatMulRows + 1;

struct Case {
  const char* name;
  Dims a;
  std::int64_t columns;
  std::string activation = "";
};

void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

const std::vector<Case> kCases = {
    {"OneMore", {kMany, 33}, 17},
    {"Batched", {3, 50, 48}, 64},
    {"OneColumn", {100, 40}, 1},
    {"OneDeep", {100, 1}, 40},
    {"RestOfSixteen", {128 + 37, 768}, 200, "Gelu"},
    {"ManyChunks", {130, 1000}, 333, "Relu"},
    {"WholeBlocks", {192, 512}, 192, "Tanh"},
    {"BigBlocks", {1037, 16}, 24, "Silu"},
};

KernelRun run_of(const Case& row, bool bias) {
  KernelRun run;
  run.op = OpKind::kMatMul;
  const std::int64_t depth = row.a[row.a.rank() - 1];
  run.inputs = test_inputs(random_tensor(row.a, 1), random_tensor(Dims{depth, row.columns}, 2));
  if (bias) run.inputs.emplace_back(random_tensor(Dims{row.columns}, 3));
  run.constants = 0b110;
  if (!row.activation.empty()) run.attributes.set("activation", row.activation);
  return run;
}

class OneDnnMatMul : public testing::TestWithParam<Case> {};

TEST_P(OneDnnMatMul, LikeReference) {
  for (const bool bias : {false, true}) {
    SCOPED_TRACE(bias ? "with bias" : "without bias");
    expect_like_reference(run_of(GetParam(), bias));
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OneDnnMatMul, testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(OneDnnMatMulTiles, RowsAndColumnsAreCut) {
  EXPECT_GE(expect_like_reference(run_of({"", {200, 1000}, 600}, true)), 12);
}

TEST(OneDnnMatMulRefuses, FewRowsAndComputedOperands) {
  KernelRun few = run_of({"", {kSmallMatMulRows, 8}, 8}, false);
  KernelRun computed = run_of({"", {kMany, 8}, 8}, false);
  computed.constants = 0;
  for (const KernelRun* run : std::initializer_list<const KernelRun*>{&few, &computed}) {
    EXPECT_FALSE(run_kernel(*run, KernelLibrary::kOneDnn));
  }
}

struct GemmCase {
  const char* name;
  std::int64_t trans_b;
  Dims c;  ///< rank 0: none
  float alpha = 1, beta = 1;
  bool taken = true;
};

TEST(OneDnnGemm, LikeReferenceWhereTaken) {
  const std::vector<GemmCase> cases = {
      {"Plain", 0, {}},
      {"Transposed", 1, {70}},
      {"Row", 0, {1, 70}},
      {"TransposedRow", 1, {1, 70}},
      {"Column", 0, {90, 1}, 1, 1, false},
      {"Scaled", 0, {}, 2, 1, false},
      {"HalfBias", 1, {70}, 1, 0.5F, false},
  };
  for (const GemmCase& row : cases) {
    SCOPED_TRACE(row.name);
    KernelRun run;
    run.op = OpKind::kGemm;
    run.inputs = test_inputs(random_tensor({90, 130}, 1),
                             random_tensor(row.trans_b != 0 ? Dims{70, 130} : Dims{130, 70}, 2));
    if (row.c.rank() > 0) run.inputs.emplace_back(random_tensor(row.c, 3));
    run.constants = 0b110;
    run.attributes =
        test_attributes({{"transB", row.trans_b}, {"alpha", row.alpha}, {"beta", row.beta}});
    if (row.taken) {
      expect_like_reference(run);
    } else {
      EXPECT_FALSE(run_kernel(run, KernelLibrary::kOneDnn));
    }
  }
}

}  // namespace
}  // namespace parallax
