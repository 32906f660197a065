#include "memory/packing/component.h"

#include <algorithm>
#include <array>

namespace parallax::packing {
namespace {

/// With more pairs only packing by birth is tried; a pair needs 16 bytes while counting.
constexpr std::size_t kMaxPairs = std::size_t{1} << 22;
/// The search recurses once for each item.
constexpr std::size_t kMaxSearched = 2000;
constexpr int kGreedyAttempts = 3;

/// Returns 1 1 2 1 1 2 4 ...: restarts that are at most log-many times worse than the best fixed
/// limit.
std::int64_t luby(int attempt) {
  std::int64_t index = attempt + 1;
  for (;;) {
    std::int64_t power = 1;
    while (2 * power - 1 < index) power *= 2;
    if (2 * power - 1 == index) return power;
    index -= power - 1;
  }
}

}  // namespace

Component::Component(std::span<const PackingBuffer> buffers)
    : sections_(make_sections(buffers)), lower_bound_(sections_.lower_bound) {
  offer(pack_by_birth(sections_));
}

void Component::offer(std::vector<std::int64_t> offsets) {
  const std::int64_t height = height_of(sections_, offsets);
  if (!offsets_.empty() && height >= height_) return;
  offsets_ = std::move(offsets);
  height_ = height;
}

/// Keys of the attempt's kind, shaken from the second time on, times what was to blame before.
std::vector<double> Component::varied_keys(int attempt, std::span<const double> blame) {
  const auto kind = static_cast<SortKey>(attempt % kSortKeys);
  std::vector<double> keys = sort_keys(sections_, kind);
  const bool flat = kind == SortKey::kFullestSection || kind == SortKey::kFullestThenArea;
  const double shake = attempt < kSortKeys ? 0 : flat ? 0.02 : 0.5;
  double most = 0;
  for (double b : blame) most = std::max(most, b);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] *= 1 + shake * (random() - 0.5);
    if (most > 0) keys[i] *= blame[i] / most + 0.01;
  }
  return keys;
}

SearchOrder Component::make_order(const Series& series) {
  constexpr std::array kRules = {
      PickRule::kFewestLow, PickRule::kLowest, PickRule::kFewestLow, PickRule::kFewestChoices,
      PickRule::kFewestLow, PickRule::kLowest, PickRule::kMinSlack};
  SearchOrder order;
  order.rule = kRules[static_cast<std::size_t>(series.attempts) % kRules.size()];
  const auto items = order_by(varied_keys(series.attempts, series.blame));
  order.rank.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    order.rank[static_cast<std::size_t>(items[i])] = static_cast<std::int32_t>(i);
  }
  for (std::size_t s = 0; s < sections_.count(); ++s) order.jitter.push_back(random());
  return order;
}

/// Returns true if `height` was reached or proved impossible.
bool Component::search(Series& series, std::int64_t height, Effort& effort) {
  const auto count = static_cast<std::int64_t>(sections_.items.size());
  if (series.blame.empty()) series.blame.assign(sections_.items.size(), 0);
  const SearchOrder order = make_order(series);
  Search search(sections_, *neighbours_, order, height, series.blame);
  // Enough for one dive to the last item and some backtracking; the first dives must be quick.
  const std::int64_t dive = (series.attempts < 4 ? count * count / 2 : count * count) + 100 * count;
  const std::int64_t steps = luby(series.attempts) * dive;
  ++series.attempts;
  switch (search.run(steps, effort)) {
    case Outcome::kFound:
      offer(search.offsets());
      return true;
    case Outcome::kNone:
      lower_bound_ = std::max(lower_bound_, height + sections_.unit);
      return true;
    case Outcome::kGaveUp:
      return false;
  }
  return false;
}

bool Component::improve(std::int64_t enough, Effort& effort) {
  const std::int64_t unit = sections_.unit;
  if (attempts_ == 0) {
    neighbours_.emplace();
    if (!Neighbours::make(sections_, kMaxPairs, *neighbours_)) neighbours_.reset();
  }
  if (!neighbours_) return false;
  const std::int64_t wanted = std::max(lower_bound_, enough / unit * unit);
  if (height_ <= wanted) return false;
  const bool searched = sections_.items.size() <= kMaxSearched;
  if (attempts_ < kGreedyAttempts || !searched) {
    const auto order = order_by(varied_keys(attempts_, {}));
    ++attempts_;
    if (auto offsets = pack_lowest(sections_, *neighbours_, order, effort)) {
      offer(std::move(*offsets));
    }
    return true;
  }
  if (!descending_) {
    descending_ = true;
    search(at_bound_, wanted, effort);
    return true;
  }
  // Half way between what was given up and what is reached, and from the bottom again when they
  // meet.
  given_up_ = std::max(given_up_, wanted);
  if (given_up_ >= height_ - unit) given_up_ = wanted;
  const std::int64_t units = (height_ - given_up_) / unit;
  const std::int64_t target = given_up_ + std::max<std::int64_t>(units / 2, 1) * unit;
  descending_ = search(between_, target, effort);
  if (!descending_) given_up_ = target;
  return true;
}

}  // namespace parallax::packing
