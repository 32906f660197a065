// A set of buffers connected by overlapping lifetimes, and its best packing so far. Internal to
// memory/packing/. Not thread-safe. pack() makes one for each maximal group and calls improve() on
// the highest one until the limit is reached.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "memory/packing/effort.h"
#include "memory/packing/heuristics.h"
#include "memory/packing/search.h"
#include "memory/packing/sections.h"

namespace parallax::packing {

/// Improves the packing of a component by repeated searches. Deterministic for a given effort.
class Component {
 public:
  /// `buffers`: as for make_sections. Computes a first packing. The first packing is
  /// pack_by_birth(), which is kept as long as no better one is found. The buffers are copied; the
  /// span may die afterwards.
  explicit Component(std::span<const PackingBuffer> buffers);

  /// Return the height of the best packing so far, and its offsets, one per buffer.
  std::int64_t height() const { return height_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  /// Returns a height below which no packing exists. Starts as the most bytes of a section, and
  /// rises by a unit beyond each height that a search proves impossible.
  std::int64_t lower_bound() const { return lower_bound_; }

  /// Searches once more for a smaller height, down to `enough`. Returns false if nothing is left to
  /// try. Call order: the first three calls place greedily by varied orders, later ones alternate
  /// an exact search for the bound with a bisection between what was given up and what is reached.
  /// With more than 2000 items only greedy placement is tried, because the search recurses once per
  /// item; with more than 2^22 pairs of neighbours there is no improvement at all. `enough` is a
  /// height that another component needs anyway. Returns true without a gain if the effort ran out:
  /// the caller tests it.
  bool improve(std::int64_t enough, Effort& effort);

 private:
  /// A series of searches for a height, in which failures guide later searches.
  struct Series {
    int attempts = 0;
    std::vector<double> blame;  // how often each item caused a failure
  };

  /// Searches once for the height, in an order derived from the series. Returns whether the height
  /// was reached or shown to be impossible.
  bool search(Series& series, std::int64_t height, Effort& effort);
  /// Cycles through the rules and keys by the number of attempts; jitter comes from random_.
  SearchOrder make_order(const Series& series);
  /// The larger a key, the earlier the item. From the second cycle of keys on, they are multiplied
  /// by random factors; blame, if any, multiplies them by its share of the largest blame plus 0.01.
  std::vector<double> varied_keys(int attempt, std::span<const double> blame);
  /// Keeps the offsets if they are better than the best so far.
  void offer(std::vector<std::int64_t> offsets);
  /// Uniform in [0, 1). The generator starts from a fixed seed, so that plans are reproducible.
  double random() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  Sections sections_;
  std::optional<Neighbours> neighbours_;  // made by the first improve(); nothing if too many
  std::vector<std::int64_t> offsets_;
  std::int64_t height_ = 0;
  std::int64_t lower_bound_ = 0;
  std::int64_t given_up_ = 0;  // the largest height that this round of bisection did not reach
  int attempts_ = 0;
  bool descending_ = true;  // the last search between bound and height succeeded, or is due
  Series at_bound_, between_;
  std::mt19937_64 random_{1};
};

}  // namespace parallax::packing
