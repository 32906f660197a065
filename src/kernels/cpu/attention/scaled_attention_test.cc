#include <gtest/gtest.h>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

struct ScaledCase {
  std::int64_t heads, kv_heads, queries, added, past;
  Attributes attributes = {};
  Dims mask = {};  ///< shape of a mask of floats; rank 0: no mask
  bool choosing = false;
  std::vector<std::int64_t> lengths = {};
};

Tensor every_third(const Dims& dims) {
  std::vector<bool> bits;
  for (std::int64_t i = 0; i < dims.elements(); ++i) bits.push_back(i % 3 != 0);
  return test_tensor<bool>(dims, bits);
}

/// Returns a run of two sequences, with heads of depth 8 and values of width 5.
KernelRun scaled_run(const ScaledCase& c, bool packed = false) {
  const auto operand = [&](std::int64_t heads, std::int64_t length, std::int64_t size, int seed) {
    return random_floats(packed ? Dims{2, length, heads * size} : Dims{2, heads, length, size},
                         static_cast<unsigned>(seed), -1.0F, 1.0F);
  };
  KernelRun run{OpKind::kAttention,
                test_inputs(operand(c.heads, c.queries, 8, 1), operand(c.kv_heads, c.added, 8, 2),
                            operand(c.kv_heads, c.added, 5, 3)),
                c.attributes, 1};
  run.inputs.resize(7);
  if (c.mask.rank() > 0) {
    run.inputs[3] = c.choosing ? every_third(c.mask) : random_floats(c.mask, 4, -2.0F, 2.0F);
  }
  if (c.past > 0) {
    run.inputs[4] = random_floats({2, c.kv_heads, c.past, 8}, 5, -1.0F, 1.0F);
    run.inputs[5] = random_floats({2, c.kv_heads, c.past, 5}, 6, -1.0F, 1.0F);
    run.outputs = 3;
  }
  if (!c.lengths.empty()) run.inputs[6] = test_tensor<std::int64_t>({2}, c.lengths);
  if (!packed) return run;
  run.attributes.set("q_num_heads", c.heads);
  run.attributes.set("kv_num_heads", c.kv_heads);
  return run;
}

TEST(CpuScaledAttention, AgreesWithReference) {
  const Attributes causal = test_attributes({{"is_causal", std::int64_t{1}}});
  const Attributes window = test_attributes({{"left_window_size", std::int64_t{3}},
                                             {"right_window_size", std::int64_t{1}},
                                             {"scale", 0.7F}});
  const std::vector<ScaledCase> cases = {
      {4, 4, 7, 9, 0},
      {4, 2, 100, 130, 0, causal},
      {6, 2, 3, 3, 40, causal},
      {2, 1, 1, 1, 77, test_attributes({{"softcap", 1.5F}})},
      {2, 2, 20, 30, 5, window},
      {2, 2, 5, 11, 0, {}, {5, 11}},
      {4, 2, 5, 11, 3, causal, {2, 1, 5, 14}},
      {4, 2, 5, 11, 3, {}, {4, 1, 14}, true},
      {4, 2, 60, 1200, 900, {}, {2, 4, 60, 2100}, true},
      {4, 2, 3, 11, 0, causal, {}, false, {11, 2}},
      {4, 2, 3, 11, 0, {}, {}, false, {0, 7}},
      {1, 1, 4, 6, 0, {}, {4, 6}, true, {}},
  };
  for (const ScaledCase& c : cases) {
    for (const bool packed : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.heads << "/" << c.kv_heads << " " << c.queries << "x"
                                      << c.past << "+" << c.added << (packed ? " packed" : ""));
      expect_same_as_reference(scaled_run(c, packed), {1e-4, 1e-5});
    }
  }
}

TEST(CpuScaledAttention, LeavesTheRestToTheReference) {
  EXPECT_TRUE(cpu_declines(scaled_run({2, 2, 3, 5, 0, {}, {3, 4}})));  // a short mask
  EXPECT_TRUE(cpu_declines(scaled_run({2, 2, 3, 0, 0})));
  EXPECT_TRUE(cpu_declines(scaled_run({2, 2, 3, 5, 0, test_attributes({{"scale", -1.0F}})})));
  KernelRun scores = scaled_run({2, 2, 3, 5, 0});
  scores.outputs = 4;
  EXPECT_TRUE(cpu_declines(scores));
  EXPECT_FALSE(run_kernel(scaled_run({2, 2, 3, 5, 0, {}, {}, false, {6, 1}}), KernelLibrary::kCpu)
                   .has_value());
}

}  // namespace
}  // namespace parallax
