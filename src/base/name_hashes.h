// Which names are taken, in 11 to 22 bytes for each, however long it is: a name is known by its
// hash under the key of this process (base/name_map.h), so a file cannot choose names that collide.
// A free name counts as taken if its 64-bit hash is that of another one: among a million names this
// happens in one of 10^7 processes, and costs a number behind a name.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace parallax {

class NameHashes {
 public:
  /// Room for so many names.
  void reserve(std::size_t names);
  /// False if it is there already.
  bool insert(std::string_view name);

 private:
  /// Where the hash is, or would be.
  std::size_t slot_of(std::uint64_t hash) const;
  void grow_to(std::size_t slots);

  std::vector<std::uint64_t> slots_;  ///< their number is a power of two; 0: free
  std::size_t size_ = 0;
};

}  // namespace parallax
