// A table that knows in what order its entries were used, for caches that forget the least recently
// used. Finding and forgetting take constant time.
//
// Thread-safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

namespace parallax {

/// `hash` with `value` mixed in, for keys of a few numbers.
inline std::size_t mixed_hash(std::size_t hash, std::int64_t value) {
  hash = (hash ^ static_cast<std::size_t>(value)) * std::size_t{0x9E3779B97F4A7C15};
  return hash ^ (hash >> 32U);
}

template <class Key, class Value, class Hash = std::hash<Key>>
class RecentlyUsed {
 public:
  struct Entry {
    const Key key;
    Value value;
  };

  /// Null if there is none; otherwise the entry becomes the latest.
  Value* find(const Key& key) {
    if (entries_.empty()) return nullptr;
    // Most calls look for what the last one found.
    if (!(entries_.front().key == key)) {
      const auto found = index_.find(&key);
      if (found == index_.end()) return nullptr;
      entries_.splice(entries_.begin(), entries_, found->second);
    }
    return &entries_.front().value;
  }

  /// Adds the latest entry. REQUIRES: find(key) gives none.
  Value& insert(Key key, Value value) {
    entries_.push_front({std::move(key), std::move(value)});
    try {
      index_.emplace(&entries_.front().key, entries_.begin());
    } catch (...) {
      entries_.pop_front();
      throw;
    }
    return entries_.front().value;
  }

  // REQUIRES: not empty.
  Value& latest() { return entries_.front().value; }
  const Value& latest() const { return entries_.front().value; }
  Value& oldest() { return entries_.back().value; }
  using Forgotten = std::list<Entry>;
  /// Moves the oldest entry to `forgotten`, for the owner to destroy after it has unlocked.
  void forget_oldest(Forgotten& forgotten) {
    index_.erase(&entries_.back().key);
    forgotten.splice(forgotten.end(), entries_, std::prev(entries_.end()));
  }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

  /// Bytes of an entry besides those that its key and value own: two nodes and a bucket.
  static constexpr std::size_t kEntryBytes = sizeof(Entry) + 8 * sizeof(void*);

 private:
  struct HashOfKey {
    std::size_t operator()(const Key* key) const { return Hash{}(*key); }
  };
  struct SameKey {
    bool operator()(const Key* a, const Key* b) const { return *a == *b; }
  };

  std::list<Entry> entries_;  // latest first
  std::unordered_map<const Key*, typename std::list<Entry>::iterator, HashOfKey, SameKey> index_;
};

}  // namespace parallax
