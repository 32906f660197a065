#include "schedule/waits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "schedule/steps.h"

namespace parallax {
namespace {

/// Limit on edges, for each branch, buffer and read of the problem.
constexpr std::size_t kEdgesPerItem = 8;

/// The last owner of each byte. Ranges are disjoint.
class Owners {
 public:
  /// Calls visit(owner) for the owners of parts of [begin, end), and makes `owner` the new owner.
  template <class Visit>
  void replace(std::int64_t begin, std::int64_t end, std::size_t owner, Visit visit) {
    auto it = ranges_.lower_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second.end > begin) it = std::prev(it);
    while (it != ranges_.end() && it->first < end) {
      const auto [from, range] = *it;
      visit(range.owner);
      it = ranges_.erase(it);
      if (from < begin) ranges_.emplace(from, Range{begin, range.owner});
      if (range.end > end) ranges_.emplace(end, range);
    }
    ranges_.emplace(begin, Range{end, owner});
  }

 private:
  struct Range {
    std::int64_t end;
    std::size_t owner;
  };
  std::map<std::int64_t, Range> ranges_;  // keys: where ranges begin
};

/// Returns the branches that each branch must wait for because of its bytes, with duplicates and in
/// any order; nullopt if there are too many.
std::optional<Waits> waits_for_bytes(const MemoryProblem& problem, const Steps& steps,
                                     const Offsets& offsets) {
  IdVector<BranchId, std::vector<std::size_t>> made(problem.branch_length.size());
  std::size_t left = problem.branch_length.size();
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (problem.buffers[i].bytes > 0) made[problem.buffers[i].made.branch].push_back(i);
    left += 1 + problem.buffers[i].reads.size();
  }
  left *= kEdgesPerItem;
  Owners owners;
  Waits waits(problem.branch_length.size());
  for (const auto& step : steps) {
    for (BranchId branch : step) {
      auto& list = waits[branch];
      std::stable_sort(made[branch].begin(), made[branch].end(), [&](std::size_t a, std::size_t b) {
        return problem.buffers[a].made.index < problem.buffers[b].made.index;
      });
      for (std::size_t i : made[branch]) {
        const std::int64_t begin = offsets.offset[i];
        owners.replace(begin, begin + problem.buffers[i].bytes, i, [&](std::size_t before) {
          const Buffer& buffer = problem.buffers[before];
          const std::size_t edges = 1 + buffer.reads.size();
          left -= std::min(left, edges);
          if (left == 0) return;
          list.push_back(buffer.made.branch);
          for (const Position& read : buffer.reads) list.push_back(read.branch);
        });
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      std::erase(list, branch);
    }
  }
  if (left == 0) return std::nullopt;
  return waits;
}

/// Sets of branches, one for each branch.
class Ancestors {
 public:
  explicit Ancestors(std::size_t branches)
      : words_((branches + 63) / 64), bits_(words_ * branches, 0) {}

  bool has(BranchId branch, BranchId ancestor) const {
    return (row(branch)[word(ancestor)] >> (ancestor.value % 64) & 1U) != 0;
  }
  /// Adds `ancestor` and all of its ancestors to those of `branch`.
  void add(BranchId branch, BranchId ancestor) {
    std::uint64_t* to = bits_.data() + index(branch);
    const std::uint64_t* from = row(ancestor);
    for (std::size_t i = 0; i < words_; ++i) to[i] |= from[i];
    to[word(ancestor)] |= std::uint64_t{1} << (ancestor.value % 64);
  }

 private:
  static std::size_t word(BranchId branch) { return static_cast<std::size_t>(branch.value) / 64; }
  std::size_t index(BranchId branch) const {
    return static_cast<std::size_t>(branch.value) * words_;
  }
  const std::uint64_t* row(BranchId branch) const { return bits_.data() + index(branch); }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Removes the waits from `wanted` that dependencies or other waits imply.
void reduce(const BranchGraph& branches, const Steps& steps, Waits& wanted) {
  IdVector<BranchId, std::size_t> place(branches.branches.size(), 0);
  std::size_t next = 0;
  for (const auto& step : steps) {
    for (BranchId branch : step) place[branch] = next++;
  }
  Ancestors ancestors(branches.branches.size());
  for (const auto& step : steps) {
    for (BranchId branch : step) {
      for (BranchId before : branches.predecessors[branch]) ancestors.add(branch, before);
      // Start with the latest, which implies the most.
      std::sort(wanted[branch].begin(), wanted[branch].end(),
                [&](BranchId a, BranchId b) { return place[a] > place[b]; });
      std::erase_if(wanted[branch], [&](BranchId before) {
        if (ancestors.has(branch, before)) return true;
        ancestors.add(branch, before);
        return false;
      });
    }
  }
}

}  // namespace

Waits make_waits(const BranchGraph& branches, const MemoryProblem& problem, const Steps& steps,
                 const Offsets& offsets) {
  auto waits = waits_for_bytes(problem, steps, offsets);
  if (!waits) return waits_of(steps, branches.branches.size());
  if (branches.branches.size() <= kMaxReduced) reduce(branches, steps, *waits);
  for (BranchId branch : branches.branches.ids()) {
    auto& list = (*waits)[branch];
    const auto& before = branches.predecessors[branch];
    list.insert(list.end(), before.begin(), before.end());
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return *std::move(waits);
}

}  // namespace parallax
