#include "kernels/packed_weights.h"

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

TEST(PackedWeights, AQueuePacksLaterAndInOrder) {
  PackedWeights packed;
  PackingQueue queue;
  PackedWeights deferred(packed, queue);
  const std::byte source[2] = {};
  std::string order;
  const auto fill = [&](char name) {
    return [&order, name](std::byte* to) {
      std::memset(to, name, 10);
      order += name;
    };
  };
  const auto a = deferred.get(source, "a", 10, fill('a'));
  deferred.after_packing([&] { order += '.'; });
  queue.next_group();
  const auto again = deferred.get(source, "a", 10, fill('x'));
  const auto b = deferred.get(source, "b", 10, fill('b'));
  EXPECT_EQ(order, "");
  EXPECT_TRUE(queue.run(serial_for));
  EXPECT_EQ(order, "a.b");
  EXPECT_EQ(a->get(), again->get());
  EXPECT_EQ(*(*b)->data(), std::byte{'b'});
  EXPECT_EQ(packed.get(source, "a", 10, fill('y'))->get(), a->get());
  EXPECT_TRUE(queue.run(serial_for)) << "nothing is left";
  EXPECT_EQ(order, "a.b");
}

TEST(PackedWeights, ABlockThatCouldNotBeFilledIsFilledByTheNext) {
  PackedWeights packed;
  const std::byte source{};
  const auto broken = [](std::byte*) { throw std::runtime_error("no"); };
  EXPECT_THROW((void)packed.get(&source, "a", 8, broken), std::runtime_error);
  PackingQueue queue;
  PackedWeights deferred(packed, queue);
  ASSERT_TRUE(deferred.get(&source, "a", 8, broken));
  const Status status = queue.run(serial_for);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "no");
  const auto block = packed.get(&source, "a", 8, [](std::byte* to) { std::memset(to, 7, 8); });
  EXPECT_EQ(*(*block)->data(), std::byte{7});
}

}  // namespace
}  // namespace parallax
