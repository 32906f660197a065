#include "ops/deferred.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "ir/charge.h"

namespace parallax {
namespace {

constexpr std::int64_t kElements = 20000;

Constant ramp(float by) {
  std::vector<float> elements(kElements);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = by * static_cast<float>(i);
  return make_constant(DType::kF32, Dims{kElements}, std::as_bytes(std::span(elements)));
}

float element(const Constant& constant, std::size_t i) {
  float value = 0;
  std::memcpy(&value, constant.bytes.data() + i * sizeof value, sizeof value);
  return value;
}

/// Adds one constant to another, and counts.
struct Sum {
  Constant a, b;
  std::atomic<int>* calls;
  Status operator()(std::span<std::byte> into) const {
    ++*calls;
    for (std::size_t i = 0; i < into.size() / sizeof(float); ++i) {
      const float sum = element(a, i) + element(b, i);
      std::memcpy(into.data() + i * sizeof sum, &sum, sizeof sum);
    }
    return {};
  }
};

Constant sum(const Constant& a, const Constant& b, std::atomic<int>& calls) {
  return defer(a.dtype, a.dims, {a, b}, Sum{a, b, &calls});
}

TEST(Deferred, IsComputedWhileItIsUsed) {
  std::atomic<int> calls = 0;
  const Constant constant = sum(ramp(1), ramp(2), calls);
  EXPECT_EQ(deferred_depth(constant), 1);
  EXPECT_EQ(constant.bytes.size(), kElements * sizeof(float));
  EXPECT_FALSE(is_computed(constant));
  {
    const auto once = compute(constant);
    ASSERT_TRUE(once);
    const auto twice = compute(constant);
    ASSERT_TRUE(twice);
    EXPECT_TRUE(is_computed(constant));
    EXPECT_EQ(element(constant, kElements - 1), 3.0F * (kElements - 1));
    EXPECT_EQ(calls, 1);
  }
  EXPECT_FALSE(is_computed(constant));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(compute(constant));
    EXPECT_TRUE(is_computed(constant)) << "the second time, for good";
    EXPECT_EQ(element(constant, 1), 3.0F);
  }
  EXPECT_EQ(calls, 2);
}

TEST(Deferred, IsLargeAndHasNoIntegers) {
  const std::int64_t most = kDeferredBytes / 4;
  EXPECT_TRUE(may_be_deferred(DType::kF32, Dims{most}));
  EXPECT_FALSE(may_be_deferred(DType::kF32, Dims{most - 1}));
  for (const DType dtype : {DType::kBool, DType::kI32, DType::kI64})
    EXPECT_FALSE(may_be_deferred(dtype, Dims{8 * most}));
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(may_be_deferred(DType::kF32, Dims{kMax, kMax})) << "more than 63 bits";
}

TEST(Deferred, OthersNeedNoComputing) {
  const Constant constant = ramp(1);
  EXPECT_EQ(deferred_depth(constant), 0);
  EXPECT_TRUE(is_computed(constant));
  EXPECT_TRUE(compute(constant));
  EXPECT_TRUE(compute_for_good(constant));
  std::atomic<int> calls = 0;
  const Constant small = defer_large(DType::kF32, Dims{4}, {}, Sum{constant, constant, &calls});
  EXPECT_EQ(deferred_depth(small), 0);
  EXPECT_EQ(element(small, 3), 6.0F);
  const Constant large =
      defer_large(DType::kF32, Dims{kElements}, {}, Sum{constant, constant, &calls});
  EXPECT_EQ(deferred_depth(large), 1);
  EXPECT_EQ(calls, 1);
}

TEST(Deferred, ASourceIsComputedOnceForAllAndThenGoes) {
  std::atomic<int> calls = 0;
  Constant source = sum(ramp(1), ramp(2), calls);
  const std::weak_ptr<const void> held = source.owner;
  const Constant first = sum(source, source, calls), second = sum(source, ramp(1), calls);
  source = {};
  EXPECT_EQ(deferred_depth(first), 2);
  { ASSERT_TRUE(compute(first)); }
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(is_computed(first)) << "what it was made of is gone";
  EXPECT_FALSE(held.expired()) << "the other is made of it too";
  { ASSERT_TRUE(compute(second)); }
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(element(first, 5), 30.0F);
  EXPECT_EQ(element(second, 5), 20.0F);
}

TEST(Deferred, StaysWhereItsSourcesTakeMemory) {
  const auto quota = std::make_shared<LoadQuota>();
  const std::int64_t before = quota->bytes_left();
  Constant paid = ramp(1);
  ASSERT_TRUE(charge(quota, paid));
  std::atomic<int> calls = 0;
  Constant constant = sum(paid, paid, calls);
  paid = {};
  ASSERT_TRUE(charge(quota, constant));
  EXPECT_EQ(deferred_depth(constant), 1) << "although it was paid for";
  EXPECT_TRUE(holds_memory(constant));
  EXPECT_LT(quota->bytes_left(), before - kElements * 4 * kChargePerByte);
  { ASSERT_TRUE(compute(constant)); }
  EXPECT_TRUE(is_computed(constant));
  EXPECT_FALSE(holds_memory(constant));
  EXPECT_EQ(quota->bytes_left(), before - kElements * 4 * kChargePerByte);
  EXPECT_EQ(element(constant, 4), 8.0F);
}

TEST(Deferred, KnowsWhatTheFileHas) {
  const std::vector<std::byte> zeros(2 * kElements);
  const Constant halves = make_constant(DType::kF16, Dims{100, 200}, zeros);
  const Fill none = [](std::span<std::byte>) -> Status { return {}; };
  const Dims dims{200, 100};
  const Constant made =
      defer(DType::kF32, dims, {halves}, none, transposed_form(*own_form(halves), halves.dims, {}));
  const auto form = stored_form(made, dims);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->source.bytes.data(), halves.bytes.data());
  EXPECT_EQ(form->stride(0), 1);
  EXPECT_FALSE(stored_form(made, Dims{kElements})) << "not in their order";
  EXPECT_FALSE(stored_form(defer(DType::kF32, dims, {halves}, none), dims));
  EXPECT_TRUE(stored_form(halves, Dims{kElements}));
  EXPECT_TRUE(stored_form(ramp(1), Dims{kElements}));
}

TEST(Deferred, ComputesForGood) {
  std::atomic<int> calls = 0;
  const Constant constant = sum(ramp(1), ramp(2), calls);
  ASSERT_TRUE(compute_for_good(constant));
  { ASSERT_TRUE(compute(constant)); }
  EXPECT_TRUE(is_computed(constant));
  EXPECT_EQ(calls, 1);
}

TEST(Deferred, AFailureIsTriedAgain) {
  bool works = false;
  const Constant constant =
      defer(DType::kF32, Dims{kElements}, {}, [&works](std::span<std::byte> into) -> Status {
        if (!works) return tl::unexpected(Error{Stage::kRun, ErrorCode::kInvalidInput, "n", "no"});
        std::ranges::fill(into, std::byte{1});
        return {};
      });
  const auto failed = compute(constant);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().node, "n");
  EXPECT_FALSE(is_computed(constant));
  works = true;
  const auto computed = compute(constant);
  ASSERT_TRUE(computed);
  EXPECT_EQ(constant.bytes.back(), std::byte{1});
}

TEST(Deferred, ExceptionsAreErrors) {
  const Constant constant = defer(DType::kF32, Dims{kElements}, {},
                                  [](std::span<std::byte>) -> Status { throw std::bad_alloc(); });
  const auto failed = compute(constant);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kOutOfMemory);
}

TEST(Deferred, ThreadsUseItAtOnce) {
  std::atomic<int> calls = 0, wrong = 0;
  const Constant source = sum(ramp(1), ramp(2), calls);
  const Constant constant = sum(source, ramp(1), calls), dropped = sum(ramp(1), ramp(1), calls);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto a = compute(constant), b = compute(dropped);
        if (!a || !b || element(constant, 7) != 28.0F || element(dropped, 7) != 14.0F) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(calls, 4) << "the two others once each, this one twice at most";
}

}  // namespace
}  // namespace parallax
