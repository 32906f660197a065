#include "load/containers/section.h"

#include <algorithm>

#include "base/checked.h"

namespace parallax {

bool overlap(std::vector<ByteRange> ranges) {
  std::erase_if(ranges, [](const ByteRange& range) { return range.first == range.second; });
  std::ranges::sort(ranges);
  const auto meet = [](const ByteRange& a, const ByteRange& b) { return b.first < a.second; };
  return std::ranges::adjacent_find(ranges, meet) != ranges.end();
}

bool is_within(std::int64_t offset, std::int64_t size, std::int64_t end) {
  if (offset < 0 || size < 0) return false;
  const auto behind = checked_add(offset, size);
  return behind && *behind <= end;
}

std::int64_t number_at(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i > 0; --i)
    number = number << 8U | std::to_integer<std::uint64_t>(bytes[offset + i - 1]);
  return number > INT64_MAX ? -1 : static_cast<std::int64_t>(number);
}

}  // namespace parallax
