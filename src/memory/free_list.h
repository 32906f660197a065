// Free blocks of an arena: best fit, splitting, coalescing; O(log n) each. Internal to memory/. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace parallax {

/// An ordered set of free blocks, none of which touch each other.
class FreeList {
 public:
  /// Removes `bytes` from the smallest block that is large enough, the lowest of equal ones.
  /// Returns their offset; nullopt if no block is large enough.
  std::optional<std::int64_t> take(std::int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, -1});
    if (fit == by_size_.end()) return std::nullopt;
    const auto [size, offset] = *fit;
    by_size_.erase(fit);
    by_offset_.erase(offset);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  /// Removes the block that ends at `end`. Returns its offset; nullopt if there is no such block.
  std::optional<std::int64_t> take_ending_at(std::int64_t end) {
    if (by_offset_.empty()) return std::nullopt;
    const auto last = std::prev(by_offset_.end());
    const auto [offset, size] = *last;
    if (offset + size != end) return std::nullopt;
    by_size_.erase({size, offset});
    by_offset_.erase(last);
    return offset;
  }

  /// Adds a free block and merges it with its neighbours. REQUIRES: it overlaps no free block.
  void add(std::int64_t offset, std::int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      by_size_.erase({next->second, next->first});
      next = by_offset_.erase(next);
    }
    if (next != by_offset_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        offset = previous->first;
        bytes += previous->second;
        by_size_.erase({previous->second, previous->first});
        by_offset_.erase(previous);
      }
    }
    insert(offset, bytes);
  }

  /// Moves every block to `other`; this list is empty afterwards.
  void hand_over(FreeList& other) {
    if (other.by_offset_.empty()) {
      std::swap(*this, other);
      return;
    }
    for (const auto& [offset, bytes] : by_offset_) other.add(offset, bytes);
    by_offset_.clear();
    by_size_.clear();
  }

 private:
  void insert(std::int64_t offset, std::int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }

  std::map<std::int64_t, std::int64_t> by_offset_;           // offset -> bytes
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // {bytes, offset}
};

}  // namespace parallax
