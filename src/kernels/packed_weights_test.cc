#include "kernels/packed_weights.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
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

}  // namespace
}  // namespace parallax
