// Free blocks of an arena: best fit, splitting, coalescing; O(log n) each. Internal to memory/. Not
// thread-safe.
//
// Offsets and sizes are bytes for plan_paper() and the packing's own unit for packing/heuristics.h;
// the list does not align anything, so the sizes that it is given must be multiples of the
// alignment that is wanted. It owns no memory: it only keeps numbers.
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
  /// Returns their offset; nullopt if no block is large enough. The rest of the block stays free,
  /// at its upper end. REQUIRES: bytes > 0.
  std::optional<std::int64_t> take(std::int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, -1});
    if (fit == by_size_.end()) return std::nullopt;
    const auto [size, offset] = *fit;
    by_size_.erase(fit);
    by_offset_.erase(offset);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  /// Removes the block that ends at `end`. Returns its offset; nullopt if there is no such block. A
  /// bump allocator calls this before it grows, with `end` the current size of its memory: growth
  /// then starts at the free block. Only the block with the largest offset is examined, so `end`
  /// must be the end of the memory.
  std::optional<std::int64_t> take_ending_at(std::int64_t end) {
    if (by_offset_.empty()) return std::nullopt;
    const auto last = std::prev(by_offset_.end());
    const auto [offset, size] = *last;
    if (offset + size != end) return std::nullopt;
    by_size_.erase({size, offset});
    by_offset_.erase(last);
    return offset;
  }

  /// Adds a free block and merges it with its neighbours. REQUIRES: it overlaps no free block. Also
  /// REQUIRES: bytes > 0, and that the sum of both fits 63 bits. The list does not check that the
  /// block was taken from it: blocks of another list may be added.
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

  /// Moves every block to `other`; this list is empty afterwards. If `other` is empty, the two are
  /// swapped, which is O(1).
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
  /// Adds a block that touches no other one to both indexes.
  void insert(std::int64_t offset, std::int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }

  std::map<std::int64_t, std::int64_t> by_offset_;           // offset -> bytes
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // {bytes, offset}
};

}  // namespace parallax
