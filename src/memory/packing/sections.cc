#include "memory/packing/sections.h"

#include <algorithm>
#include <utility>

namespace parallax::packing {
namespace {

/// Returns the ends before which a buffer began since the previous end: a section is just before
/// each.
std::vector<std::int64_t> cuts_of(std::span<const PackingBuffer> buffers) {
  std::vector<std::pair<std::int64_t, bool>> events;  // {time, begins}: ends come first
  for (const PackingBuffer& buffer : buffers) {
    events.emplace_back(buffer.begin, true);
    events.emplace_back(buffer.end, false);
  }
  std::sort(events.begin(), events.end());
  std::vector<std::int64_t> cuts;
  bool grown = false;
  for (const auto& [time, begins] : events) {
    if (!begins && grown) cuts.push_back(time);
    grown = begins;
  }
  return cuts;
}

}  // namespace

Sections make_sections(std::span<const PackingBuffer> buffers) {
  const std::vector<std::int64_t> cuts = cuts_of(buffers);
  const auto section = [&](std::int64_t time) {
    return std::upper_bound(cuts.begin(), cuts.end(), time) - cuts.begin();
  };
  Sections sections;
  std::vector<std::int64_t> change(cuts.size() + 1, 0);
  std::int64_t unit = 0;
  for (const PackingBuffer& buffer : buffers) {
    const auto first = section(buffer.begin);
    const auto last = section(buffer.end);
    // Lifetimes of nearly 2^64 are as good as 2^62 for choosing an order.
    const auto width = std::min<std::uint64_t>(
        static_cast<std::uint64_t>(buffer.end) - static_cast<std::uint64_t>(buffer.begin),
        std::uint64_t{1} << 62);
    sections.items.push_back({buffer.bytes, static_cast<std::int64_t>(width),
                              static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)});
    change[static_cast<std::size_t>(first)] += buffer.bytes;
    change[static_cast<std::size_t>(last)] -= buffer.bytes;
    unit = std::gcd(unit, buffer.bytes);
  }
  change.pop_back();
  std::partial_sum(change.begin(), change.end(), change.begin());
  sections.bytes = std::move(change);
  for (std::int64_t bytes : sections.bytes) {
    sections.lower_bound = std::max(sections.lower_bound, bytes);
  }
  sections.unit = std::max<std::int64_t>(unit, 1);
  return sections;
}

bool Neighbours::make(const Sections& sections, std::size_t max_pairs, Neighbours& result) {
  const auto count = static_cast<std::int32_t>(sections.items.size());
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t last = sections.items[static_cast<std::size_t>(i)].last;
    for (std::int32_t j = i + 1; j < count; ++j) {
      if (sections.items[static_cast<std::size_t>(j)].first >= last) break;
      if (pairs.size() == max_pairs) return false;
      pairs.emplace_back(i, j);
    }
  }
  result.begin_.assign(sections.items.size() + 1, 0);
  for (const auto& [i, j] : pairs) {
    ++result.begin_[static_cast<std::size_t>(i) + 1];
    ++result.begin_[static_cast<std::size_t>(j) + 1];
  }
  std::partial_sum(result.begin_.begin(), result.begin_.end(), result.begin_.begin());
  std::vector<std::size_t> next(result.begin_.begin(), result.begin_.end() - 1);
  result.list_.resize(pairs.size() * 2);
  for (const auto& [i, j] : pairs) {
    result.list_[next[static_cast<std::size_t>(i)]++] = j;
    result.list_[next[static_cast<std::size_t>(j)]++] = i;
  }
  return true;
}

}  // namespace parallax::packing
