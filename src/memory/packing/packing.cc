#include "memory/packing/packing.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "base/status.h"
#include "memory/packing/component.h"

namespace parallax {
namespace {

using packing::Component;
using packing::Effort;

/// Sums of two heights stay far from the end of 63 bits.
constexpr std::int64_t kMaxTotal = std::int64_t{1} << 61;

tl::unexpected<Error> wrong(std::string message) {
  return tl::unexpected(Error{Stage::kMemory, ErrorCode::kInternal, "", std::move(message)});
}

bool lives(const PackingBuffer& buffer) { return buffer.bytes > 0 && buffer.begin < buffer.end; }

Status check_input(std::span<const PackingBuffer> buffers) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PackingBuffer& buffer = buffers[i];
    if (buffer.bytes < 0) return wrong(fmt::format("buffer {} has {} bytes", i, buffer.bytes));
    if (buffer.end < buffer.begin) {
      return wrong(
          fmt::format("buffer {} ends at {} before its begin at {}", i, buffer.end, buffer.begin));
    }
    if (buffer.bytes > kMaxTotal - total) {
      return wrong(fmt::format("the buffers have more than {} bytes together", kMaxTotal));
    }
    total += buffer.bytes;
  }
  return {};
}

/// Indices of the buffers that live, by begin.
std::vector<std::size_t> by_begin(std::span<const PackingBuffer> buffers) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (lives(buffers[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].begin < buffers[b].begin;
  });
  return order;
}

/// Splits `sorted` at moments when no buffer lives.
std::vector<Component> make_components(std::span<const PackingBuffer> sorted) {
  std::vector<Component> components;
  std::size_t first = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    std::int64_t end = sorted[i].end;
    for (++i; i < sorted.size() && sorted[i].begin < end; ++i) end = std::max(end, sorted[i].end);
    components.emplace_back(sorted.subspan(first, i - first));
    first = i;
  }
  return components;
}

/// Works on whichever component is the highest: no other one matters to the height of all.
void improve(std::vector<Component>& components, Effort& effort) {
  std::int64_t enough = 0;
  std::priority_queue<std::pair<std::int64_t, std::size_t>> highest;
  for (std::size_t i = 0; i < components.size(); ++i) {
    enough = std::max(enough, components[i].lower_bound());
    highest.emplace(components[i].height(), i);
  }
  while (!highest.empty() && highest.top().first > enough && !effort.exhausted()) {
    const std::size_t i = highest.top().second;
    if (!components[i].improve(enough, effort)) return;
    enough = std::max(enough, components[i].lower_bound());
    highest.pop();
    highest.emplace(components[i].height(), i);
    effort.spend(1);
  }
}

}  // namespace

Result<Packing> pack(std::span<const PackingBuffer> buffers, const PackingLimit& limit) {
  PX_RETURN_IF_ERROR(check_input(buffers));
  const std::vector<std::size_t> order = by_begin(buffers);
  std::vector<PackingBuffer> sorted;
  sorted.reserve(order.size());
  for (std::size_t i : order) sorted.push_back(buffers[i]);
  std::vector<Component> components = make_components(sorted);
  Effort effort(limit);
  improve(components, effort);

  Packing result;
  result.offset.assign(buffers.size(), 0);
  std::size_t next = 0;
  for (const Component& component : components) {
    for (std::int64_t offset : component.offsets()) result.offset[order[next++]] = offset;
    result.height = std::max(result.height, component.height());
    result.lower_bound = std::max(result.lower_bound, component.lower_bound());
  }
  return result;
}

Status check_packing(std::span<const PackingBuffer> buffers, const Packing& packing) {
  PX_RETURN_IF_ERROR(check_input(buffers));
  if (packing.offset.size() != buffers.size()) return wrong("not one offset for each buffer");
  std::vector<std::pair<std::int64_t, std::size_t>> deaths;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!lives(buffers[i])) continue;
    const std::int64_t offset = packing.offset[i];
    if (offset < 0 || offset > packing.height || buffers[i].bytes > packing.height - offset) {
      return wrong(fmt::format("buffer {} at {} leaves the {} bytes", i, offset, packing.height));
    }
    deaths.emplace_back(buffers[i].end, i);
  }
  std::sort(deaths.begin(), deaths.end());
  std::map<std::int64_t, std::size_t> alive;  // offset -> buffer; disjoint at any time
  auto death = deaths.begin();
  for (std::size_t i : by_begin(buffers)) {
    for (; death != deaths.end() && death->first <= buffers[i].begin; ++death) {
      alive.erase(packing.offset[death->second]);
    }
    const auto above = alive.lower_bound(packing.offset[i]);
    std::size_t other = i;
    if (above != alive.end() && above->first < packing.offset[i] + buffers[i].bytes) {
      other = above->second;
    } else if (above != alive.begin()) {
      const std::size_t below = std::prev(above)->second;
      if (packing.offset[below] + buffers[below].bytes > packing.offset[i]) other = below;
    }
    if (other != i) return wrong(fmt::format("buffers {} and {} overlap", other, i));
    alive.emplace(packing.offset[i], i);
  }
  return {};
}

}  // namespace parallax
