// A table that records the order in which its entries were used, for caches that evict the least
// recently used one. Look-up and eviction cost constant time.
// Not thread-safe: the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

namespace parallax {

/// Mixes `value` into `hash`, for keys of a few numbers. Not under a secret key: who chooses the
/// numbers can choose ones that collide.
inline std::size_t mixed_hash(std::size_t hash, std::int64_t value) {
  hash = (hash ^ static_cast<std::size_t>(value)) * std::size_t{0x9E3779B97F4A7C15};
  return hash ^ (hash >> 32U);
}

/// Owns its entries. The address of an entry stays valid until the entry is destroyed, also after
/// forget_oldest(). Neither copyable nor movable: the index points to the entries. Keys are
/// compared with ==; keys that are equal must have equal hashes. The table itself has no limit: the
/// owner decides when to call forget_oldest(), by the number of entries or by their bytes.
template <class Key, class Value, class Hash = std::hash<Key>>
class RecentlyUsed {
 public:
  RecentlyUsed() = default;
  RecentlyUsed(const RecentlyUsed&) = delete;
  RecentlyUsed& operator=(const RecentlyUsed&) = delete;

  /// A key with its value.
  struct Entry {
    const Key key;  ///< never changes, because the index points to it
    Value value;    ///< may be changed by the owner
  };

  /// Returns the value of `key` and makes its entry the latest; null if it has no entry. Does not
  /// allocate.
  Value* find(const Key& key) {
    if (entries_.empty()) return nullptr;
    // Most calls look up the same key as the previous one.
    if (!(entries_.front().key == key)) {
      const auto found = index_.find(&key);
      if (found == index_.end()) return nullptr;
      entries_.splice(entries_.begin(), entries_, found->second);
    }
    return &entries_.front().value;
  }

  /// Adds an entry, which becomes the latest. If it throws (std::bad_alloc), the table is
  /// unchanged. REQUIRES: find(key) returns null.
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

  // Return the value of the most and of the least recently used entry, without using it. REQUIRES:
  // not empty.
  Value& latest() { return entries_.front().value; }
  const Value& latest() const { return entries_.front().value; }
  Value& oldest() { return entries_.back().value; }
  /// Holds evicted entries until the owner destroys them.
  using Forgotten = std::list<Entry>;
  /// Moves the oldest entry to `forgotten`; the owner destroys it after releasing its lock.
  /// Allocates no memory. REQUIRES: not empty.
  void forget_oldest(Forgotten& forgotten) {
    index_.erase(&entries_.back().key);
    forgotten.splice(forgotten.end(), entries_, std::prev(entries_.end()));
  }

  /// Return whether there are entries, and how many.
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

  /// Bytes of an entry without those that its key and value own elsewhere: an estimate.
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
