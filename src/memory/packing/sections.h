// Lifetimes divided into sections: moments at which a local maximum of buffers lives. Two buffers
// live at the same time exactly if they share a section. Internal to memory/packing/. Sections are
// numbered from 0 in the order of time. Thread-safety: values; make_sections() and
// Neighbours::make() are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "memory/packing/packing.h"

namespace parallax::packing {

/// A buffer lives in the sections [first, last), at least one.
struct Item {
  std::int64_t bytes = 0;
  /// Length of its life. In the units of PackingBuffer::begin, at most 2^62; only the choice of
  /// orders depends on it.
  std::int64_t width = 0;
  std::int32_t first = 0, last = 0;
};

/// All sections of a component.
struct Sections {
  std::vector<Item> items;          ///< in the order of `first`
  std::vector<std::int64_t> bytes;  ///< bytes live in each section
  /// The most bytes of a section: no packing is lower.
  std::int64_t lower_bound = 0;
  std::int64_t unit = 1;  ///< divides every size, and so every offset worth trying

  /// Returns the number of sections.
  std::size_t count() const { return bytes.size(); }
};

/// REQUIRES: `buffers` sorted by begin, each with bytes and a life, all bytes together fit 63 bits.
/// Items have the order of `buffers`, so item i is buffer i. `unit` is the greatest common divisor
/// of the sizes; 1 without buffers. O(n log n).
Sections make_sections(std::span<const PackingBuffer> buffers);

/// For each item, the items that live at the same time.
class Neighbours {
 public:
  /// Computes the lists. Returns false, without a result, if there are more than `max_pairs` pairs.
  /// A pair needs 8 bytes while they are counted and 8 in the result. `result` is unchanged if the
  /// answer is false.
  static bool make(const Sections& sections, std::size_t max_pairs, Neighbours& result);

  /// Returns the neighbours of an item. In no order that callers may rely on. Valid while this
  /// object lives and is not assigned to.
  std::span<const std::int32_t> of(std::int32_t item) const {
    const auto i = static_cast<std::size_t>(item);
    return std::span(list_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::int32_t> list_;
};

}  // namespace parallax::packing
