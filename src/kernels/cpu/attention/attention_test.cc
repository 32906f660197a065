#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/cpu/attention/attention_test_util.h"

namespace parallax {
namespace {

struct AttentionDims {
  Dims q, k, v;
  std::optional<Dims> mask = std::nullopt;
};

using Ints = std::vector<std::int64_t>;

/// Lays out K as projections leave it, keys one after the other.
void put_keys_in_rows(KernelRun& run) {
  Dims dims = run.inputs[1]->dims();
  const int rank = dims.rank();
  Ints perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<std::size_t>(rank - 2)], perm.back());
  std::swap(dims[rank - 2], dims[rank - 1]);
  run.inputs[1] = random_floats(dims, 2, -1, 1);
  run.attributes.set("k_perm", perm);
}

KernelRun attention(const AttentionDims& dims, float scale) {
  KernelRun run{OpKind::kFusedAttention,
                test_inputs(random_floats(dims.q, 1, -1, 1), random_floats(dims.k, 2, -1, 1),
                            random_floats(dims.v, 3, -1, 1)),
                test_attributes({{"scale", scale}})};
  if (dims.mask) run.inputs.emplace_back(random_floats(*dims.mask, 4, -2, 2));
  return run;
}

const std::vector<AttentionDims> kAttentionDims = {
    {{7, 5}, {5, 9}, {9, 3}},
    {{1, 1}, {1, 1}, {1, 1}},
    {{2, 3, 49, 32}, {2, 3, 32, 49}, {2, 3, 49, 32}},
    {{2, 3, 49, 32}, {2, 3, 32, 49}, {2, 3, 49, 32}, Dims{2, 1, 49, 49}},
    {{2, 3, 49, 32}, {2, 3, 32, 49}, {2, 3, 49, 32}, Dims{3, 49, 49}},
    {{2, 3, 49, 32}, {2, 3, 32, 49}, {2, 3, 49, 32}, Dims{49}},
    {{2, 3, 13, 8}, {1, 3, 8, 70}, {3, 70, 17}, Dims{2, 1, 1, 70}},
    {{5, 8}, {2, 3, 8, 6}, {2, 1, 6, 7}, Dims{3, 5, 6}},
    {{2, 12, 64, 64}, {2, 12, 64, 64}, {2, 12, 64, 64}, Dims{2, 1, 1, 64}},
    {{1, 2, 301, 64}, {1, 2, 64, 1503}, {1, 2, 1503, 64}},
    {{1, 2, 1, 64}, {1, 2, 64, 1503}, {1, 2, 1503, 64}},
    {{2, 20, 16}, {2, 16, 511}, {2, 511, 130}},  // no multiple of the steps of a panel
    {{6, 40, 3}, {6, 3, 4000}, {6, 4000, 2}},
    {{2, 77, 19}, {2, 19, 97}, {2, 97, 21}, Dims{2, 77, 97}},
    {{130, 40}, {40, 7}, {7, 5}, Dims{7}},
    {{40, 300}, {300, 290}, {290, 5}},
    {{40, 5}, {5, 290}, {290, 300}, Dims{40, 290}},
    {{100, 100}, {100, 1400}, {1400, 100}},  // too large for a few units
    {{20, 1281}, {1281, 9}, {9, 4}},
    {{2, 0, 4}, {2, 4, 5}, {2, 5, 3}},
    {{0, 3, 4}, {0, 4, 5}, {0, 5, 3}},
    {{2, 3, 4}, {2, 4, 5}, {2, 5, 0}},
};

TEST(CpuAttention, AgreesWithReference) {
  for (const AttentionDims& dims : kAttentionDims) {
    for (const float scale : {1.0F, 0.125F, -2.0F}) {
      SCOPED_TRACE(dims.q.to_string() + " " + dims.k.to_string());
      KernelRun run = attention(dims, scale);
      expect_same_as_reference(run, {1e-5, 1e-5});
      put_keys_in_rows(run);
      expect_same_as_reference(run, {1e-5, 1e-5});
    }
  }
}

TEST(CpuAttention, FillsWhatIsChosen) {
  for (const std::int64_t queries : {5, 40}) {
    for (const Dims& choice : {Dims{300}, Dims{queries, 300}, Dims{2, 1, 1, 300}}) {
      for (const std::int64_t masked : {0, 1}) {
        for (const std::int64_t form : {0, 1, 2, 3}) {
          SCOPED_TRACE(choice.to_string() + " " + std::to_string(form));
          KernelRun run = attention({{2, 3, queries, 8}, {2, 3, 8, 300}, {2, 3, 300, 17}}, -0.5F);
          put_keys_in_rows(run);
          run.inputs.emplace_back();
          if (masked != 0) run.inputs.back() = random_floats({3, queries, 300}, 4, -2, 2);
          run.inputs.emplace_back(random_bools(choice, 5));
          run.attributes.set("fill", 1.5F);
          run.attributes.set("fill_where", form % 2);
          run.attributes.set("fill_last", form / 2);
          expect_same_as_reference(run, {1e-5, 1e-5});
        }
      }
    }
  }
}

TEST(CpuAttention, WeightsThatAreNoNumbersCountAsZero) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  for (const std::int64_t queries : {5, 40}) {
    KernelRun run = attention({{2, queries, 8}, {2, 8, 300}, {2, 300, 17}}, 0.5F);
    put_keys_in_rows(run);
    run.attributes.set("nan_is_zero", std::int64_t{1});
    std::vector<float> mask(static_cast<std::size_t>(queries) * 300, 0.0F);
    std::fill_n(mask.begin(), 300, kNone);
    std::fill_n(mask.end() - 600, 600, kNone);
    mask[301] = kNone;
    run.inputs.emplace_back(test_tensor<float>({queries, 300}, mask));
    expect_same_as_reference(run, {1e-5, 1e-5});
    const auto result = run_kernel(run, KernelLibrary::kCpu);
    ASSERT_TRUE(result);
    EXPECT_EQ(test_values<float>(result->at(0)).at(3), 0.0F);
    auto v = test_values<float>(*run.inputs[2]);
    v[17 * 5 + 2] = std::numeric_limits<float>::infinity();
    run.inputs[2] = test_tensor<float>({2, 300, 17}, v);
    expect_same_as_reference(run, {1e-5, 1e-5});
  }
}

TEST(CpuAttention, HeadsShareKeysAndValues) {
  for (const std::int64_t queries : {1, 40}) {
    for (const Dims& mask : {Dims{}, Dims{70}, Dims{2, 6, queries, 70}, Dims{2, 1, 1, 70}}) {
      SCOPED_TRACE(mask.to_string());
      KernelRun run = attention({{2, 6, queries, 8}, {2, 2, 8, 70}, {2, 2, 70, 17}}, 0.5F);
      run.attributes.set("group", std::int64_t{3});
      if (mask.rank() > 0) run.inputs.emplace_back(random_floats(mask, 4, -2, 2));
      expect_same_as_reference(run, {1e-5, 1e-5});
      put_keys_in_rows(run);
      expect_same_as_reference(run, {1e-5, 1e-5});
      KernelRun turned = attention({{2, queries, 6, 8}, {2, 70, 2, 8}, {2, 70, 2, 17}}, 0.5F);
      if (mask.rank() > 0) turned.inputs.emplace_back(random_floats(mask, 4, -2, 2));
      turned.attributes.set("group", std::int64_t{3});
      turned.attributes.set("q_perm", Ints{0, 2, 1, 3});
      turned.attributes.set("k_perm", Ints{0, 2, 3, 1});
      turned.attributes.set("v_perm", Ints{0, 2, 1, 3});
      turned.attributes.set("y_perm", Ints{0, 2, 1, 3});
      expect_same_as_reference(turned, {1e-5, 1e-5});
    }
  }
}

TEST(CpuAttention, MaskedKeysDoNotCount) {
  const float no = -std::numeric_limits<float>::infinity();
  for (const float never : {no, std::numeric_limits<float>::lowest()}) {
    KernelRun run = attention({{20, 8}, {8, 3}, {3, 70}}, 0.5F);
    run.inputs.emplace_back(test_tensor<float>({3}, {never, 0, never}));
    put_keys_in_rows(run);
    const auto result = run_kernel(run, KernelLibrary::kCpu);
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    const auto v = test_values<float>(*run.inputs[2]), y = test_values<float>(result->at(0));
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], v[70 + i % 70]);
  }
}

TEST(CpuAttention, QueriesThatMayLookNowhereLookEverywhere) {
  const float never = std::numeric_limits<float>::lowest();
  for (const std::int64_t queries : {2, 40}) {
    KernelRun run = attention({{queries, 8}, {8, 3}, {3, 2}}, 0.01F);
    run.inputs.emplace_back(test_tensor<float>({3}, {never, never, never}));
    put_keys_in_rows(run);
    const auto result = run_kernel(run, KernelLibrary::kCpu);
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    const auto v = test_values<float>(*run.inputs[2]), y = test_values<float>(result->at(0));
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], (v[i % 2] + v[2 + i % 2] + v[4 + i % 2]) / 3, 1e-6);
  }
}

TEST(CpuAttention, WhatIsNoNumberStaysInItsRow) {
  for (const std::int64_t queries : {5, 40}) {
    KernelRun run = attention({{queries, 8}, {8, 200}, {200, 4}}, 0.5F);
    put_keys_in_rows(run);
    auto q = test_values<float>(*run.inputs[0]);
    q[3 * 8 + 2] = std::numeric_limits<float>::quiet_NaN();
    run.inputs[0] = test_tensor<float>({queries, 8}, q);
    const auto result = run_kernel(run, KernelLibrary::kCpu);
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    const auto y = test_values<float>(result->at(0));
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 4 == 3) << i;
  }
}

TEST(CpuAttention, AKeyThatIsNoNumberReachesEveryRow) {
  for (const std::int64_t queries : {5, 40}) {
    KernelRun run = attention({{queries, 8}, {8, 200}, {200, 4}}, 0.5F);
    put_keys_in_rows(run);
    auto k = test_values<float>(*run.inputs[1]);
    k[70 * 8 + 2] = std::numeric_limits<float>::quiet_NaN();
    run.inputs[1] = test_tensor<float>({200, 8}, k);
    const auto result = run_kernel(run, KernelLibrary::kCpu);
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    for (const float y : test_values<float>(result->at(0))) EXPECT_TRUE(std::isnan(y)) << queries;
  }
}

KernelRun transposed_attention(std::int64_t queries, std::int64_t keys, const Ints& v_perm) {
  KernelRun run = attention({{2, queries, 3, 20}, {2, keys, 3, 20}, {2, keys, 3, 7}}, 0.3F);
  run.attributes.set("q_perm", Ints{0, 2, 1, 3});
  run.attributes.set("k_perm", Ints{0, 2, 3, 1});
  run.attributes.set("v_perm", v_perm);
  run.attributes.set("y_perm", Ints{0, -2, 1, 3});
  return run;
}

TEST(CpuAttention, ReadsAndWritesTransposed) {
  for (const std::int64_t queries : {1, 5, 40, 300}) {
    for (const std::int64_t keys : {1, 17, 64, 600}) {
      SCOPED_TRACE(std::to_string(queries) + " " + std::to_string(keys));
      expect_same_as_reference(transposed_attention(queries, keys, {0, 2, 1, 3}), {1e-5, 1e-5});
    }
  }
}

TEST(CpuAttention, LeavesToReferenceWhatItDoesNotCover) {
  EXPECT_TRUE(cpu_declines(attention({{2, 4}, {4, 0}, {0, 3}}, 1)));
  EXPECT_TRUE(cpu_declines(attention({{2, 0}, {0, 5}, {5, 3}}, 1)));
  EXPECT_TRUE(cpu_declines(attention({{2, 4}, {4, 5}, {5, 3}, Dims{2, 1}}, 1)));
  KernelRun columns = attention({{2, 4}, {4, 5}, {3, 5}}, 1);
  columns.attributes.set("v_perm", Ints{1, 0});
  EXPECT_TRUE(cpu_declines(columns));
}

Tensor copy_of(const Tensor& tensor) {
  return test_tensor<float>(tensor.dims(), test_values<float>(tensor));
}

/// Returns the result of the reference kernel of an operator with one or two inputs.
Tensor reference_of(OpKind op, const Tensor& a, const Tensor* b = nullptr) {
  KernelRun run{op, test_inputs(copy_of(a))};
  if (b != nullptr) run.inputs.emplace_back(copy_of(*b));
  auto outputs = run_kernel(run, KernelLibrary::kReference);
  EXPECT_TRUE(outputs.has_value()) << outputs.error().to_string();
  return std::move(outputs->at(0));
}

TEST(ReferenceAttention, IsSoftmaxBetweenTwoProducts) {
  for (const AttentionDims& dims :
       {AttentionDims{{2, 3, 7, 4}, {2, 3, 4, 9}, {3, 9, 5}, Dims{2, 1, 7, 1}},
        AttentionDims{{7, 4}, {2, 3, 4, 9}, {9, 5}, Dims{3, 1, 9}},
        AttentionDims{{3, 4}, {4, 0}, {0, 5}, Dims{1}},
        AttentionDims{{3, 0}, {0, 4}, {4, 5}, Dims{3, 4}}}) {
    const KernelRun run = attention(dims, 0.25F);
    const Tensor factor = test_tensor<float>({1}, {0.25F});
    const Tensor products = reference_of(OpKind::kMatMul, *run.inputs[0], &*run.inputs[1]);
    const Tensor scaled = reference_of(OpKind::kMul, products, &factor);
    const Tensor scores = reference_of(OpKind::kAdd, scaled, &*run.inputs[3]);
    const Tensor weights = reference_of(OpKind::kSoftmax, scores);
    const Tensor want = reference_of(OpKind::kMatMul, weights, &*run.inputs[2]);
    const auto got = run_kernel(run, KernelLibrary::kReference);
    ASSERT_TRUE(got.has_value()) << got.error().to_string();
    expect_close(got->at(0), want, {1e-6, 1e-6});
  }
}

TEST(ReferenceAttention, ReadsAndWritesTransposed) {
  const auto transposed = [](const Tensor& tensor, const Ints& perm) {
    KernelRun run{OpKind::kTranspose, test_inputs(copy_of(tensor)),
                  test_attributes({{"perm", perm}})};
    return std::move(run_kernel(run, KernelLibrary::kReference)->at(0));
  };
  const KernelRun run = transposed_attention(5, 9, {0, 2, 1, 3});
  const Ints heads = {0, 2, 1, 3};
  const KernelRun plain{
      OpKind::kFusedAttention,
      test_inputs(transposed(*run.inputs[0], heads), transposed(*run.inputs[1], {0, 2, 3, 1}),
                  transposed(*run.inputs[2], heads)),
      test_attributes({{"scale", 0.3F}})};
  const auto got = run_kernel(run, KernelLibrary::kReference);
  const auto want = run_kernel(plain, KernelLibrary::kReference);
  ASSERT_TRUE(got && want);
  EXPECT_EQ(test_values<float>(got->at(0)), test_values<float>(transposed(want->at(0), heads)));
}

}  // namespace
}  // namespace parallax
