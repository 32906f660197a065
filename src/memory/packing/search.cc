#include "memory/packing/search.h"

#include <algorithm>
#include <limits>

namespace parallax::packing {
namespace {

constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Search::Search(const Sections& sections, const Neighbours& neighbours, const SearchOrder& order,
               std::int64_t height, std::vector<double>& blame)
    : sections_(sections),
      neighbours_(neighbours),
      order_(order),
      height_(height),
      blame_(blame),
      offset_(sections.items.size(), 0),
      placed_(sections.items.size(), 0),
      floor_(sections.items.size(), 0),
      least_(sections.items.size(), 0),
      unplaced_(sections.bytes),
      base_(sections.count(), -1),
      choices_(sections.count(), 0),
      lowest_top_(sections.count(), 0),
      undecided_(sections.count(), 0),
      next_(sections.count() + 1, 0) {}

Outcome Search::run(std::int64_t max_steps, Effort& effort) {
  steps_left_ = max_steps;
  effort_ = &effort;
  Items all(sections_.items.size());
  std::iota(all.begin(), all.end(), 0);
  return solve_parts(all);
}

/// Solves the parts of `items` that share no section, the smallest first; placed items are left
/// out.
Outcome Search::solve_parts(const Items& items) {
  std::vector<Items> parts;
  std::int32_t reach = -1;
  for (std::int32_t i : items) {
    if (placed_[at(i)]) continue;
    if (item(i).first >= reach) parts.emplace_back();
    parts.back().push_back(i);
    reach = std::max(reach, item(i).last);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Items& a, const Items& b) { return a.size() < b.size(); });
  const Mark before = mark();
  for (const Items& part : parts) {
    const Outcome outcome = solve(part);
    if (outcome == Outcome::kFound) continue;
    undo(before);
    return outcome;
  }
  return Outcome::kFound;
}

/// Solves one node of the search; its last branch, the gap, is the next iteration of the loop.
Outcome Search::solve(const Items& items) {
  const Mark before = mark();
  for (;;) {
    steps_left_ -= static_cast<std::int64_t>(items.size());
    if (!effort_->spend(items.size()) || steps_left_ < 0) {
      undo(before);
      return Outcome::kGaveUp;
    }
    if (!tighten(items) || !find_bases(items)) {
      undo(before);
      return Outcome::kNone;
    }
    count_choices(items);
    const std::int32_t section = pick_section(items);
    const std::int64_t offset = base_[at(section)];
    Items choices;
    for (std::int32_t i : items) {
      if (least_[at(i)] == offset && item(i).first <= section && section < item(i).last) {
        choices.push_back(i);
      }
    }
    const Outcome outcome = try_each(items, choices, offset);
    if (outcome != Outcome::kNone) {
      if (outcome == Outcome::kGaveUp) undo(before);
      return outcome;
    }
    for (std::int32_t i : choices) set(least_[at(i)], offset + sections_.unit);
  }
}

Outcome Search::try_each(const Items& items, const Items& choices, std::int64_t offset) {
  Items ordered = choices;
  std::sort(ordered.begin(), ordered.end(), [&](std::int32_t a, std::int32_t b) {
    return order_.rank[at(a)] < order_.rank[at(b)];
  });
  for (std::int32_t i : ordered) {
    const Mark before = mark();
    place(i, offset);
    const Outcome outcome = solve_parts(items);
    if (outcome == Outcome::kFound) return outcome;
    undo(before);
    if (outcome == Outcome::kGaveUp) return outcome;
  }
  return Outcome::kNone;
}

/// Raises least offsets above gaps to the next support of the item. Returns false if no room is
/// left.
bool Search::tighten(const Items& items) {
  for (std::int32_t i : items) {
    const std::int64_t bytes = item(i).bytes;
    if (least_[at(i)] > floor_[at(i)]) {
      std::int64_t support = kNowhere;
      std::int64_t lowest = kNowhere;
      for (std::int32_t other : neighbours_.of(i)) {
        if (placed_[at(other)]) continue;
        support = std::min(support, least_[at(other)] + item(other).bytes);
        lowest = std::min(lowest, least_[at(other)]);
      }
      // Nothing carries it, or it fits below all others: its place would have been the floor.
      if (support == kNowhere || floor_[at(i)] + bytes <= lowest) return blame_on(i);
      if (least_[at(i)] < support) set(least_[at(i)], support);
    }
    if (least_[at(i)] + bytes > height_) return blame_on(i);
  }
  return true;
}

/// Computes the base of every section that an item spans. Returns false if its bytes do not fit
/// above it.
bool Search::find_bases(const Items& items) {
  by_least_.clear();
  std::int32_t end = 0;
  for (std::int32_t i : items) {
    by_least_.emplace_back(least_[at(i)], i);
    end = std::max(end, item(i).last);
  }
  std::sort(by_least_.begin(), by_least_.end());
  for (std::int32_t s = item(items.front()).first; s <= end; ++s) {
    next_[at(s)] = s;
    if (s == end) break;
    base_[at(s)] = -1;
    choices_[at(s)] = 0;
    lowest_top_[at(s)] = kNowhere;
    undecided_[at(s)] = 0;
  }
  const auto without_base = [&](std::int32_t s) {
    while (next_[at(s)] != s) s = next_[at(s)] = next_[at(next_[at(s)])];
    return s;
  };
  for (const auto& [least, i] : by_least_) {
    for (std::int32_t s = without_base(item(i).first); s < item(i).last; s = without_base(s)) {
      if (least + unplaced_[at(s)] > height_) {
        for (std::int32_t j : items) {
          if (item(j).first <= s && s < item(j).last) blame_[at(j)] += 0.5;
        }
        return blame_on(i);
      }
      base_[at(s)] = least;
      next_[at(s)] = s + 1;
    }
  }
  return true;
}

/// Placing an item decides that all its unplaced neighbours are above it. No solution is lost only
/// if none of them fits below: such sections are undecided until it is placed.
void Search::count_choices(const Items& items) {
  for (std::int32_t i : items) {
    const std::int64_t least = least_[at(i)];
    const std::int64_t top = least + item(i).bytes;
    for (std::int32_t s = item(i).first; s < item(i).last; ++s) {
      if (base_[at(s)] == least) ++choices_[at(s)];
      lowest_top_[at(s)] = std::min(lowest_top_[at(s)], top);
    }
  }
  for (std::int32_t i : items) {
    const std::int64_t least = least_[at(i)];
    const auto sections = [&](auto&& of_each) {
      for (std::int32_t s = item(i).first; s < item(i).last; ++s) of_each(at(s));
    };
    bool any_below = false;
    sections([&](std::size_t s) { any_below |= lowest_top_[s] <= least; });
    if (!any_below) continue;
    sections([&](std::size_t s) { undecided_[s] |= static_cast<char>(base_[s] == least); });
  }
}

/// There is always one: the lowest section of all is decided.
std::int32_t Search::pick_section(const Items& items) const {
  std::int32_t end = 0;
  for (std::int32_t i : items) end = std::max(end, item(i).last);
  const double scale = 1.0 / static_cast<double>(height_);
  std::int32_t best = item(items.front()).first;
  double best_key = std::numeric_limits<double>::infinity();
  for (std::int32_t s = best; s < end; ++s) {
    const std::int64_t base = base_[at(s)];
    if (base < 0 || undecided_[at(s)]) continue;
    const std::int64_t slack = height_ - base - unplaced_[at(s)];
    const double branches = choices_[at(s)] + (slack > 0 ? 1 : 0);
    const double low = static_cast<double>(base) * scale;
    double key = 0.1 * order_.jitter[at(s)];
    switch (order_.rule) {
      case PickRule::kFewestChoices:
        key += branches;
        break;
      case PickRule::kFewestLow:
        key += branches + 20 * low;
        break;
      case PickRule::kMinSlack:
        key += choices_[at(s)] + 8 * scale * static_cast<double>(slack);
        break;
      case PickRule::kLowest:
        key += 0.01 * choices_[at(s)] + 1024 * low;
        break;
    }
    if (key < best_key) {
      best_key = key;
      best = s;
    }
  }
  return best;
}

bool Search::blame_on(std::int32_t item) {
  blame_[at(item)] += 1;
  return false;
}

void Search::place(std::int32_t i, std::int64_t offset) {
  offset_[at(i)] = offset;
  placed_[at(i)] = 1;
  placed_order_.push_back(i);
  for (std::int32_t s = item(i).first; s < item(i).last; ++s) unplaced_[at(s)] -= item(i).bytes;
  const std::int64_t top = offset + item(i).bytes;
  for (std::int32_t other : neighbours_.of(i)) {
    if (placed_[at(other)]) continue;
    if (floor_[at(other)] < top) set(floor_[at(other)], top);
    if (least_[at(other)] < top) set(least_[at(other)], top);
  }
}

void Search::set(std::int64_t& where, std::int64_t value) {
  changes_.push_back({&where, where});
  where = value;
}

void Search::undo(Mark mark) {
  for (; changes_.size() > mark.changes; changes_.pop_back()) {
    *changes_.back().where = changes_.back().before;
  }
  for (; placed_order_.size() > mark.placed; placed_order_.pop_back()) {
    const std::int32_t i = placed_order_.back();
    placed_[at(i)] = 0;
    for (std::int32_t s = item(i).first; s < item(i).last; ++s) unplaced_[at(s)] += item(i).bytes;
  }
}

}  // namespace parallax::packing
