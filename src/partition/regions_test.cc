#include "partition/regions.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace parallax {
namespace {

struct Example {
  Dag edges;
  IdVector<NodeId, bool> can_run;
};

/// Predecessors of each node, and 'x' for nodes that cannot run.
Example make_example(const std::vector<std::vector<int>>& predecessors, std::string_view can) {
  Example example;
  const std::size_t n = predecessors.size();
  example.edges.predecessors.resize(n);
  example.edges.successors.resize(n);
  for (const NodeId node : example.edges.predecessors.ids()) {
    const auto i = static_cast<std::size_t>(node.value);
    example.can_run.push_back(can[i] != 'x');
    std::vector<int> list = predecessors[i];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (const int from : list) {
      example.edges.predecessors[node].push_back(NodeId{from});
      example.edges.successors[NodeId{from}].push_back(node);
    }
  }
  return example;
}

/// Returns the region of each node as a letter, in order of appearance; 'x' for nodes that cannot
/// run.
std::string letters(const Example& example, const Quotient& quotient) {
  std::string text;
  std::vector<GroupId> seen;
  for (const NodeId node : example.can_run.ids()) {
    if (!example.can_run[node]) {
      text += 'x';
      continue;
    }
    const GroupId group = quotient.group_of(node);
    auto found = std::find(seen.begin(), seen.end(), group);
    if (found == seen.end()) found = seen.insert(seen.end(), group);
    text += static_cast<char>('a' + (found - seen.begin()));
  }
  return text;
}

TEST(Candidates, SmallGraphs) {
  struct Row {
    const char* name;
    std::vector<std::vector<int>> predecessors;
    const char* can;
    const char* regions;
  };
  const std::vector<Row> rows = {
      {"empty", {}, "", ""},
      {"all", {{}, {0}, {1}}, "...", "aaa"},
      {"none", {{}, {0}}, "xx", "xx"},
      {"two that do not touch", {{}, {}}, "..", "ab"},
      {"siblings touch over their source", {{}, {0}, {0}}, "...", "aaa"},
      // 0 -> 1x -> 2 and 0 -> 2: {0, 2} would leave over 1 and come back
      {"detour", {{}, {0}, {0, 1}}, ".x.", "axb"},
      // 0 -> 2, 1x -> 2: 2 lies behind 1, and still belongs with 0
      {"a foreign source", {{}, {}, {0, 1}}, ".x.", "axa"},
      // 0 -> 1 -> 2x -> 3, 1 -> 4, 3 -> 4
      {"four meets both", {{}, {0}, {1}, {2}, {1, 3}}, "..x..", "aaxbb"},
      // 1 -> 2x -> 3 keeps 3 from the region of 1, although 0 -> 3 belongs to both
      {"a path from elsewhere", {{}, {}, {1}, {0, 2}, {0, 1}}, "..x..", "aaxba"},
  };
  for (const Row& row : rows) {
    const Example example = make_example(row.predecessors, row.can);
    EXPECT_EQ(letters(example, find_candidates(example.edges, example.can_run)), row.regions)
        << row.name;
  }
}

TEST(Candidates, WorkOfADeviceThatWaitsForLessIsAPieceOfItsOwn) {
  // The CPU makes 0 and then 1. 2 waits for 0, 3 for 1, and 4 reads both.
  const Example example = make_example({{}, {0}, {0}, {1}, {2, 3}}, "xx...");
  for (const auto& [seconds, regions] : {std::pair{1e-2, "xxabb"}, {1e-5, "xxaaa"}}) {
    IdVector<NodeId, CoNode> co;
    for (const NodeId node : example.can_run.ids())
      co.push_back({node.value < 2 ? CoSide::kCpu : CoSide::kDevice, 0, node, 0.5, seconds});
    EXPECT_EQ(letters(example, find_candidates(example.edges, example.can_run, {}, co)), regions);
  }
}

/// Bit j of row i: a path leads from i to j.
std::vector<std::uint32_t> reachable(const Example& example) {
  std::vector<std::uint32_t> reach(example.can_run.size(), 0);
  for (std::size_t i = reach.size(); i-- > 0;) {
    for (const NodeId next : example.edges.successors[NodeId{static_cast<std::int32_t>(i)}]) {
      reach[i] |=
          1U << static_cast<unsigned>(next.value) | reach[static_cast<std::size_t>(next.value)];
    }
  }
  return reach;
}

std::uint32_t mask_of(const std::vector<NodeId>& nodes) {
  std::uint32_t mask = 0;
  for (const NodeId node : nodes) mask |= 1U << static_cast<unsigned>(node.value);
  return mask;
}

bool connected(const Example& example, const std::vector<NodeId>& nodes) {
  const std::uint32_t all = mask_of(nodes);
  std::uint32_t reached = 1U << static_cast<unsigned>(nodes.front().value);
  for (std::size_t round = 0; round < nodes.size(); ++round) {
    for (const NodeId node : nodes) {
      std::uint32_t near = mask_of(example.edges.successors[node]);
      near |= mask_of(example.edges.predecessors[node]);
      if ((near & all & reached) != 0) reached |= 1U << static_cast<unsigned>(node.value);
    }
  }
  return reached == all;
}

/// Returns whether groups, a mask each, taken as one node each leave no cycle: repeatedly removes a
/// group that no remaining group feeds.
bool acyclic(const std::vector<std::uint32_t>& reach, std::vector<std::uint32_t> groups) {
  const auto feeds = [&](std::uint32_t from, std::uint32_t to) {
    for (std::size_t i = 0; i < reach.size(); ++i) {
      if ((from >> i & 1U) != 0 && (reach[i] & to) != 0) return true;
    }
    return false;
  };
  while (!groups.empty()) {
    const auto free = std::find_if(groups.begin(), groups.end(), [&](std::uint32_t group) {
      return std::none_of(groups.begin(), groups.end(), [&](std::uint32_t other) {
        return other != group && feeds(other, group);
      });
    });
    if (free == groups.end()) return false;
    groups.erase(free);
  }
  return true;
}

Example random_example() {
  const int n = *rc::gen::inRange(1, 16);
  std::vector<std::vector<int>> predecessors(static_cast<std::size_t>(n));
  std::string can;
  for (int i = 0; i < n; ++i) {
    can += *rc::gen::inRange(0, 4) == 0 ? 'x' : '.';
    const int degree = i == 0 ? 0 : *rc::gen::inRange(0, 4);
    for (int k = 0; k < degree; ++k) {
      predecessors[static_cast<std::size_t>(i)].push_back(*rc::gen::inRange(std::max(0, i - 5), i));
    }
  }
  return make_example(predecessors, can);
}

/// All groups as masks, those that can run first.
struct Masks {
  std::vector<std::uint32_t> regions, all;
};
Masks masks_of(const Example& example, const Quotient& quotient) {
  Masks masks;
  for (const NodeId node : example.can_run.ids()) {
    const std::uint32_t mask = mask_of(quotient.members(quotient.group_of(node)));
    if (std::countr_zero(mask) != node.value) continue;
    masks.all.push_back(mask);
    if (example.can_run[node]) masks.regions.push_back(mask);
  }
  return masks;
}

TEST(CandidatesProperty, AreConvexConnectedDisjointAndAcyclic) {
  EXPECT_TRUE(rc::check([] {
    const Example example = random_example();
    const Quotient quotient = find_candidates(example.edges, example.can_run);
    RC_ASSERT(!quotient.exhausted());
    const auto reach = reachable(example);
    const Masks masks = masks_of(example, quotient);
    std::uint32_t seen = 0;
    for (const std::uint32_t mask : masks.all) {
      RC_ASSERT((seen & mask) == 0U);
      seen |= mask;
    }
    RC_ASSERT(std::popcount(seen) == static_cast<int>(example.can_run.size()));
    for (const NodeId node : example.can_run.ids()) {
      const auto& members = quotient.members(quotient.group_of(node));
      RC_ASSERT(connected(example, members));
      RC_ASSERT(example.can_run[node] || members.size() == 1);
      // No node outside is on a path between two members.
      const std::uint32_t mask = mask_of(members);
      for (const NodeId other : example.can_run.ids()) {
        const auto i = static_cast<std::size_t>(other.value);
        if ((mask >> i & 1U) != 0) continue;
        const bool entered = std::any_of(members.begin(), members.end(), [&](NodeId member) {
          return (reach[static_cast<std::size_t>(member.value)] >> i & 1U) != 0;
        });
        RC_ASSERT(!(entered && (reach[i] & mask) != 0));
      }
    }
    RC_ASSERT(acyclic(reach, masks.all));
  }));
}

TEST(CandidatesProperty, AreMaximal) {
  // Every union of two or more regions that is connected closes a cycle.
  EXPECT_TRUE(rc::check([] {
    const Example example = random_example();
    const auto reach = reachable(example);
    const Masks masks = masks_of(example, find_candidates(example.edges, example.can_run));
    if (masks.regions.size() > 9) return;
    for (std::uint32_t chosen = 1; chosen < 1U << masks.regions.size(); ++chosen) {
      if (std::popcount(chosen) < 2) continue;
      std::vector<std::uint32_t> groups;
      std::uint32_t whole = 0;
      for (const std::uint32_t mask : masks.all) {
        const auto at = std::find(masks.regions.begin(), masks.regions.end(), mask);
        const bool in =
            at != masks.regions.end() && (chosen >> (at - masks.regions.begin()) & 1U) != 0;
        if (in) whole |= mask;
        if (!in) groups.push_back(mask);
      }
      groups.push_back(whole);
      std::vector<NodeId> nodes;
      for (const NodeId node : example.can_run.ids()) {
        if ((whole >> static_cast<unsigned>(node.value) & 1U) != 0) nodes.push_back(node);
      }
      if (connected(example, nodes)) RC_ASSERT(!acyclic(reach, groups));
    }
  }));
}

/// Regions of another delegate: candidates of a first turn, a part of them.
IdVector<NodeId, RegionId> random_taken(const Example& example) {
  Example first = example;
  for (const NodeId node : first.can_run.ids()) first.can_run[node] = *rc::gen::arbitrary<bool>();
  const Quotient quotient = find_candidates(first.edges, first.can_run);
  IdVector<NodeId, RegionId> taken(example.can_run.size());
  std::int32_t regions = 0;
  for (const NodeId node : first.can_run.ids()) {
    const auto& members = quotient.members(quotient.group_of(node));
    if (!first.can_run[node] || *std::ranges::min_element(members) != node) continue;
    if (*rc::gen::inRange(0, 3) == 0) continue;
    for (const NodeId member : members) taken[member] = RegionId{regions};
    ++regions;
  }
  return taken;
}

TEST(CandidatesProperty, OfASecondDelegateAreAcyclicTogetherWithThoseOfTheFirst) {
  EXPECT_TRUE(rc::check([] {
    Example example = random_example();
    const auto taken = random_taken(example);
    for (const NodeId node : taken.ids())
      if (taken[node].valid()) example.can_run[node] = false;
    const Quotient quotient = find_candidates(example.edges, example.can_run, taken);
    const auto reach = reachable(example);
    std::vector<std::uint32_t> all;
    for (const NodeId node : example.can_run.ids()) {
      const auto& members = quotient.members(quotient.group_of(node));
      const bool one = std::ranges::all_of(members, [&](NodeId member) {
        return taken[member] == taken[node] && example.can_run[member] == example.can_run[node];
      });
      RC_ASSERT(one);
      RC_ASSERT(!taken[node].valid() ||
                std::ranges::count(taken, taken[node]) == std::ssize(members));
      RC_ASSERT(!example.can_run[node] || connected(example, members));
      RC_ASSERT(example.can_run[node] || taken[node].valid() || members.size() == 1);
      if (*std::ranges::min_element(members) == node) all.push_back(mask_of(members));
    }
    RC_ASSERT(acyclic(reach, all));
  }));
}

TEST(Candidates, AHostileGraphEndsAndKeepsItsPromises) {
  // A source that everything reads, directly and over a node that cannot run: each reader is a
  // region of its own, and looking at all of the source's readers for each of them would be
  // quadratic.
  constexpr int kReaders = 30000;
  std::vector<std::vector<int>> predecessors = {{}};
  std::string can = ".";
  for (int i = 0; i < kReaders; ++i) {
    predecessors.push_back({0});
    can += 'x';
    predecessors.push_back({0, 2 * i + 1});
    can += '.';
  }
  const Example example = make_example(predecessors, can);
  const Quotient quotient = find_candidates(example.edges, example.can_run);
  for (const NodeId node : example.can_run.ids()) {
    EXPECT_EQ(quotient.members(quotient.group_of(node)).size(), 1U);
  }
}

TEST(Quotient, KeepsItsOrderWhileMerging) {
  const Example example = make_example({{}, {}, {0}, {1}, {2, 3}}, ".....");
  IdVector<NodeId, GroupId> own;
  for (const NodeId node : example.can_run.ids()) own.push_back(GroupId{node.value});
  Quotient quotient(example.edges, own, own.size(), 1000);
  const GroupId first = quotient.merge(std::array{GroupId{0}, GroupId{3}});
  ASSERT_TRUE(first.valid());
  // Now 1 -> {0, 3} -> 2 and 4.
  EXPECT_FALSE(quotient.merge(std::array{GroupId{1}, GroupId{2}}).valid());
  EXPECT_TRUE(quotient.merge(std::array{GroupId{2}, first, GroupId{1}}).valid());
  EXPECT_EQ(quotient.neighbours(quotient.find(GroupId{1})), std::vector<GroupId>{GroupId{4}});
}

TEST(Quotient, ForbidsWhatItCannotFindOut) {
  const Example example = make_example({{}, {0}, {0, 1}}, "...");
  IdVector<NodeId, GroupId> own;
  for (const NodeId node : example.can_run.ids()) own.push_back(GroupId{node.value});
  Quotient quotient(example.edges, own, own.size(), 1);
  EXPECT_FALSE(quotient.merge(std::array{GroupId{0}, GroupId{1}}).valid());
  EXPECT_TRUE(quotient.exhausted());
}

}  // namespace
}  // namespace parallax
