#include "memory/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "memory/problem_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

Position at(int branch, int index) { return {BranchId{branch}, index}; }

MemoryProblem problem_of(std::vector<std::int32_t> lengths, std::vector<Buffer> buffers) {
  MemoryProblem problem;
  for (std::int32_t length : lengths) problem.branch_length.push_back(length);
  problem.buffers = std::move(buffers);
  return problem;
}

Steps steps_of(std::vector<std::vector<int>> steps) {
  Steps result;
  for (const auto& step : steps) {
    result.emplace_back();
    for (int branch : step) result.back().push_back(BranchId{branch});
  }
  return result;
}

std::vector<std::int64_t> peaks_of(const MemoryProblem& problem) {
  const auto peaks = branch_peaks(problem);
  return {peaks.begin(), peaks.end()};
}

/// Returns a chain of four nodes whose tensors have 1, 2, 3 and 4 cache lines.
MemoryProblem chain() {
  return problem_of({4}, {{64, at(0, 0), {at(0, 1)}},
                          {128, at(0, 1), {at(0, 2)}},
                          {192, at(0, 2), {at(0, 3)}},
                          {256, at(0, 3), {}}});
}

//        0 ------------.      branch 0 makes 64 bytes for 1 and 2, and 640 for 3
//      /   \           |      1 and 2 have 128 bytes of their own, and hand 64 to 3
//     1     2          |
//      \   /           |
//        3 <-----------'
MemoryProblem diamond() {
  return problem_of({1, 2, 2, 1}, {{64, at(0, 0), {at(1, 0), at(2, 0)}},
                                   {640, at(0, 0), {at(3, 0)}},
                                   {128, at(1, 0), {at(1, 1)}},
                                   {64, at(1, 1), {at(3, 0)}},
                                   {128, at(2, 0), {at(2, 1)}},
                                   {64, at(2, 1), {at(3, 0)}}});
}

TEST(Memory, FiguresOfAChain) {
  const MemoryProblem problem = chain();
  const Steps steps = steps_of({{0}});
  EXPECT_EQ(naive_bytes(problem), 640);
  EXPECT_EQ(lower_bound_bytes(problem, steps), 448);  // the last two
  EXPECT_THAT(step_peaks(problem, steps), ElementsAre(448));
  EXPECT_THAT(peaks_of(problem), ElementsAre(448));
  EXPECT_EQ(plan_steps(problem, steps).bytes, 448);
}

TEST(Memory, FiguresOfADiamond) {
  const MemoryProblem problem = diamond();
  const Steps parallel = steps_of({{0}, {1, 2}, {3}});
  const Steps sequential = steps_of({{0}, {1}, {2}, {3}});
  EXPECT_EQ(naive_bytes(problem), 64 + 640 + 2 * (128 + 64));
  EXPECT_THAT(peaks_of(problem), ElementsAre(704, 192, 192, 0));
  EXPECT_THAT(step_peaks(problem, sequential), ElementsAre(704, 896, 896, 768));
  EXPECT_EQ(lower_bound_bytes(problem, sequential), 896);
  EXPECT_EQ(lower_bound_bytes(problem, parallel), 896);
  EXPECT_THAT(step_peaks(problem, parallel), ElementsAre(704, 704 + 2 * 192, 768));
  EXPECT_EQ(plan_greedy(problem, parallel).bytes, 896);  // as if one by one
  EXPECT_EQ(plan_steps(problem, sequential).bytes, 896);
  EXPECT_EQ(plan_steps(problem, parallel).bytes, 704 + 2 * 192);
  EXPECT_EQ(plan_paper(problem, parallel).bytes, 704 + 2 * 192);
  EXPECT_FALSE(check_offsets(problem, parallel, plan_greedy(problem, parallel)));
  EXPECT_TRUE(check_offsets(problem, sequential, plan_greedy(problem, parallel)));
}

TEST(PlanPaper, FreedBlocksStayInTheirArenaWithinAStep) {
  // Each branch makes one tensor and drops it, then makes a second of the same size.
  const MemoryProblem problem = problem_of(
      {2, 2}, {{64, at(0, 0), {}}, {64, at(0, 1), {}}, {64, at(1, 0), {}}, {64, at(1, 1), {}}});
  const Offsets offsets = plan_paper(problem, steps_of({{0, 1}}));
  EXPECT_THAT(offsets.offset, ElementsAre(0, 0, 64, 64));
  // In different steps the block is reused.
  EXPECT_EQ(plan_paper(problem, steps_of({{0}, {1}})).bytes, 64);
}

TEST(PlanPaper, TheOnlyReaderOfAStepMayReuseWhatItRead) {
  const auto problem = [](std::vector<Position> reads) {
    return problem_of({1, 2, 2}, {{64, at(0, 0), std::move(reads)}, {64, at(1, 1), {}}});
  };
  const Steps steps = steps_of({{0}, {1, 2}});
  EXPECT_EQ(plan_paper(problem({at(1, 0)}), steps).bytes, 64);
  EXPECT_EQ(plan_paper(problem({at(1, 0), at(2, 0)}), steps).bytes, 128);
  EXPECT_EQ(plan_steps(problem({at(1, 0), at(2, 0)}), steps).bytes, 128);
}

// Two nodes after the first, each over what it reads: 0 -> 1 -> 2, in one place.
TEST(InPlace, TakesThePlaceOfWhatDies) {
  MemoryProblem problem = problem_of(
      {1, 2},
      {{64, at(0, 0), {at(1, 0)}}, {64, at(1, 0), {at(1, 1)}, {0}}, {64, at(1, 1), {}, {1}}});
  const Steps steps = steps_of({{0}, {1}});
  EXPECT_EQ(plan_steps(problem, steps).bytes, 64);
  EXPECT_EQ(lower_bound_bytes(problem, steps), 64);
  EXPECT_THAT(step_peaks(problem, steps), ElementsAre(64, 64));
  EXPECT_TRUE(check_offsets(problem, steps, {{0, 0, 0}, 64}));
  EXPECT_EQ(plan_greedy(problem, steps).bytes, 128);  // as if no kernel could
  problem.buffers[1].over.clear();
  EXPECT_FALSE(check_offsets(problem, steps, {{0, 0, 0}, 64}));
  EXPECT_EQ(plan_steps(problem, steps).bytes, 128);
}

TEST(InPlace, NotWhereSomebodyElseReadsLater) {
  const auto problem = [](std::vector<Position> reads) {
    return problem_of({1, 2, 1},
                      {{64, at(0, 0), std::move(reads)}, {64, at(1, 0), {at(1, 1)}, {0}}});
  };
  const Steps steps = steps_of({{0}, {1, 2}});
  const Steps in_turn = steps_of({{0}, {2}, {1}});
  EXPECT_EQ(plan_steps(problem({at(1, 0)}), steps).bytes, 64);
  EXPECT_EQ(plan_steps(problem({at(1, 0), at(1, 1)}), steps).bytes, 128);
  EXPECT_EQ(plan_steps(problem({at(1, 0), at(2, 0)}), steps).bytes, 128);
  EXPECT_EQ(plan_steps(problem({at(1, 0), at(2, 0)}), in_turn).bytes, 64);
  EXPECT_FALSE(check_offsets(problem({at(1, 0), at(2, 0)}), steps, {{0, 0}, 64}));
}

TEST(InPlace, OnlyOneMayHaveThePlace) {
  const MemoryProblem problem = problem_of(
      {2}, {{64, at(0, 0), {at(0, 1)}}, {64, at(0, 1), {}, {0}}, {64, at(0, 1), {}, {0}}});
  EXPECT_EQ(plan_steps(problem, steps_of({{0}})).bytes, 128);
  EXPECT_FALSE(check_offsets(problem, steps_of({{0}}), {{0, 0, 0}, 64}));
  // Nor one of another size.
  const MemoryProblem other =
      problem_of({2}, {{64, at(0, 0), {at(0, 1)}}, {65, at(0, 1), {}, {0}}});
  EXPECT_EQ(plan_steps(other, steps_of({{0}})).bytes, 192);
}

TEST(Memory, EmptyBuffersTakeNothing) {
  const MemoryProblem problem = problem_of({1}, {{0, at(0, 0), {}}, {1, at(0, 0), {}}});
  const Offsets offsets = plan_paper(problem, steps_of({{0}}));
  EXPECT_EQ(offsets.bytes, 64);
  EXPECT_THAT(offsets.offset, ElementsAre(0, 0));
  EXPECT_EQ(plan_steps(MemoryProblem{}, {}).bytes, 0);
  EXPECT_EQ(lower_bound_bytes(MemoryProblem{}, {}), 0);
}

TEST(Memory, SumsSaturate) {
  const Buffer huge{kHuge, at(0, 0), {}};
  for (const auto& buffers : {std::vector<Buffer>{huge, huge}, {{kTooManyBytes, at(0, 0), {}}}}) {
    const MemoryProblem problem = problem_of({1}, buffers);
    const Steps steps = steps_of({{0}});
    EXPECT_EQ(naive_bytes(problem), kTooManyBytes);
    EXPECT_EQ(lower_bound_bytes(problem, steps), kTooManyBytes);
    EXPECT_THAT(step_peaks(problem, steps), ElementsAre(kTooManyBytes));
    EXPECT_THAT(peaks_of(problem), ElementsAre(kTooManyBytes));
    for (const Offsets& offsets :
         {plan_greedy(problem, steps), plan_paper(problem, steps), plan_steps(problem, steps)}) {
      EXPECT_EQ(offsets.bytes, kTooManyBytes);
      EXPECT_EQ(offsets.offset.size(), buffers.size());
      EXPECT_FALSE(check_offsets(problem, steps, offsets));
    }
  }
}

TEST(CheckProblem, RefusesWhatDoesNotFitTogether) {
  const Buffer good{64, at(0, 0), {at(1, 0)}};
  struct Case {
    const char* message;
    Buffer buffer;
    std::vector<std::vector<int>> steps;
  };
  const Case cases[] = {
      {"is in no step", good, {{0}}},
      {"is in two steps", good, {{0}, {1}, {0}}},
      {"no branch 2", good, {{0}, {1}, {2}}},
      {"before it is made", good, {{1}, {0}}},
      {"before it is made", good, {{0, 1}}},
      {"before it is made", {64, at(0, 1), {at(0, 0)}}, {{0}, {1}}},
      {"made by no node", {64, at(0, 2), {}}, {{0}, {1}}},
      {"made by no node", {64, {}, {}}, {{0}, {1}}},
      {"read by no node", {64, at(0, 0), {at(1, -1)}}, {{0}, {1}}},
      {"has -1 bytes", {-1, at(0, 0), {}}, {{0}, {1}}},
      {"over a later one", {64, at(0, 0), {}, {0}}, {{0}, {1}}},
      {"over a later one", {64, at(0, 0), {}, {-1}}, {{0}, {1}}},
  };
  EXPECT_TRUE(check_problem(problem_of({2, 1}, {good}), steps_of({{0}, {1}})));
  for (const Case& c : cases) {
    const auto status = check_problem(problem_of({2, 1}, {c.buffer}), steps_of(c.steps));
    ASSERT_FALSE(status) << c.message;
    EXPECT_THAT(status.error().message, HasSubstr(c.message));
    EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  }
}

TEST(CheckOffsets, NamesWhatIsWrong) {
  const auto message = [](const Offsets& offsets) {
    const auto status = check_offsets(diamond(), steps_of({{0}, {1, 2}, {3}}), offsets);
    return status ? std::string() : status.error().message;
  };
  const Offsets good = plan_paper(diamond(), steps_of({{0}, {1, 2}, {3}}));
  EXPECT_EQ(message(good), "");
  Offsets bad = good;
  bad.offset[4] = bad.offset[2];
  EXPECT_EQ(message(bad), "buffers 2 and 4 overlap");
  bad = good;
  bad.offset[0] = bad.offset[1];
  EXPECT_EQ(message(bad), "buffers 0 and 1 overlap");
  bad = good;
  bad.offset[1] += 1;
  EXPECT_THAT(message(bad), HasSubstr("buffer 1 lies at"));
  bad = good;
  bad.bytes -= 64;
  EXPECT_THAT(message(bad), HasSubstr("leaves the"));
  bad = good;
  bad.offset[1] = kTooManyBytes - 63;
  EXPECT_THAT(message(bad), HasSubstr("leaves the"));
  bad.offset.pop_back();
  EXPECT_EQ(message(bad), "not one offset per buffer");
}

struct Sample {
  explicit Sample(unsigned seed) : random(seed) {
    const Dag dag = random_dag(seed);
    const BranchGraph branches = find_branches(coarsen(dag));
    problem = random_problem(dag, branches, random);
    steps = random_steps(branches, random);
  }
  RandomDag random;
  MemoryProblem problem;
  Steps steps;
};

void check_plan(Sample& sample, const Steps& steps, const Offsets& offsets) {
  const auto& problem = sample.problem;
  const auto status = check_offsets(problem, steps, offsets);
  RC_ASSERT(status.has_value());
  RC_ASSERT(!HappensBefore(problem, steps).overlap(offsets));
  for (int i = 0; i < 5; ++i) RC_ASSERT(Execution(problem, offsets).run(steps, sample.random));
  const auto peaks = step_peaks(problem, steps);
  RC_ASSERT(offsets.bytes <= naive_bytes(problem));
  RC_ASSERT(offsets.bytes >= lower_bound_bytes(problem, steps));
  RC_ASSERT(offsets.bytes >= *std::max_element(peaks.begin(), peaks.end()));
}

TEST(MemoryProperty, NothingAliveIsOverwritten) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    Sample sample(seed);
    const Steps sequential = one_by_one(sample.steps);
    check_plan(sample, sample.steps, plan_paper(sample.problem, sample.steps));
    check_plan(sample, sample.steps, plan_steps(sample.problem, sample.steps));
    check_plan(sample, sequential, plan_paper(sample.problem, sequential));
    check_plan(sample, sequential, plan_greedy(sample.problem, sample.steps));
    RC_ASSERT(plan_steps(sample.problem, sequential).bytes <=
              plan_greedy(sample.problem, sequential).bytes);
  }));
}

TEST(MemoryProperty, CheckOffsetsSeesEveryOverlap) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    Sample sample(seed);
    Offsets offsets = plan_steps(sample.problem, sample.steps);
    RC_PRE(!offsets.offset.empty());
    offsets.bytes += 12 * kAlignment;
    for (int changes = 1 + sample.random.below(2); changes > 0; --changes) {
      const auto i =
          static_cast<std::size_t>(sample.random.below(static_cast<int>(offsets.offset.size())));
      offsets.offset[i] =
          kAlignment * sample.random.below(static_cast<int>(offsets.bytes / kAlignment) - 11);
    }
    const bool overlaps = HappensBefore(sample.problem, sample.steps).overlap(offsets).has_value();
    RC_CLASSIFY(overlaps);
    RC_ASSERT(check_offsets(sample.problem, sample.steps, offsets).has_value() == !overlaps);
  }));
}

TEST(MemoryProperty, PeaksAreSumsOfWhatMayLiveAtOnce) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    Sample sample(seed);
    const std::int64_t in_place = lower_bound_bytes(sample.problem, sample.steps);
    for (Buffer& buffer : sample.problem.buffers) buffer.over.clear();
    const auto& problem = sample.problem;
    RC_ASSERT(in_place <= lower_bound_bytes(problem, sample.steps));
    const Steps sequential = one_by_one(sample.steps);
    // One by one, the buffers that live as a buffer is made are those that conflict and are older.
    const HappensBefore order(problem, sequential);
    IdVector<BranchId, int> step_of(problem.branch_length.size(), 0);
    for (std::size_t i = 0; i < sequential.size(); ++i) {
      step_of[sequential[i].front()] = static_cast<int>(i);
    }
    const auto time = [&](std::size_t i) {
      const Position& made = problem.buffers[i].made;
      return std::pair(step_of[made.branch], made.index);
    };
    std::int64_t most = 0;
    for (std::size_t a = 0; a < problem.buffers.size(); ++a) {
      std::int64_t live = 0;
      for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
        const bool alive = a == b || (time(b) <= time(a) && order.may_live_together(a, b));
        if (alive) live += *checked_align(problem.buffers[b].bytes, kAlignment);
      }
      most = std::max(most, live);
    }
    RC_ASSERT(lower_bound_bytes(problem, sample.steps) == most);
    const auto peaks = step_peaks(problem, sequential);
    RC_ASSERT(*std::max_element(peaks.begin(), peaks.end()) == most);
  }));
}

TEST(MemoryProperty, LikePlansAreSafeAndNoLarger) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    Sample sample(seed);
    const Offsets known = plan_steps(sample.problem, sample.steps);
    const auto same = plan_like(sample.problem, sample.steps, known);
    RC_ASSERT(same && same->bytes <= known.bytes);
    check_plan(sample, sample.steps, *same);
    for (Buffer& buffer : sample.problem.buffers) {
      if (sample.random.below(2) == 0) buffer.bytes = sample.random.below(12 * 64);
    }
    const auto other = plan_like(sample.problem, sample.steps, known);
    RC_ASSERT(other.has_value());
    check_plan(sample, sample.steps, *other);
  }));
}

TEST(MemoryProperty, Deterministic) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    const Sample sample(seed);
    RC_ASSERT(plan_paper(sample.problem, sample.steps).offset ==
              plan_paper(sample.problem, sample.steps).offset);
    RC_ASSERT(plan_steps(sample.problem, sample.steps).offset ==
              plan_steps(sample.problem, sample.steps).offset);
  }));
}

TEST(Memory, ManyConflictsFallBackToArenas) {
  // 2,000 tensors that all live to the end: two million pairs.
  MemoryProblem problem = problem_of({2000}, {});
  for (int i = 0; i < 2000; ++i) {
    problem.buffers.push_back({64 + i, at(0, i), {at(0, 1999)}});
  }
  const Steps steps = steps_of({{0}});
  const std::int64_t bound = lower_bound_bytes(problem, steps);
  for (const Offsets& offsets : {plan_greedy(problem, steps), plan_steps(problem, steps)}) {
    EXPECT_EQ(offsets.bytes, bound);
    EXPECT_TRUE(check_offsets(problem, steps, offsets));
  }
}

}  // namespace
}  // namespace parallax
