#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "kernels/cpu/cpu_test_util.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

/// Runs a Cast of elements given by their bits; expects the bytes of the reference kernel.
template <class Bits>
void expect_bits_of_reference(DType from, const std::vector<Bits>& bits, DType to) {
  Tensor x = Tensor::allocate(from, Dims{std::ssize(bits)}).value();
  std::memcpy(x.mutable_view().bytes.data(), bits.data(), bits.size() * sizeof(Bits));
  KernelRun run{OpKind::kCast, {}, test_attributes({{"to", std::int64_t{info_of(to).onnx}}})};
  run.inputs.emplace_back(std::move(x));
  const auto want = run_kernel(run, KernelLibrary::kReference);
  const auto got = run_kernel(run, KernelLibrary::kCpu);
  ASSERT_TRUE(want && got);
  EXPECT_TRUE(std::ranges::equal(want->front().view().bytes, got->front().view().bytes))
      << bits.size();
}

TEST(CpuCast, HalvesHaveTheBitsOfTheReference) {
  std::vector<std::uint16_t> all(1U << 16U);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  expect_bits_of_reference(DType::kF16, all, DType::kF32);
  for (const std::size_t count : {1U, 7U, 33U}) {
    all.resize(count);
    expect_bits_of_reference(DType::kF16, all, DType::kF32);
  }
}

TEST(CpuCast, BoolsAreBytesOtherThanZero) {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<std::uint8_t>(i % 3 == 0 ? 0 : i));
  for (const DType to : {DType::kF32, DType::kI32, DType::kI64, DType::kBool})
    expect_bits_of_reference(DType::kBool, bytes, to);
}

TEST(CpuCast, FloatsHaveTheBitsOfTheReference) {
  std::vector<std::uint32_t> some;
  std::mt19937 random(1);
  for (std::uint32_t half = 0; half < 1U << 16U; ++half) {
    // Numbers of f16, halfway to the next, and their neighbours.
    const auto bits =
        std::bit_cast<std::uint32_t>(to_float(Float16{static_cast<std::uint16_t>(half)}));
    for (const std::uint32_t more : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x1fffU})
      some.push_back(bits + more);
    // Below the least number of 10 bits, halves of f16 lie elsewhere.
    const float next = to_float(Float16{static_cast<std::uint16_t>(half + 1)});
    some.push_back(std::bit_cast<std::uint32_t>((std::bit_cast<float>(bits) + next) / 2));
    some.push_back(static_cast<std::uint32_t>(random()));
  }
  expect_bits_of_reference(DType::kF32, some, DType::kF16);
  for (const std::size_t count : {1U, 7U, 33U}) {
    some.resize(count);
    expect_bits_of_reference(DType::kF32, some, DType::kF16);
  }
}

}  // namespace
}  // namespace parallax
