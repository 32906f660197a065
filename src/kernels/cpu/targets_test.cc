#include <gtest/gtest.h>

#include "kernels/cpu/convolution/convolution_test_util.h"
#include "kernels/cpu/gemm/gemm_type.h"
#include "kernels/cpu/targets_test_util.h"
#include "kernels/packing_version.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<KernelRun> convolutions_of_every_loop() {
  std::vector<KernelRun> runs;
  for (const std::vector<std::int64_t>& kernel : {Ints{3, 3}, Ints{1, 3}})
    runs.push_back(convolution_run({"", {1, 14, 27, 67}, 70, kernel, {0, 1, 0, 1}}, true, "Silu"));
  for (const std::int64_t channels : {3, 37})
    runs.push_back(convolution_run({"", {1, 11, 13, channels}, 41, {3, 3}, {1, 0, 1, 1}, {2, 2}},
                                   true, "Silu"));
  for (const std::int64_t filters : {1, 2, 3, 4})
    runs.push_back(
        convolution_run({"", {1, 11, 13, 37}, filters, {3, 3}, {1, 0, 1, 1}}, true, "Silu"));
  for (const std::int64_t stride : {1, 2})
    runs.push_back(convolution_run(
        {"", {1, 11, 23, 29}, 29, {3, 3}, {1, 0, 1, 1}, {stride, stride}, {}, 29}, true, "Relu"));
  return runs;
}

/// Returns products of packed weights with and without zero points, for few rows and for many.
std::vector<KernelRun> products_of_bits() {
  constexpr std::int64_t kDepth = 291, kColumns = 77;
  std::vector<KernelRun> runs;
  for (const std::int64_t bits : {2, 4, 8})
    for (const std::int64_t block : {16, 128})
      for (const std::int64_t rows : {1, 2, 3, 4, 20}) {
        const std::int64_t blocks = (kDepth + block - 1) / block;
        KernelRun run{OpKind::kMatMulNBits,
                      test_inputs(random_floats({rows, kDepth}, 1, -1, 1),
                                  random_integers<std::uint8_t>(
                                      {kColumns, blocks, block * bits / 8}, 2, 0, 255),
                                  random_floats({kColumns * blocks}, 3, 0, 0.01F)),
                      test_attributes(
                          {{"K", kDepth}, {"N", kColumns}, {"bits", bits}, {"block_size", block}})};
        if (rows != 2)
          run.inputs.emplace_back(
              random_integers<std::uint8_t>({kColumns * ((blocks * bits + 7) / 8)}, 4, 0, 255));
        runs.push_back(std::move(run));
      }
  return runs;
}

/// Returns one node for every kind of inner loop, with sizes that are no multiple of any vector.
std::vector<std::pair<KernelRun, Tolerance>> runs_of_every_loop() {
  std::vector<std::pair<KernelRun, Tolerance>> runs;
  const auto add = [&](KernelRun run, Tolerance tolerance) {
    runs.emplace_back(std::move(run), tolerance);
  };
  const Tolerance sums{1e-4, 1e-4}, ulps{1e-6, 1e-6};
  for (const OpKind op : {OpKind::kExp, OpKind::kErf, OpKind::kTanh, OpKind::kSilu, OpKind::kGelu})
    add({op, test_inputs(random_floats({333}, 1, -9, 9))}, ulps);
  add({OpKind::kLog, test_inputs(random_floats({333}, 1, 0, 9))}, ulps);
  for (const OpKind op : {OpKind::kSub, OpKind::kDiv, OpKind::kMax})
    add({op, test_inputs(random_floats({5, 33}, 1), random_floats({5, 1}, 2))}, {});
  for (const std::int64_t rows : {1, 5, 7, 40})
    add({OpKind::kMatMul,
         test_inputs(random_floats({rows, 91}, 1), random_floats({91, 103}, 2)),
         {},
         1,
         0b10},
        sums);
  add({OpKind::kMatMul, test_inputs(random_floats({3, 49, 32}, 1), random_floats({3, 32, 49}, 2))},
      sums);
  for (const std::int64_t queries : {3, 77}) {
    KernelRun run{OpKind::kFusedAttention, test_inputs(random_floats({2, queries, 21}, 1, -1, 1),
                                                       random_floats({2, 131, 21}, 2, -1, 1),
                                                       random_floats({2, 131, 37}, 3, -1, 1))};
    run.attributes.set("k_perm", Ints{0, 2, 1});
    add(std::move(run), {1e-5, 1e-5});
  }
  for (const std::int64_t n : {2, 3, 4, 49, 700}) {
    for (const std::int64_t axis : {0, 1})
      add({OpKind::kSoftmax, test_inputs(random_floats({37, n}, 1)),
           test_attributes({{"axis", axis}})},
          ulps);
    add({OpKind::kLayerNormalization,
         test_inputs(random_floats({3, n}, 1), random_floats({n}, 2), random_floats({n}, 3))},
        {1e-5, 1e-5});
  }
  for (const OpKind op : {OpKind::kReduceMean, OpKind::kReduceMax, OpKind::kReduceL2})
    for (const std::int64_t axis : {0, 1})
      add({op,
           test_inputs(random_floats({77, 99}, 1), test_tensor<std::int64_t>({1}, {axis})),
           {},
           1,
           0b10},
          sums);
  for (const Dims& dims : {Dims{35, 70}, Dims{3, 100}, Dims{100, 3}})
    add({OpKind::kTranspose, test_inputs(random_floats(dims, 1))}, {});
  add({OpKind::kMaxPool, test_inputs(random_floats({1, 9, 8, 37}, 1)),
       test_attributes({{"layout", std::string("NHWC")}, {"kernel_shape", Ints{3, 3}}})},
      {});
  for (KernelRun& run : convolutions_of_every_loop()) add(std::move(run), sums);
  for (KernelRun& run : products_of_bits()) add(std::move(run), sums);
  return runs;
}

TEST(CpuTargets, TheOneThatIsNamedIsOneThatKernelsHave) {
  std::vector<std::string> names;
  for (std::int64_t target = 1; target > 0 && target <= HWY_SCALAR; target <<= 1)
    if ((hwy::SupportedTargets() & HWY_TARGETS & target) != 0)
      names.emplace_back(hwy::TargetName(target));
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(packing_machine(), names.front()) << "the best comes first";
}

TEST(CpuTargets, EveryInstructionSetOfThisMachineAgreesWithReference) {
  for_each_target([](std::int64_t) {
    for (const auto& [run, tolerance] : runs_of_every_loop()) {
      SCOPED_TRACE(to_string(run.op));
      expect_same_as_reference(run, tolerance);
    }
  });
}

/// Packs every f16 and multiplies it by 1: a row, which is widened before, and groups of rows, of
/// which the first widens for the others.
TEST(CpuTargets, WidenEveryHalf) {
  constexpr std::size_t kCount = std::size_t{1} << 16;
  std::vector<std::uint16_t> halves(kCount);
  for (std::size_t i = 0; i < kCount; ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> wanted(kCount);
  read_elements<float>(DType::kF16, std::as_bytes(std::span(halves)).data(), 0, wanted);
  for_each_target([&](std::int64_t) {
    const GemmType& type = half_gemm_type();
    const std::size_t width = type.widths().panel;
    std::vector<std::uint16_t> packed(width);
    for (const std::size_t rows : {1, 8, 9, 12}) {
      const std::vector<float> ones(rows, 1);
      std::vector<float> got(rows * width);
      for (std::size_t at = 0; at < kCount; at += width) {
        type.pack_columns(wanted.data() + at, width, 1, width, packed.data(), width);
        MatMulPanel panel;
        panel.a = ones.data();
        panel.lda = panel.depth = 1;
        panel.b = packed.data();
        panel.ldb = panel.ldc = panel.columns = width;
        panel.rows = rows;
        panel.c = got.data();
        type.multiply(panel);
        for (std::size_t i = 0; i < rows * width; ++i) {
          const float x = wanted[at + i % width];
          ASSERT_TRUE(std::isnan(x) ? std::isnan(got[i]) : got[i] == x) << at << " " << i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace parallax
