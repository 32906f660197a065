// Strong ids: a NodeId is not a ValueId is not an int. IdVector is a vector indexed by one of them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace parallax {

/// An index into one kind of table; default-constructed ids are invalid ("absent").
template <class Tag>
struct Id {
  std::int32_t value = -1;

  bool valid() const { return value >= 0; }
  friend auto operator<=>(Id, Id) = default;
};

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using SymbolId = Id<struct SymbolTag>;
using BranchId = Id<struct BranchTag>;

/// std::vector whose index type is `I`.
template <class I, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size) : items_(size) {}
  IdVector(std::size_t size, const T& fill) : items_(size, fill) {}

  typename std::vector<T>::reference operator[](I id) {
    return items_[static_cast<std::size_t>(id.value)];
  }
  typename std::vector<T>::const_reference operator[](I id) const {
    return items_[static_cast<std::size_t>(id.value)];
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  bool contains(I id) const {
    return id.valid() && static_cast<std::size_t>(id.value) < items_.size();
  }
  I push_back(T item) {
    items_.push_back(std::move(item));
    return I{static_cast<std::int32_t>(items_.size() - 1)};
  }
  void reserve(std::size_t n) { items_.reserve(n); }
  void resize(std::size_t n) { items_.resize(n); }
  /// Gives back the capacity if a quarter of it or more is unused.
  void shrink() {
    if (items_.size() <= items_.capacity() - items_.capacity() / 4) items_.shrink_to_fit();
  }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  /// for (NodeId id : graph.nodes.ids()) ...
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

template <class Tag>
struct std::hash<parallax::Id<Tag>> {
  std::size_t operator()(parallax::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>{}(id.value);
  }
};
