#include "memory/packing/heuristics.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "memory/free_list.h"

namespace parallax::packing {

std::vector<std::int64_t> pack_by_birth(const Sections& sections) {
  std::vector<std::int64_t> offsets(sections.items.size(), 0);
  std::priority_queue<std::pair<std::int32_t, std::size_t>,
                      std::vector<std::pair<std::int32_t, std::size_t>>, std::greater<>>
      alive;  // {end of life, item}
  FreeList free;
  std::int64_t height = 0;
  for (std::size_t i = 0; i < sections.items.size(); ++i) {
    const Item& item = sections.items[i];
    for (; !alive.empty() && alive.top().first <= item.first; alive.pop()) {
      const std::size_t dead = alive.top().second;
      free.add(offsets[dead], sections.items[dead].bytes);
    }
    alive.emplace(item.last, i);
    if (const auto offset = free.take(item.bytes)) {
      offsets[i] = *offset;
      continue;
    }
    offsets[i] = free.take_ending_at(height).value_or(height);
    height = offsets[i] + item.bytes;
  }
  return offsets;
}

std::optional<std::vector<std::int64_t>> pack_lowest(const Sections& sections,
                                                     const Neighbours& neighbours,
                                                     std::span<const std::int32_t> order,
                                                     Effort& effort) {
  std::vector<std::int64_t> offsets(sections.items.size(), -1);
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;  // {begin, end}
  for (std::int32_t i : order) {
    const auto others = neighbours.of(i);
    if (!effort.spend(others.size() + 1)) return std::nullopt;
    blocks.clear();
    for (std::int32_t other : others) {
      const auto j = static_cast<std::size_t>(other);
      if (offsets[j] >= 0) blocks.emplace_back(offsets[j], offsets[j] + sections.items[j].bytes);
    }
    std::sort(blocks.begin(), blocks.end());
    const std::int64_t bytes = sections.items[static_cast<std::size_t>(i)].bytes;
    std::int64_t offset = 0;
    for (const auto& [begin, end] : blocks) {
      if (begin - offset >= bytes) break;
      offset = std::max(offset, end);
    }
    offsets[static_cast<std::size_t>(i)] = offset;
  }
  return offsets;
}

std::int64_t height_of(const Sections& sections, std::span<const std::int64_t> offsets) {
  std::int64_t height = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    height = std::max(height, offsets[i] + sections.items[i].bytes);
  }
  return height;
}

namespace {

/// Most and summed bytes of sections, for any range of them.
struct Load {
  double most = 0;
  double average = 0;
};

Load load_of(const Sections& sections, const Item& item) {
  Load load;
  for (std::int32_t s = item.first; s < item.last; ++s) {
    const auto bytes = static_cast<double>(sections.bytes[static_cast<std::size_t>(s)]);
    load.most = std::max(load.most, bytes);
    load.average += bytes;
  }
  load.average /= item.last - item.first;
  return load;
}

}  // namespace

std::vector<double> sort_keys(const Sections& sections, SortKey key) {
  double widest = 1;
  double largest = 1;
  for (const Item& item : sections.items) {
    widest = std::max(widest, static_cast<double>(item.width));
    largest = std::max(largest, static_cast<double>(item.bytes));
  }
  std::vector<double> keys;
  for (const Item& item : sections.items) {
    const double width = static_cast<double>(item.width) / widest;
    const double bytes = static_cast<double>(item.bytes) / largest;
    const int span = item.last - item.first;
    double value = 0;
    switch (key) {
      case SortKey::kFullestSection:
        value = load_of(sections, item).most * (1 + 0.01 * width);
        break;
      case SortKey::kFullestThenArea:
        value = load_of(sections, item).most * (1 + 0.01 * width * bytes);
        break;
      case SortKey::kWidth:
        value = width;
        break;
      case SortKey::kArea:
        value = width * bytes;
        break;
      case SortKey::kBytes:
        value = bytes;
        break;
      case SortKey::kNeighbours:
        value = span;
        break;
      case SortKey::kAverageTimesWidth:
        value = load_of(sections, item).average * span;
        break;
      case SortKey::kAverage:
        value = load_of(sections, item).average;
        break;
    }
    keys.push_back(value);
  }
  return keys;
}

std::vector<std::int32_t> order_by(std::span<const double> weight) {
  std::vector<std::int32_t> order(weight.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return weight[static_cast<std::size_t>(a)] > weight[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace parallax::packing
