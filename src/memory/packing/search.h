// Exact search for a packing of at most a given height. Internal to memory/packing/.
//
// The search places buffers bottom up. Each has a least offset: the top of what lies below it, or
// more if the search has decided to leave a gap there. A node of the search picks one section and
// tries every buffer that may lie lowest in it, then a gap. Where no unplaced buffer spans two
// moments, the parts before and after are solved separately.
//
// Pruned without losing a solution: a section whose least offset and unplaced bytes exceed the
// height; a gap into which a buffer of the section fits; a buffer above a gap with no buffer to
// stand on (some packing has every buffer on another or on the ground, and none that could move
// lower).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memory/packing/effort.h"
#include "memory/packing/sections.h"

namespace parallax::packing {

/// A node picks the section with
enum class PickRule : std::uint8_t {
  kFewestChoices,  ///< the fewest branches
  kFewestLow,      ///< few branches and a low offset
  kLeastSlack,     ///< the fewest bytes to waste
  kLowest,         ///< the least offset
};

struct SearchOrder {
  std::vector<std::int32_t> rank;  ///< by item: lower is tried first
  std::vector<double> jitter;      ///< by section, in [0, 1): breaks ties
  PickRule rule = PickRule::kFewestLow;
};

enum class Outcome : std::uint8_t { kFound, kNone, kGaveUp };

class Search {
 public:
  /// Raises `blame` (by item) where an item makes the search fail. All arguments must outlive this.
  Search(const Sections& sections, const Neighbours& neighbours, const SearchOrder& order,
         std::int64_t height, std::vector<double>& blame);

  /// kNone: there is no packing of this height. kGaveUp: `max_steps` or the effort has run out.
  Outcome run(std::int64_t max_steps, Effort& effort);
  /// After kFound: one offset per item.
  const std::vector<std::int64_t>& offsets() const { return offset_; }

 private:
  using Items = std::vector<std::int32_t>;
  struct Change {
    std::int64_t* where;
    std::int64_t before;
  };
  struct Mark {
    std::size_t placed, changes;
  };

  Outcome solve_parts(const Items& items);
  Outcome solve(const Items& items);
  bool tighten(const Items& items);
  bool find_bases(const Items& items);
  void count_choices(const Items& items);
  std::int32_t pick_section(const Items& items) const;
  Outcome try_each(const Items& items, const Items& choices, std::int64_t offset);
  bool blame_on(std::int32_t item);
  void place(std::int32_t item, std::int64_t offset);
  void set(std::int64_t& where, std::int64_t value);
  Mark mark() const { return {placed_order_.size(), changes_.size()}; }
  void undo(Mark mark);
  const Item& item(std::int32_t i) const { return sections_.items[static_cast<std::size_t>(i)]; }

  const Sections& sections_;
  const Neighbours& neighbours_;
  const SearchOrder& order_;
  const std::int64_t height_;
  std::vector<double>& blame_;
  Effort* effort_ = nullptr;
  std::int64_t steps_left_ = 0;

  // By item.
  std::vector<std::int64_t> offset_;
  std::vector<char> placed_;
  std::vector<std::int64_t> floor_;  // the top of what is placed below it
  std::vector<std::int64_t> least_;  // the least offset that the search still considers
  // By section.
  std::vector<std::int64_t> unplaced_;  // bytes
  std::vector<std::int64_t> base_;     // the least offset of its unplaced items; -1: there are none
  std::vector<std::int32_t> choices_;  // unplaced items whose least offset is the base
  std::vector<std::int64_t> lowest_top_;  // the least top that an unplaced item can have
  std::vector<char> undecided_;           // another item may still go below one of them
  std::vector<std::int32_t> next_;        // scratch: the next section without a base

  std::vector<std::pair<std::int64_t, std::int32_t>> by_least_;  // scratch
  Items placed_order_;
  std::vector<Change> changes_;
};

}  // namespace parallax::packing
