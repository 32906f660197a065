// Strong ids: NodeId, ValueId and int do not convert to each other. IdVector is a vector that is
// indexed by one kind of id. Thread-safety: plain values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace parallax {

/// An index into one kind of table; default-constructed ids are invalid ("absent"). Four bytes;
/// tables have at most 2^31 - 1 entries.
template <class Tag>
struct Id {
  std::int32_t value = -1;  ///< negative: absent

  /// Returns whether the id refers to an entry. It may still be beyond the end of a given table.
  /// Ids compare by their numbers, so an absent one is less than every valid one.
  bool valid() const { return value >= 0; }
  friend auto operator<=>(Id, Id) = default;
};

/// Indices of nodes, values, symbols and branches; each into the table of its owner. An id of one
/// graph has no meaning in another, such as a body or a rewritten graph.
using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using SymbolId = Id<struct SymbolTag>;
using BranchId = Id<struct BranchTag>;

/// A std::vector whose index type is `I`. Ids of entries are 0, 1, 2, ... in order of insertion.
/// Not bounds-checked: indexing with an invalid id is undefined behaviour. Not synchronised: as
/// std::vector.
template <class I, class T>
class IdVector {
 public:
  IdVector() = default;
  /// Creates `size` entries: value-initialized ones, or copies of `fill`.
  explicit IdVector(std::size_t size) : items_(size) {}
  IdVector(std::size_t size, const T& fill) : items_(size, fill) {}

  /// Access the entry of `id`. REQUIRES: contains(id); not checked.
  typename std::vector<T>::reference operator[](I id) {
    return items_[static_cast<std::size_t>(id.value)];
  }
  typename std::vector<T>::const_reference operator[](I id) const {
    return items_[static_cast<std::size_t>(id.value)];
  }
  /// Return the number of entries, and whether there are none.
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  /// Returns whether there is an entry with this id; false for invalid ids.
  bool contains(I id) const {
    return id.valid() && static_cast<std::size_t>(id.value) < items_.size();
  }
  /// Appends `item` and returns its id. REQUIRES: fewer than 2^31 - 1 entries. References to
  /// entries become invalid, ids do not.
  I push_back(T item) {
    items_.push_back(std::move(item));
    return I{static_cast<std::int32_t>(items_.size() - 1)};
  }
  /// Allocate or add entries, as std::vector does; new entries are value-initialized.
  void reserve(std::size_t n) { items_.reserve(n); }
  void resize(std::size_t n) { items_.resize(n); }
  /// Releases the excess capacity if a quarter of it or more is unused. May reallocate.
  void shrink() {
    if (items_.size() <= items_.capacity() - items_.capacity() / 4) items_.shrink_to_fit();
  }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  /// The ids of all entries: for (NodeId id : graph.nodes.ids()) ... Entries that are added during
  /// the loop are not visited. The range does not refer to the vector, so it cannot dangle. Its
  /// iterators have only what such a loop needs; they are no standard iterators.
  class IdRange {
   public:
    struct Iterator {
      std::int32_t i;
      I operator*() const { return I{i}; }
      Iterator& operator++() {
        ++i;
        return *this;
      }
      bool operator!=(const Iterator& o) const { return i != o.i; }
    };
    explicit IdRange(std::size_t n) : n_(static_cast<std::int32_t>(n)) {}
    Iterator begin() const { return {0}; }
    Iterator end() const { return {n_}; }

   private:
    std::int32_t n_;
  };
  IdRange ids() const { return IdRange(items_.size()); }

 private:
  std::vector<T> items_;
};

}  // namespace parallax

/// Ids can be keys of unordered containers.
template <class Tag>
struct std::hash<parallax::Id<Tag>> {
  std::size_t operator()(parallax::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>{}(id.value);
  }
};
