// Compares kernels of bytes on every instruction set of this machine, to the bit. A checksum of the
// results stands for those of other machines: the same test runs on Arm, under an emulator.
#include <gtest/gtest.h>

#include "kernels/cpu/gemm/byte_loops.h"
#include "kernels/cpu/quantised/byte_product_test_util.h"
#include "kernels/cpu/targets_test_util.h"
#include "ops/params/quantised.h"

namespace parallax {
namespace {

/// The sums are scaled by MulAdd, which rounds twice where the instruction set has no such
/// instruction: a result may then be its neighbour.
bool rounds_twice(std::int64_t target) {
#if HWY_ARCH_X86
  return target >= HWY_SSE4;
#else
  return target == HWY_SCALAR;
#endif
}

struct TargetRun {
  std::string name;
  KernelRun run;
  KernelMaker make;
};

KernelMaker cpu_kernels() {
  return [](const KernelRequest& request) {
    return test_detail::make_of(request, KernelLibrary::kCpu);
  };
}

void add_products(const ByteForm& form, std::vector<TargetRun>& runs) {
  for (const Dims& s : {Dims{1, 4, 16}, Dims{7, 5, 3}, Dims{13, 257, 33}, Dims{50, 64, 100}})
    runs.push_back({std::string(form.name) + " product " + s.to_string(),
                    product_run(OpKind::kMatMulInteger, {s[0], s[1]}, {s[1], s[2]}, s[2], form),
                    byte_panels_matmul});
  const ByteImage images[] = {
      {{1, 9, 11, 3}, 16, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}},
      {{2, 12, 10, 8}, 70, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}},
      {{1, 7, 9, 5}, 10, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
  };
  for (const ByteImage& image : images)
    runs.push_back({std::string(form.name) + " convolution " + image.x.to_string(),
                    image_run(image, 1, form), byte_convolution});
  runs.push_back({std::string(form.name) + " depthwise",
                  image_run({{2, 12, 10, 37}, 37, {5, 3}, {2, 0, 2, 4}, {1, 1}, {1, 2}}, 37, form),
                  byte_depthwise});
}

KernelRun looked_up_product() {
  std::vector<std::uint8_t> entries(kByteTableSize);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<std::uint8_t>(i * 7);
  KernelRun run = product_run(OpKind::kMatMulInteger, {20, 40}, {40, 90}, 90, kByteForms[4]);
  set_param(run.attributes, &ByteTableParams::table,
            make_constant(DType::kU8, Dims{kByteTableSize}, std::as_bytes(std::span(entries))));
  return run;
}

/// Returns nodes whose results the instruction set may not change.
std::vector<TargetRun> runs_of_bytes() {
  std::vector<TargetRun> runs;
  for (const ByteForm& form : kByteForms) {
    // Silu of real numbers has loops of its own for each instruction set.
    const bool exact = std::string_view(form.activation) != "Silu";
    if (exact) add_products(form, runs);
  }
  runs.push_back({"table", looked_up_product(), byte_panels_matmul});
  const auto scale = [] { return test_tensor<float>({}, {0.0371F}); };
  for (const bool is_signed : {false, true}) {
    runs.push_back({"quantise",
                    {OpKind::kQuantizeLinear, test_inputs(random_floats({3, 333}, 7, -9, 9),
                                                          scale(), byte_scalar(is_signed, 3))},
                    cpu_kernels()});
    runs.push_back({"dequantise",
                    {OpKind::kDequantizeLinear, test_inputs(random_bytes({3, 77}, is_signed, 8),
                                                            scale(), byte_scalar(is_signed, 3))},
                    cpu_kernels()});
    runs.push_back({"pool",
                    {OpKind::kMaxPool, test_inputs(random_bytes({2, 7, 9, 70}, is_signed, 1)),
                     test_attributes({{"layout", std::string("NHWC")},
                                      {"kernel_shape", std::vector<std::int64_t>{5, 3}}})},
                    cpu_kernels()});
  }
  runs.push_back({"quantise dynamically",
                  {OpKind::kDynamicQuantizeLinear, test_inputs(random_floats({777}, 9)), {}, 3},
                  cpu_kernels()});
  return runs;
}

/// All bytes of all outputs, one after the other.
std::vector<std::byte> bytes_of_run(const TargetRun& run) {
  std::vector<std::byte> bytes;
  const auto outcome = run_kernel_tiles(run.run, run.make);
  EXPECT_TRUE(outcome) << run.name << ": " << outcome.error().to_string();
  if (!outcome) return bytes;
  for (const Tensor& output : outcome->outputs)
    bytes.insert(bytes.end(), output.view().bytes.begin(), output.view().bytes.end());
  return bytes;
}

/// FNV-1a.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t sum) {
  for (const std::byte byte : bytes)
    sum = (sum ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3U;
  return sum;
}

TEST(ByteTargets, GiveTheSameBits) {
  constexpr std::uint64_t kChecksum = 2681485909092149937U;
  const std::vector<TargetRun> runs = runs_of_bytes();
  for_each_target([&](std::int64_t target) {
    if (rounds_twice(target)) return;
    std::uint64_t sum = 0xcbf29ce484222325U;
    for (const TargetRun& run : runs) sum = checksum(bytes_of_run(run), sum);
    EXPECT_EQ(sum, kChecksum) << "bits differ from those of other instruction sets";
  });
}

/// Names the run whose results differ, and compares sums also where numbers are rounded twice.
TEST(ByteTargets, GiveTheBitsOfTheBestOne) {
  const std::vector<TargetRun> runs = runs_of_bytes();
  std::vector<std::vector<std::byte>> best;
  for (const TargetRun& run : runs) best.push_back(bytes_of_run(run));
  for_each_target([&](std::int64_t target) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const bool scaled = runs[i].run.inputs.size() > kProductXScale;
      if (scaled && rounds_twice(target)) continue;
      EXPECT_EQ(bytes_of_run(runs[i]), best[i]) << runs[i].name;
    }
  });
}

/// The loops of Highway and those for VNNI read one layout, where a panel of the latter fits the
/// vectors of the former.
TEST(ByteTargets, RequantiseLikeVnni) {
  if (!cpu_has_vnni()) GTEST_SKIP() << "no AVX-512 VNNI";
  constexpr std::size_t kRows = 9, kSteps = 21, kColumns = 61, kPadded = 64;
  std::vector<std::uint8_t> a(kRows * kSteps * 4);
  std::vector<std::uint8_t> b(kSteps * kPadded * 4);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(i * 37);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint8_t>(i * 101 + i / 64);
  std::vector<std::int32_t> start(kPadded, -77), row_start(kRows, 1234);
  std::vector<float> scale(kPadded), offset(kPadded);
  for (std::size_t j = 0; j < kPadded; ++j) {
    scale[j] = 0.0001F * static_cast<float>(j + 1);
    offset[j] = static_cast<float>(j) - 30.5F;
  }
  Requantise to;
  to.scale = scale.data();
  to.offset = offset.data();
  to.zero = -3;
  MatMulPanel panel;
  panel.a = a.data();
  panel.lda = panel.depth = kSteps;
  panel.b = b.data();
  panel.ldb = kPadded;
  panel.ldc = panel.columns = kColumns;
  panel.rows = kRows;
  panel.bias = start.data();
  panel.row_start = row_start.data();
  panel.requantise = &to;
  for (const auto& [low, high, bytes] :
       {std::tuple(-128.0F, 127.0F, true), std::tuple(3.0F, 255.0F, true),
        std::tuple(0.0F, 0.0F, false)}) {
    to.low = low;
    to.high = high;
    to.bytes = bytes;
    std::vector<std::byte> want(kRows * kColumns * 4), got(want.size());
    panel.c = want.data();
    vnni_panel(panel);
    for_each_target([&](std::int64_t target) {
      if (rounds_twice(target)) return;
      panel.c = got.data();
      portable_byte_panel(panel);
      EXPECT_EQ(got, want);
    });
  }
}

}  // namespace
}  // namespace parallax
