#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {

Result<std::unique_ptr<Kernel>> columns_bits_matmul(const KernelRequest& request);

namespace {

enum class Zeros : std::uint8_t { kNone, kPacked, kReal };

struct BitsCase {
  const char* name;
  std::int64_t bits, block;
  Zeros zeros = Zeros::kNone;
  bool bias = false;
};
constexpr BitsCase kBitsForms[] = {
    {"Bits2", 2, 32},
    {"Bits2Packed", 2, 16, Zeros::kPacked, true},
    {"Bits2PackedLong", 2, 128, Zeros::kPacked},
    {"Bits2Real", 2, 128, Zeros::kReal},
    {"Bits4", 4, 32},
    {"Bits4Short", 4, 16, Zeros::kNone, true},
    {"Bits4Long", 4, 128},
    {"Bits4Packed", 4, 32, Zeros::kPacked, true},
    {"Bits4PackedShort", 4, 16, Zeros::kPacked},
    {"Bits4PackedLong", 4, 128, Zeros::kPacked},
    {"Bits4PackedWholeColumn", 4, 1024, Zeros::kPacked},
    {"Bits4Real", 4, 32, Zeros::kReal},
    {"Bits8", 8, 128, Zeros::kNone, true},
    {"Bits8Packed", 8, 16, Zeros::kPacked},
    {"Bits8PackedLong", 8, 128, Zeros::kPacked},
    {"Bits8Real", 8, 32, Zeros::kReal, true},
};

KernelRun bits_product_run(const BitsCase& form, std::int64_t rows, std::int64_t depth,
                           std::int64_t columns) {
  const std::int64_t blocks = (depth + form.block - 1) / form.block;
  KernelRun run{
      OpKind::kMatMulNBits,
      test_inputs(
          random_floats({rows, depth}, 1, -1, 1),
          random_integers<std::uint8_t>({columns, blocks, form.block * form.bits / 8}, 2, 0, 255),
          random_floats({columns * blocks}, 3, 0.01F, 0.02F)),
      test_attributes(
          {{"K", depth}, {"N", columns}, {"bits", form.bits}, {"block_size", form.block}})};
  run.inputs.emplace_back();
  if (form.zeros == Zeros::kPacked)
    run.inputs[3] =
        random_integers<std::uint8_t>({columns * ((blocks * form.bits + 7) / 8)}, 4, 0, 255);
  if (form.zeros == Zeros::kReal)
    run.inputs[3] = random_floats({columns, blocks}, 4, 0, static_cast<float>(1 << form.bits));
  if (form.bias) {
    run.inputs.emplace_back();
    run.inputs.emplace_back(random_floats({columns}, 5));
  }
  return run;
}

class BitsMatMul : public testing::TestWithParam<BitsCase> {};

TEST_P(BitsMatMul, IsLikeReference) {
  for (const std::int64_t rows : {1, 2, 3, 5, 8, 17, 64})
    for (const auto& [depth, columns] :
         {std::pair{1, 1}, {37, 5}, {128, 19}, {259, 70}, {512, 64}, {531, 83}}) {
      SCOPED_TRACE(std::to_string(rows) + " " + std::to_string(depth));
      const KernelRun run = bits_product_run(GetParam(), rows, depth, columns);
      const auto want = run_kernel_tiles(run, KernelLibrary::kReference);
      const auto got = run_kernel_tiles(run, columns_bits_matmul);
      ASSERT_TRUE(want) << want.error().to_string();
      ASSERT_TRUE(got) << got.error().to_string();
      expect_close(got->outputs[0], want->outputs[0], {1e-5, GetParam().bits == 8 ? 3e-4 : 3e-5});
    }
}

/// Runs tiles on `threads` threads, each with one scratch.
class TilesOnThreads final : public Kernel {
 public:
  TilesOnThreads(std::unique_ptr<Kernel> kernel, int threads)
      : kernel_(std::move(kernel)), threads_(threads) {}

  InputUse input_use(std::size_t i) const override { return kernel_->input_use(i); }
  Status run_tile(std::int64_t, const KernelArgs& args) const override {
    std::atomic<std::int64_t> next = 0;
    std::atomic<bool> failed = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_; ++i) {
      threads.emplace_back([&] {
        const AlignedBytes scratch =
            std::move(AlignedBytes::allocate(kernel_->scratch_bytes())).value();
        KernelArgs own = args;
        own.scratch = {scratch.data(), static_cast<std::size_t>(kernel_->scratch_bytes())};
        for (std::int64_t tile = next++; tile < kernel_->tiles(); tile = next++) {
          if (!kernel_->run_tile(tile, own)) failed = true;
          own.previous_tile = tile;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(failed);
    return {};
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  int threads_;
};

TEST_P(BitsMatMul, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const std::int64_t rows : {1, 3, 50}) {
    SCOPED_TRACE(rows);
    const KernelRun run = bits_product_run(GetParam(), rows, 531, 515);
    const auto want = run_kernel_tiles(run, columns_bits_matmul);
    ASSERT_TRUE(want);
    EXPECT_GE(want->tiles, 2);
    for (const int threads : {1, 3}) {
      const auto got = run_kernel_tiles(run, [&](const KernelRequest& request) {
        auto kernel = columns_bits_matmul(request);
        return Result<std::unique_ptr<Kernel>>(
            std::make_unique<TilesOnThreads>(std::move(*kernel), threads));
      });
      ASSERT_TRUE(got);
      expect_close(got->outputs[0], want->outputs[0], {});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, BitsMatMul, testing::ValuesIn(kBitsForms),
                         [](const auto& row) { return std::string(row.param.name); });

// A chunk of weights may end in the next column.
TEST(BitsMatMuls, KeepColumnsApart) {
  KernelRun run = bits_product_run({"", 4, 16}, 1, 37, 6);
  std::vector<float> scales = test_values<float>(*run.inputs[2]);
  for (std::size_t i = 9; i < 12; ++i) scales[i] = std::numeric_limits<float>::infinity();
  run.inputs[2] = test_tensor<float>({18}, scales);
  const auto got = run_kernel_tiles(run, columns_bits_matmul);
  ASSERT_TRUE(got);
  const std::vector<float> sums = test_values<float>(got->outputs[0]);
  for (std::size_t j = 0; j < sums.size(); ++j) EXPECT_EQ(std::isfinite(sums[j]), j != 3) << j;
}

TEST(BitsMatMuls, DeclineBlocksOfNoPowerOfTwo) {
  const auto got = run_kernel_tiles(bits_product_run({"", 4, 24}, 1, 48, 4), columns_bits_matmul);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnsupported);
}

TEST(BitsMatMuls, OfNoRows) { expect_same_as_reference(bits_product_run(kBitsForms[0], 0, 37, 5)); }

}  // namespace
}  // namespace parallax
