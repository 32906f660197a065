// The names of one graph of a file: what each of them stands for. Filled by check_structure()
// (structure.h), read by the assembler. Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_map.h"

namespace parallax {

/// The meaning of a name in one graph. Indices are dense: the assembler keeps a vector of values by
/// `index`.
struct Definition {
  static constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);
  std::size_t index = 0;       ///< below the number of names
  std::size_t node = kNoNode;  ///< that makes it; kNoNode: an input, initializer or capture
  bool captured = false;       ///< read from the graphs around
  bool read = false;           ///< whether a node, a body in one, or the caller reads it
  bool initialized = false;    ///< an initializer has this name
};

/// The names that a graph defines or captures, numbered in the order in which they are added. A
/// hash table with open addressing under the key of this process (base/name_map.h). It takes a few
/// large blocks of memory, a std::unordered_map one for each name. Names cannot be removed, and
/// must outlive the table.
class Definitions {
 public:
  /// Allocates room for `names` names in total. Never shrinks.
  void reserve(std::size_t names);
  /// Adds a name with `definition`, whose index it sets. Returns the name's definition, valid until
  /// the next call, and whether it is new. The definition of a known name stays as it is.
  std::pair<Definition*, bool> add(std::string_view name, Definition definition = {});
  /// Return the definition of a name, valid until one is added; null if the name is not known.
  /// O(length of the name).
  Definition* find(std::string_view name);
  const Definition* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Returns the definition of a name. REQUIRES: contains(name).
  const Definition& at(std::string_view name) const { return *find(name); }
  /// Returns the definition whose index is given. REQUIRES: index < size().
  const Definition& operator[](std::size_t index) const { return entries_[index].definition; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string_view name;
    Definition definition;
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = 0;  ///< 0: free; n: the name is entries_[n - 1]
  };
  /// Returns the slot that has the name, or the free one to which it would go. REQUIRES: there are
  /// slots.
  const Slot& slot_of(std::string_view name, std::uint32_t hash) const;
  /// Returns the first free slot for a hash.
  Slot& free_slot(std::uint32_t hash);

  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  ///< a power of two of them
};

inline const Definitions::Slot& Definitions::slot_of(std::string_view name,
                                                     std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.number == 0) return slot;
    if (slot.hash == hash && entries_[slot.number - 1].name == name) return slot;
  }
}

inline Definitions::Slot& Definitions::free_slot(std::uint32_t hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  while (slots_[i].number != 0) i = (i + 1) & mask;
  return slots_[i];
}

/// A quarter of the slots stays free.
inline void Definitions::reserve(std::size_t names) {
  constexpr std::size_t kFewestSlots = 16;
  const std::size_t count = std::bit_ceil(std::max(kFewestSlots, names + names / 3 + 1));
  if (count <= slots_.size()) return;
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(count));
  for (const Slot& slot : old)
    if (slot.number != 0) free_slot(slot.hash) = slot;
  entries_.reserve(names);
}

inline std::pair<Definition*, bool> Definitions::add(std::string_view name, Definition definition) {
  reserve(entries_.size() + 1);
  const auto hash = static_cast<std::uint32_t>(name_hash(name));
  if (const Slot& slot = slot_of(name, hash); slot.number != 0)
    return {&entries_[slot.number - 1].definition, false};
  definition.index = entries_.size();
  entries_.push_back({name, definition});
  free_slot(hash) = {hash, static_cast<std::uint32_t>(entries_.size())};
  return {&entries_.back().definition, true};
}

inline const Definition* Definitions::find(std::string_view name) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slot_of(name, static_cast<std::uint32_t>(name_hash(name)));
  return slot.number == 0 ? nullptr : &entries_[slot.number - 1].definition;
}

inline Definition* Definitions::find(std::string_view name) {
  const Definition* const found = std::as_const(*this).find(name);
  return found == nullptr ? nullptr : &entries_[found->index].definition;
}

}  // namespace parallax
