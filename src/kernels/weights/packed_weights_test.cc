#include "kernels/weights/packed_weights.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace parallax {
namespace {

TEST(AlignedBytes, AlignsAndRefusesTheImpossible) {
  const auto bytes = AlignedBytes::allocate(3);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes->data()) % 64, 0U);
  EXPECT_EQ(bytes->size(), 3);
  for (const std::int64_t impossible :
       {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    const auto refused = AlignedBytes::allocate(impossible);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  }
}

TEST(PackedWeights, PacksOncePerSourceAndLayout) {
  PackedWeights packed;
  const std::byte source[2] = {};
  std::atomic<int> fills = 0;
  const auto get = [&](const std::byte* from, const std::string& layout) {
    return packed.get(from, layout, 100, [&](std::byte* to) {
      std::memset(to, 1, 100);
      ++fills;
    });
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { (void)get(source, "a"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fills, 1);
  EXPECT_EQ(get(source, "a")->get(), get(source, "a")->get());
  EXPECT_NE(get(source, "a")->get(), get(source, "b")->get());
  EXPECT_NE(get(source, "a")->get(), get(source + 1, "a")->get());
  EXPECT_EQ(fills, 3);
  EXPECT_EQ(packed.total_bytes(), 300);
}

TEST(PackedWeights, AListPacksLaterAndInOrder) {
  PackedWeights packed;
  PackingList first, second;
  const std::byte source[2] = {};
  std::string order;
  const auto fill = [&](char name) {
    return [&order, name](std::byte* to) {
      std::memset(to, name, 10);
      order += name;
    };
  };
  const auto a = PackedWeights(packed, first).get(source, "a", 10, fill('a'));
  PackedWeights later(packed, second);
  const auto again = later.get(source, "a", 10, fill('A'));
  const auto b = later.get(source, "b", 10, fill('b'));
  EXPECT_EQ(a->get(), again->get());
  EXPECT_EQ((*b)->size(), 10);
  EXPECT_EQ((*b)->data(), nullptr) << "no memory before allocate()";
  EXPECT_EQ(packed.total_bytes(), 20);
  ASSERT_TRUE(packed.allocate(second));
  EXPECT_EQ(order, "");
  ASSERT_TRUE(packed.fill(second));
  EXPECT_EQ(order, "Ab");
  EXPECT_EQ(*(*b)->data(), std::byte{'b'});
  ASSERT_TRUE(packed.allocate(first));
  ASSERT_TRUE(packed.fill(first));
  EXPECT_EQ(packed.get(source, "a", 10, fill('y'))->get(), a->get());
  EXPECT_EQ(order, "Ab") << "each block is filled once";
}

TEST(PackedWeights, WhoReadsAnotherThanTheConstantFillsTheBlock) {
  const std::byte source{}, other{}, instead{};
  const auto fill = [](char name) { return [name](std::byte* to) { std::memset(to, name, 8); }; };
  for (const bool first : {false, true}) {
    PackedWeights packed;
    PackingList with, without;
    PackedWeights replaces(packed, with), reads(packed, without);
    const auto read = [&] { EXPECT_TRUE(reads.get(&source, "a", 8, fill('c'))); };
    if (!first) read();
    const auto block = replaces.get(&source, "a", 8, fill('i'), {&instead, 1});
    if (first) read();
    ASSERT_TRUE(replaces.get(&other, "a", 8, fill('o')));
    EXPECT_TRUE(with.replaces(&source));
    EXPECT_FALSE(with.replaces(&other));
    EXPECT_FALSE(without.replaces(&source));
    ASSERT_TRUE(packed.allocate(with));
    ASSERT_TRUE(packed.fill(with));
    EXPECT_EQ(*(*block)->data(), std::byte{'i'}) << first;
  }
}

TEST(PackedWeights, ForgetsWhatIsPackedOfConstantsThatEnd) {
  PackedWeights packed;
  const std::byte source[30] = {};
  const std::span own = std::span(source).subspan(10, 10);
  const auto get = [&](std::size_t at, char name) {
    return *packed.get(source + at, "a", 10, [&](std::byte* to) { std::memset(to, name, 10); });
  };
  packed.lend(own);
  packed.lend(own);
  const auto before = get(0, 'b'), after = get(20, 'c'), first = get(10, 'd'), last = get(19, 'e');
  EXPECT_EQ(get(10, 'x'), first);
  packed.forget(own);
  const auto again = get(10, 'f');
  EXPECT_NE(again, first);
  EXPECT_EQ(*first->data(), std::byte{'d'}) << "who has it keeps it";
  packed.forget(own);
  EXPECT_EQ(*get(10, 'g')->data(), std::byte{'g'});
  EXPECT_EQ(*get(19, 'h')->data(), std::byte{'h'});
  EXPECT_EQ(get(0, 'x'), before);
  EXPECT_EQ(get(20, 'x'), after);
  EXPECT_EQ(packed.total_bytes(), 40);
}

TEST(PackedWeights, ABlockThatCouldNotBeFilledIsFilledByTheNext) {
  PackedWeights packed;
  const std::byte source{};
  const auto broken = [](std::byte*) { throw std::runtime_error("no"); };
  EXPECT_THROW((void)packed.get(&source, "a", 8, broken), std::runtime_error);
  PackingList list;
  PackedWeights deferred(packed, list);
  ASSERT_TRUE(deferred.get(&source, "a", 8, broken));
  ASSERT_TRUE(packed.allocate(list));
  const Status status = packed.fill(list);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "no");
  const auto block = packed.get(&source, "a", 8, [](std::byte* to) { std::memset(to, 7, 8); });
  EXPECT_EQ(*(*block)->data(), std::byte{7});
}

}  // namespace
}  // namespace parallax
