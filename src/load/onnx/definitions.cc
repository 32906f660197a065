#include "load/onnx/definitions.h"

#include <algorithm>
#include <bit>

#include "base/name_map.h"

namespace parallax {
namespace {

std::uint32_t short_hash(std::string_view name) {
  return static_cast<std::uint32_t>(name_hash(name));
}

}  // namespace

const Definitions::Slot& Definitions::slot_of(std::string_view name, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.number == 0) return slot;
    if (slot.hash == hash && entries_[slot.number - 1].name == name) return slot;
  }
}

Definitions::Slot& Definitions::free_slot(std::uint32_t hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  while (slots_[i].number != 0) i = (i + 1) & mask;
  return slots_[i];
}

/// A quarter of the slots stays free.
void Definitions::reserve(std::size_t names) {
  constexpr std::size_t kFewestSlots = 16;
  const std::size_t count = std::bit_ceil(std::max(kFewestSlots, names + names / 3 + 1));
  if (count <= slots_.size()) return;
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(count));
  for (const Slot& slot : old)
    if (slot.number != 0) free_slot(slot.hash) = slot;
  entries_.reserve(names);
}

std::pair<Definition*, bool> Definitions::add(std::string_view name, Definition definition) {
  reserve(entries_.size() + 1);
  const std::uint32_t hash = short_hash(name);
  if (const Slot& slot = slot_of(name, hash); slot.number != 0)
    return {&entries_[slot.number - 1].definition, false};
  definition.index = entries_.size();
  entries_.push_back({name, definition});
  free_slot(hash) = {hash, static_cast<std::uint32_t>(entries_.size())};
  return {&entries_.back().definition, true};
}

const Definition* Definitions::find(std::string_view name) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slot_of(name, short_hash(name));
  return slot.number == 0 ? nullptr : &entries_[slot.number - 1].definition;
}

Definition* Definitions::find(std::string_view name) {
  const Definition* const found = std::as_const(*this).find(name);
  return found == nullptr ? nullptr : &entries_[found->index].definition;
}

}  // namespace parallax
