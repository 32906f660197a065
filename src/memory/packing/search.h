// Exact search for a packing of at most a given height. Internal to memory/packing/.
//
// The search places buffers bottom up. Each has a least offset: the top of what is below it, or
// more if the search has decided to leave a gap there. A node of the search selects one section and
// tries every buffer that may be lowest in it, then a gap. If no unplaced buffer spans two moments,
// the parts before and after are solved separately.
//
// Pruned without losing a solution: a section whose least offset and unplaced bytes exceed the
// height; a gap into which a buffer of the section fits; a buffer above a gap with no buffer to
// stand on (some packing has every buffer on another one or on the ground, and none that could move
// lower).
//
// Depth: the search recurses once for each item at most, which Component limits. It allocates while
// it runs; the bytes are proportional to the items, the sections and the depth. Effort: a node
// spends one step for each of its items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memory/packing/effort.h"
#include "memory/packing/sections.h"

namespace parallax::packing {

/// The rule by which a node selects its section.
enum class PickRule : std::uint8_t {
  kFewestChoices,  ///< the fewest branches
  kFewestLow,      ///< few branches and a low offset
  kMinSlack,       ///< the fewest bytes to waste
  kLowest,         ///< the least offset
};

/// The heuristics of one search.
struct SearchOrder {
  /// For each item: lower is tried first. A permutation; it decides the order of the branches at
  /// one node.
  std::vector<std::int32_t> rank;
  /// For each section, in [0, 1): breaks ties. Its weight in the key of a section is 0.1.
  std::vector<double> jitter;
  PickRule rule = PickRule::kFewestLow;
};

/// kFound: offsets() is a packing. kNone: proved impossible. kGaveUp: not known.
enum class Outcome : std::uint8_t { kFound, kNone, kGaveUp };

/// One search for one height. Not thread-safe; use it once.
class Search {
 public:
  /// Increases `blame` (one per item) of items that make the search fail. All arguments must
  /// outlive this. `height` is the total that all items must stay within, > 0. `blame` has one
  /// number per item, which only increases: 1 for an item without room, 0.5 more for each item of a
  /// section that overflows.
  Search(const Sections& sections, const Neighbours& neighbours, const SearchOrder& order,
         std::int64_t height, std::vector<double>& blame);

  /// Searches once. kNone: there is no packing of this height. kGaveUp: `max_steps` or the effort
  /// has run out. `max_steps` bounds this search, `effort` all searches of the packing. After kNone
  /// and kGaveUp every placement has been reverted.
  Outcome run(std::int64_t max_steps, Effort& effort);
  /// Returns one offset per item, after kFound. Unspecified after other outcomes. Multiples of
  /// Sections::unit.
  const std::vector<std::int64_t>& offsets() const { return offset_; }

 private:
  using Items = std::vector<std::int32_t>;
  /// An assignment to undo.
  struct Change {
    std::int64_t* where;
    std::int64_t before;
  };
  /// The state to which undo() returns.
  struct Mark {
    std::size_t placed, changes;
  };

  /// Divides the items into independent parts and solves each.
  Outcome solve_parts(const Items& items);
  /// Loops over the gap choice: if no item of the section can be lowest at its offset, raises their
  /// least offsets by one unit.
  Outcome solve(const Items& items);
  /// Raises least offsets above gaps to the next support. Returns false if no room is left.
  bool tighten(const Items& items);
  /// Also fails if the unplaced bytes of a section do not fit between its base and the height.
  /// Joins sections with a base in a union-find list, next_.
  bool find_bases(const Items& items);
  /// Marks sections as undecided in which another item could still be placed below the choices.
  void count_choices(const Items& items);
  /// Returns the section to branch on, by the order's rule.
  std::int32_t pick_section(const Items& items) const;
  /// Tries each choice at the offset, then a gap there.
  Outcome try_each(const Items& items, const Items& choices, std::int64_t offset);
  /// Increases the item's blame. Returns false, for use in return statements.
  bool blame_on(std::int32_t item);
  /// Raises the floor and the least offset of every unplaced neighbour to its top. Reverted by
  /// undo().
  void place(std::int32_t item, std::int64_t offset);
  /// Assigns, and remembers the old value for undo(). `where` must not move while the search lives.
  void set(std::int64_t& where, std::int64_t value);
  Mark mark() const { return {placed_order_.size(), changes_.size()}; }
  /// Reverts placements and changes after the mark.
  void undo(Mark mark);
  const Item& item(std::int32_t i) const { return sections_.items[static_cast<std::size_t>(i)]; }

  const Sections& sections_;
  const Neighbours& neighbours_;
  const SearchOrder& order_;
  const std::int64_t height_;
  std::vector<double>& blame_;
  Effort* effort_ = nullptr;
  std::int64_t steps_left_ = 0;

  // Indexed by item.
  std::vector<std::int64_t> offset_;
  std::vector<char> placed_;
  std::vector<std::int64_t> floor_;  // top of the placed items below it
  std::vector<std::int64_t> least_;  // the least offset that the search still considers
  // Indexed by section.
  std::vector<std::int64_t> unplaced_;    // bytes
  std::vector<std::int64_t> base_;        // least offset of its unplaced items; -1: all are placed
  std::vector<std::int32_t> choices_;     // unplaced items whose least offset is the base
  std::vector<std::int64_t> lowest_top_;  // least top that an unplaced item can have
  std::vector<char> undecided_;           // another item may still be placed below one of them
  std::vector<std::int32_t> next_;        // scratch: the next section without a base

  std::vector<std::pair<std::int64_t, std::int32_t>> by_least_;  // scratch
  Items placed_order_;
  std::vector<Change> changes_;
};

}  // namespace parallax::packing
