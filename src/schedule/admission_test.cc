#include "schedule/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Admission, PaperTakesTheSmallestFirst) {
  const std::vector<BranchCost> candidates = {{60, 100}, {10, 1}, {50, 100}, {40, 1}};
  EXPECT_THAT(admit_subset(candidates, 160, 2, Admission::kPaper), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(admit_subset(candidates, 110, 2, Admission::kPaper), ElementsAre(1, 2, 3));
  EXPECT_THAT(admit_subset(candidates, 99, 2, Admission::kPaper), ElementsAre(1, 3));
  EXPECT_THAT(admit_subset(candidates, 9, 2, Admission::kPaper), IsEmpty());
}

TEST(Admission, TimeSavedTakesTheLongestThatFitTogether) {
  const std::vector<BranchCost> candidates = {{60, 100}, {10, 1}, {50, 100}, {40, 1}};
  EXPECT_THAT(admit_subset(candidates, 110, 2, Admission::kTimeSaved), ElementsAre(0, 2));
  EXPECT_THAT(admit_subset(candidates, 160, 2, Admission::kTimeSaved), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(admit_subset(candidates, 99, 2, Admission::kTimeSaved), ElementsAre(1, 3))
      << "the short ones together save as much as one with a long one, in fewer bytes";
  EXPECT_THAT(admit_subset(candidates, 9, 2, Admission::kTimeSaved), IsEmpty());
  EXPECT_THAT(admit_subset(candidates, 70, 1, Admission::kTimeSaved), IsEmpty())
      << "one thread saves nothing";
}

TEST(Admission, SumsBeyond63BitsFitNothing) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<BranchCost> candidates = {{most, 1}, {most, 1}, {5, 1}, {6, 1}};
  for (const Admission admission : {Admission::kPaper, Admission::kTimeSaved})
    EXPECT_THAT(admit_subset(candidates, most - 1, 4, admission), ElementsAre(2, 3));
}

std::int64_t bytes_of(const std::vector<BranchCost>& candidates,
                      const std::vector<std::size_t>& chosen) {
  std::int64_t bytes = 0;
  for (const std::size_t i : chosen) bytes += candidates[i].bytes;
  return bytes;
}

TEST(AdmissionProperty, NeverOverTheBudgetNorWorseThanSmallestFirst) {
  rc::check("any branches, any room", [] {
    std::vector<BranchCost> candidates(*rc::gen::inRange<std::size_t>(0, 30));
    for (BranchCost& candidate : candidates)
      candidate = {*rc::gen::inRange<std::int64_t>(0, 1000), *rc::gen::inRange(0, 1000) / 8.0};
    const std::int64_t room = *rc::gen::inRange<std::int64_t>(0, 8000);
    const int threads = *rc::gen::inRange(1, 9);
    const auto paper = admit_subset(candidates, room, threads, Admission::kPaper);
    const auto ours = admit_subset(candidates, room, threads, Admission::kTimeSaved);
    for (const auto& chosen : {paper, ours}) {
      RC_ASSERT(bytes_of(candidates, chosen) <= room);
      RC_ASSERT(std::is_sorted(chosen.begin(), chosen.end()));
      RC_ASSERT(std::adjacent_find(chosen.begin(), chosen.end()) == chosen.end());
      RC_ASSERT((chosen.empty() || chosen.back() < candidates.size()));
    }
    RC_ASSERT(time_saved(candidates, ours, threads) >=
              time_saved(candidates, paper, threads) - 1e-9);
    RC_ASSERT(admit_subset(candidates, room, threads, Admission::kTimeSaved) == ours);
  });
}

TEST(AdmissionProperty, NoSubsetOfAFewIsBetter) {
  rc::check("against every subset", [] {
    std::vector<BranchCost> candidates(*rc::gen::inRange<std::size_t>(1, 7));
    for (BranchCost& candidate : candidates)
      candidate = {*rc::gen::inRange<std::int64_t>(0, 100), *rc::gen::inRange(0, 100) / 8.0};
    const std::int64_t room = *rc::gen::inRange<std::int64_t>(0, 300);
    const int threads = *rc::gen::inRange(1, 5);
    const auto ours = admit_subset(candidates, room, threads, Admission::kTimeSaved);
    for (std::size_t subset = 0; subset < (std::size_t{1} << candidates.size()); ++subset) {
      std::vector<std::size_t> other;
      for (std::size_t i = 0; i < candidates.size(); ++i)
        if (((subset >> i) & 1U) != 0) other.push_back(i);
      if (bytes_of(candidates, other) > room) continue;
      RC_ASSERT(time_saved(candidates, ours, threads) >=
                time_saved(candidates, other, threads) - 1e-9);
    }
  });
}

}  // namespace
}  // namespace parallax
