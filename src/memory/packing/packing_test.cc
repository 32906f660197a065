#include "memory/packing/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <random>

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Buffers = std::vector<PackingBuffer>;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

Packing packed(const Buffers& buffers, PackingLimit limit = {}) {
  auto result = pack(buffers, limit);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.value_or(Packing{});
}

/// Cuts a rectangle of `height` into buffers that fill it without a gap.
Buffers cut_rectangle(std::int64_t height, int cuts, std::uint64_t seed) {
  struct Rectangle {
    std::int64_t begin, end, low, high;
  };
  std::mt19937_64 random(seed);
  std::vector<Rectangle> parts = {{0, 1000, 0, height}};
  for (int i = 0; i < cuts; ++i) {
    Rectangle& part = parts[random() % parts.size()];
    Rectangle other = part;
    const bool in_time = random() % 2 == 0;
    const std::int64_t size = in_time ? part.end - part.begin : part.high - part.low;
    if (size < 2) continue;
    const auto cut = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size - 1));
    if (in_time) {
      part.end = other.begin = part.begin + cut;
    } else {
      part.high = other.low = part.low + cut;
    }
    parts.push_back(other);
  }
  Buffers buffers;
  for (const Rectangle& part : parts) {
    buffers.push_back({part.begin, part.end, part.high - part.low});
  }
  std::shuffle(buffers.begin(), buffers.end(), random);
  return buffers;
}

/// Returns the minimum height of all packings: tries every order, with each buffer as low as those
/// before it allow.
std::int64_t least_height(const Buffers& buffers) {
  std::vector<std::size_t> order(buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::int64_t best = kLargest;
  do {
    std::vector<std::int64_t> top(buffers.size(), 0);
    std::int64_t height = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const PackingBuffer& buffer = buffers[order[i]];
      std::int64_t floor = 0;
      for (std::size_t j = 0; j < i; ++j) {
        const PackingBuffer& other = buffers[order[j]];
        if (other.begin < buffer.end && buffer.begin < other.end) {
          floor = std::max(floor, top[order[j]]);
        }
      }
      top[order[i]] = floor + buffer.bytes;
      height = std::max(height, top[order[i]]);
    }
    best = std::min(best, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

rc::Gen<Buffers> any_buffers(int most) {
  return rc::gen::mapcat(
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, most + 1)), [](int count) {
        return rc::gen::container<Buffers>(
            static_cast<std::size_t>(count),
            rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(1, 6),
                                        rc::gen::inRange(1, 9)),
                         [](const std::tuple<int, int, int>& t) {
                           const auto& [begin, width, bytes] = t;
                           return PackingBuffer{begin, begin + width, bytes};
                         }));
      });
}

TEST(Packing, NothingTakesNothing) {
  EXPECT_EQ(packed({}).height, 0);
  const Packing packing = packed({{3, 3, 100}, {0, 9, 0}});
  EXPECT_EQ(packing.height, 0);
  EXPECT_THAT(packing.offset, ElementsAre(0, 0));
}

TEST(Packing, BuffersThatMeetInTimeShareBytes) {
  const Packing packing = packed({{0, 5, 10}, {5, 9, 10}, {20, 21, 4}});
  EXPECT_EQ(packing.height, 10);
  EXPECT_THAT(packing.offset, ElementsAre(0, 0, 0));
}

TEST(PackingProperty, IsTheLeastOfAllOrders) {
  EXPECT_TRUE(rc::check([] {
    const Buffers buffers = *any_buffers(7);
    const auto packing = pack(buffers, {});
    RC_ASSERT(packing.has_value());
    RC_ASSERT(check_packing(buffers, *packing).has_value());
    RC_ASSERT(packing->height == (buffers.empty() ? 0 : least_height(buffers)));
    RC_ASSERT(packing->lower_bound == packing->height);
  }));
}

TEST(PackingProperty, IsSoundAndTheSameEveryTimeWhateverTheLimit) {
  EXPECT_TRUE(rc::check([] {
    const Buffers buffers = *any_buffers(60);
    PackingLimit limit;
    limit.steps = *rc::gen::inRange(0, 20'000);
    const auto packing = pack(buffers, limit);
    RC_ASSERT(packing.has_value());
    RC_ASSERT(check_packing(buffers, *packing).has_value());
    RC_ASSERT(packing->height >= packing->lower_bound);
    const auto again = pack(buffers, limit);
    RC_ASSERT(again.has_value() && again->offset == packing->offset);
  }));
}

TEST(Packing, FillsRectanglesCutAtRandom) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Buffers buffers = cut_rectangle(1 << 20, 60, seed);
    const Packing packing = packed(buffers, {.steps = 20'000'000, .stop = {}});
    EXPECT_TRUE(check_packing(buffers, packing).has_value());
    EXPECT_EQ(packing.lower_bound, 1 << 20);
    EXPECT_LE(packing.height, (1 << 20) * 1.02) << "seed " << seed;
  }
}

TEST(Packing, StopsWhenAsked) {
  const Buffers buffers = cut_rectangle(1 << 20, 300, 7);
  int asked = 0;
  const Packing packing = packed(buffers, {.steps = kLargest, .stop = [&] { return ++asked > 3; }});
  EXPECT_EQ(asked, 4);
  EXPECT_TRUE(check_packing(buffers, packing).has_value());
}

TEST(Packing, TakesManyBuffers) {
  std::mt19937_64 random(5);
  for (const std::uint64_t longest : {20U, 100'000U}) {
    Buffers buffers;
    for (int i = 0; i < 100'000; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 100'000);
      const auto width = static_cast<std::int64_t>(1 + random() % longest);
      buffers.push_back({begin, begin + width, static_cast<std::int64_t>(1 + random() % 5000)});
    }
    const Packing packing = packed(buffers);
    EXPECT_TRUE(check_packing(buffers, packing).has_value());
    EXPECT_LT(packing.height, 2 * packing.lower_bound);
  }
}

TEST(Packing, RefusesWhatIsNoProblem) {
  const std::vector<std::pair<Buffers, const char*>> cases = {
      {{{0, 1, -1}}, "buffer 0 has -1 bytes"},
      {{{0, 1, 1}, {5, 4, 1}}, "buffer 1 ends at 4"},
      {{{0, 1, kLargest}}, "more than"},
      {{{0, 1, kLargest / 5}, {2, 3, kLargest / 5}}, "more than"},
  };
  for (const auto& [buffers, message] : cases) {
    const auto packing = pack(buffers, {});
    ASSERT_FALSE(packing.has_value()) << message;
    EXPECT_THAT(packing.error().message, HasSubstr(message));
  }
}

TEST(Packing, TakesExtremeTimesAndSizes) {
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  const Buffers buffers = {
      {kFirst, kLargest, std::int64_t{1} << 60}, {kFirst, 0, 7}, {0, kLargest, 9}};
  EXPECT_EQ(packed(buffers).height, (std::int64_t{1} << 60) + 9);
}

TEST(CheckPacking, NamesWhatIsWrong) {
  const Buffers buffers = {{0, 4, 10}, {2, 6, 10}, {6, 8, 10}};
  const std::vector<std::pair<Packing, const char*>> cases = {
      {{{0, 9, 0}, 20, 0}, "buffers 0 and 1 overlap"},
      {{{0, 0, 0}, 20, 0}, "buffers 0 and 1 overlap"},
      {{{10, 5, 0}, 20, 0}, "buffers 0 and 1 overlap"},
      {{{0, 10, -1}, 20, 0}, "buffer 2 at -1"},
      {{{0, 11, 0}, 20, 0}, "buffer 1 at 11"},
      {{{0, kLargest, 0}, 20, 0}, "buffer 1 at"},
      {{{0, 10}, 20, 0}, "one offset for each"},
  };
  for (const auto& [packing, message] : cases) {
    const Status status = check_packing(buffers, packing);
    ASSERT_FALSE(status.has_value()) << message;
    EXPECT_THAT(status.error().message, HasSubstr(message));
  }
  EXPECT_TRUE(check_packing(buffers, {{0, 10, 0}, 20, 20}).has_value());
}

}  // namespace
}  // namespace parallax
