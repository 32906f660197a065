#include "base/name_hashes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/name_map.h"

namespace parallax {
namespace {

constexpr std::size_t kFewestSlots = 16;

/// Returns the number of slots for `names` names, which keeps a quarter of them free.
std::size_t slots_for(std::size_t names) {
  return std::bit_ceil(std::max(kFewestSlots, names + names / 3 + 1));
}

}  // namespace

std::size_t NameHashes::slot_of(std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) & mask;
  return slot;
}

void NameHashes::grow_to(std::size_t slots) {
  if (slots <= slots_.size()) return;
  const std::vector<std::uint64_t> old = std::exchange(slots_, std::vector<std::uint64_t>(slots));
  for (const std::uint64_t hash : old)
    if (hash != 0) slots_[slot_of(hash)] = hash;
}

void NameHashes::reserve(std::size_t names) { grow_to(slots_for(names)); }

bool NameHashes::insert(std::string_view name) {
  reserve(size_ + 1);
  const std::uint64_t hash = std::max<std::uint64_t>(name_hash(name), 1);
  std::uint64_t& slot = slots_[slot_of(hash)];
  if (slot == hash) return false;
  slot = hash;
  ++size_;
  return true;
}

}  // namespace parallax
