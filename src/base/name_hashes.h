// A set of names in use, by which loaders and passes choose unique names of nodes and values. Each
// needs 11 to 22 bytes: a hash under the key of this process (base/name_map.h), so a file cannot
// choose names that collide. A free name counts as used if its 64-bit hash is another's: among a
// million names in one of 10^7 processes, and the only effect is a number appended to a name.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace parallax {

/// A hash table with open addressing. Names cannot be removed.
class NameHashes {
 public:
  /// Allocates room for `names` names in total. May throw std::bad_alloc. Never shrinks. Keeps at
  /// least a quarter of the slots free.
  void reserve(std::size_t names);
  /// Adds a name. Returns false if it is already there. May throw std::bad_alloc. O(length of the
  /// name). The name itself is not kept, so it need not outlive the call.
  bool insert(std::string_view name);

 private:
  /// Returns the index of the slot that has the hash, or of the free one to which it would go.
  std::size_t slot_of(std::uint64_t hash) const;
  /// Grows to `slots` slots, a power of two, and inserts all hashes again. Does nothing if there
  /// are as many.
  void grow_to(std::size_t slots);

  std::vector<std::uint64_t> slots_;  ///< a power of two of them; 0: free
  std::size_t size_ = 0;
};

}  // namespace parallax
