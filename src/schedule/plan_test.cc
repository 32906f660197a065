#include "schedule/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/byte_text.h"
#include "memory/problem_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::vector<int>> numbers(const Steps& steps) {
  std::vector<std::vector<int>> result;
  for (const auto& step : steps) {
    result.emplace_back();
    for (BranchId branch : step) result.back().push_back(branch.value);
  }
  return result;
}

/// A node that feeds `width` chains of three nodes, which one node joins. The first node's tensor
/// has 64 bytes; in chain i the first tensor has bytes[i], the others 64.
struct Fan {
  explicit Fan(std::vector<std::int64_t> bytes) {
    const int width = static_cast<int>(bytes.size());
    std::vector<std::vector<int>> predecessors{{}};
    std::vector<int> ends;
    for (int i = 0; i < width; ++i) {
      predecessors.push_back({0});
      predecessors.push_back({3 * i + 1});
      predecessors.push_back({3 * i + 2});
      ends.push_back(3 * i + 3);
    }
    predecessors.push_back(ends);
    branches = find_branches(coarsen(make_dag(predecessors)));
    groups = refine_by_time(branches, IdVector<BranchId, double>(branches.branches.size(), 1.0));
    Buffer first{64, {BranchId{0}, 0}, {}};
    problem.branch_length.push_back(1);
    for (int i = 0; i < width; ++i) {
      const BranchId branch{i + 1}, last{width + 1};
      problem.branch_length.push_back(3);
      first.reads.push_back({branch, 0});
      problem.buffers.push_back({bytes[static_cast<std::size_t>(i)], {branch, 0}, {{branch, 1}}});
      problem.buffers.push_back({64, {branch, 1}, {{branch, 2}}});
      problem.buffers.push_back({64, {branch, 2}, {{last, 0}}});
    }
    problem.branch_length.push_back(1);
    problem.buffers.push_back(first);
  }
  Result<Plan> plan(const ScheduleOptions& options) const {
    return make_plan(branches, groups, problem, options);
  }
  BranchGraph branches;
  std::vector<LayerGroups> groups;
  MemoryProblem problem;
};

ScheduleOptions with_budget(std::int64_t budget) {
  ScheduleOptions options;
  options.threads = 4;
  options.budget = budget;
  return options;
}

TEST(MakePlan, RunsBalancedBranchesAtOnce) {
  const auto plan = Fan({640, 640, 640}).plan(with_budget(1 << 20));
  ASSERT_TRUE(plan);
  EXPECT_EQ(numbers(plan->steps), (std::vector<std::vector<int>>{{0}, {1, 2, 3}, {4}}));
  EXPECT_THAT(plan->layer_of_step, ElementsAre(0, 1, 2));
  for (BranchId chain : plan->steps[1]) EXPECT_THAT(plan->waits[chain], ElementsAre(BranchId{0}));
  EXPECT_EQ(plan->waits[BranchId{4}], plan->steps[1]);
  EXPECT_EQ(plan->parallel_layers, 1);
  EXPECT_EQ(plan->max_branches, 3);
  EXPECT_EQ(plan->offsets.bytes, 64 + 3 * 704);
  EXPECT_EQ(plan->figures.parallax, plan->offsets.bytes);
  EXPECT_EQ(plan->figures.paper, 64 + 3 * 704);
  EXPECT_EQ(plan->figures.naive, 64 + 3 * (640 + 128));
  EXPECT_EQ(plan->figures.lower_bound, 64 + 2 * 64 + 704 - 64);  // the last chain, `first` is read
  EXPECT_EQ(plan->branch_peaks[BranchId{1}], 704);
}

TEST(MakePlan, SequentialRunsEachBranchAlone) {
  ScheduleOptions options;
  options.parallel = false;
  const auto plan = Fan({640, 640}).plan(options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(numbers(plan->steps), (std::vector<std::vector<int>>{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(plan->parallel_layers, 0);
  EXPECT_EQ(plan->max_branches, 1);
  EXPECT_LE(plan->figures.parallax, plan->figures.greedy);
  EXPECT_EQ(plan->figures.paper, 64 + 2 * 704);  // still that of the parallel steps
}

TEST(MakePlan, StepsGrowWithTheThreads) {
  const Fan fan(std::vector<std::int64_t>(9, 640));
  ScheduleOptions options;
  options.threads = 2;
  const auto plan = fan.plan(options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(numbers(plan->steps),
            (std::vector<std::vector<int>>{{0}, {1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10}}));
  EXPECT_EQ(plan->parallel_layers, 1);
  options.threads = 16;
  EXPECT_EQ(fan.plan(options)->max_branches, 9);
}

TEST(MakePlan, AdmitsTheSmallestPeaksUnderABudget) {
  const auto plan = Fan({6400, 640, 640}).plan(with_budget(64 + 6464 + 192));
  ASSERT_TRUE(plan);
  EXPECT_EQ(numbers(plan->steps),
            (std::vector<std::vector<int>>{{0}, {1}, {2, 3}, {4}}));  // in the model's order
  EXPECT_EQ(plan->max_branches, 2);
  EXPECT_LE(plan->offsets.bytes, 64 + 6464 + 192);
}

TEST(MakePlan, AdmitsWhatSavesMostTimeUnderABudget) {
  const Fan fan({640, 640, 6400, 6400});
  ScheduleOptions options = with_budget(13'400);
  options.work = IdVector<BranchId, double>(6, 1.0);
  for (const int large : {3, 4}) options.work[BranchId{large}] = 3;
  const auto plan = fan.plan(options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(numbers(plan->steps), (std::vector<std::vector<int>>{{0}, {3, 4}, {1, 2}, {5}}));
  EXPECT_EQ(plan->max_branches, 2);
  options.admission = Admission::kPaper;
  const auto paper = fan.plan(options);
  ASSERT_TRUE(paper);
  EXPECT_EQ(numbers(paper->steps), (std::vector<std::vector<int>>{{0}, {1, 2, 3}, {4}, {5}}));
  for (const auto& each : {*plan, *paper}) EXPECT_LE(each.offsets.bytes, 13'400);
  options.work.resize(5);
  EXPECT_EQ(fan.plan(options).error().code, ErrorCode::kInternal);
}

TEST(MakePlan, BranchesBesideADeviceWaitWhereTheBudgetIsTight) {
  Fan fan({1024, 1024});
  ScheduleOptions options;
  options.parallel = false;
  const std::int64_t least = fan.plan(options)->offsets.bytes;
  fan.problem.concurrent.resize(fan.branches.branches.size());
  fan.problem.concurrent[BranchId{1}] = {BranchId{2}};
  fan.problem.concurrent[BranchId{2}] = {BranchId{1}};
  EXPECT_GT(fan.plan(options)->offsets.bytes, least);
  options.budget = least;
  const auto tight = fan.plan(options);
  ASSERT_TRUE(tight) << tight.error().to_string();
  EXPECT_EQ(tight->offsets.bytes, least);
  options.budget = least - 1;
  EXPECT_FALSE(fan.plan(options));
}

TEST(MakePlan, SaysHowManyBytesAreMissing) {
  ScheduleOptions options = with_budget(1000);
  options.scratch_per_thread = 100;
  const Fan fan({6400, 640});
  ScheduleOptions sequential;
  sequential.parallel = false;
  const std::int64_t least = fan.plan(sequential)->offsets.bytes;
  const auto plan = fan.plan(options);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().stage, Stage::kSchedule);
  EXPECT_EQ(plan.error().code, ErrorCode::kBudgetExceeded);
  EXPECT_EQ(plan.error().message, "needs " + byte_text(least + 400) + ", budget 1000 bytes: " +
                                      byte_text(least - 600) + " missing");
  options.budget = least + 400;
  EXPECT_TRUE(fan.plan(options));
  options.budget = least + 399;
  EXPECT_FALSE(fan.plan(options));
  options.budget = -1;
  EXPECT_FALSE(fan.plan(options));
}

TEST(MakePlan, RefusesSumsBeyond63Bits) {
  const std::int64_t huge = std::int64_t{1} << 62;
  ScheduleOptions options;
  const auto plan = Fan({huge, huge}).plan(options);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kBudgetExceeded);
  options.scratch_per_thread = huge;
  options.threads = 4;
  EXPECT_EQ(Fan({64, 64}).plan(options).error().code, ErrorCode::kBudgetExceeded);
}

TEST(MakePlan, RefusesArgumentsThatDoNotBelongTogether) {
  const Fan fan({64, 64});
  const auto message = [](const Fan& f, const ScheduleOptions& options = {}) {
    const auto plan = f.plan(options);
    return plan || plan.error().code != ErrorCode::kInternal ? "" : plan.error().message;
  };
  Fan bad = fan;
  bad.groups.pop_back();
  EXPECT_THAT(message(bad), HasSubstr("per layer"));
  bad = fan;
  bad.groups[1].parallel.clear();
  EXPECT_THAT(message(bad), HasSubstr("is in no step"));
  bad = fan;
  bad.groups[0].parallel.push_back(bad.groups[0].sequential);
  EXPECT_THAT(message(bad), HasSubstr("is in two steps"));
  bad = fan;
  bad.problem.branch_length.push_back(1);
  EXPECT_THAT(message(bad), HasSubstr("these branches"));
  bad = fan;
  bad.problem.buffers[0].bytes = -1;
  EXPECT_THAT(message(bad), HasSubstr("-1 bytes"));
  ScheduleOptions options;
  options.threads = 0;
  EXPECT_THAT(message(fan, options), HasSubstr("these branches"));
}

TEST(MakePlan, EmptyGraph) {
  const BranchGraph branches = find_branches(CoarseDag{});
  const auto plan = make_plan(branches, {}, {}, with_budget(0));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->steps.empty());
  EXPECT_EQ(plan->figures.parallax, 0);
}

struct Sample {
  explicit Sample(unsigned seed) : random(seed) {
    const Dag dag = random_dag(seed);
    branches = find_branches(coarsen(dag));
    problem = random_problem(dag, branches, random);
    IdVector<BranchId, double> work;
    for (BranchId branch : branches.branches.ids()) {
      work.push_back(static_cast<double>(branches.branches[branch].size()));
    }
    groups = refine_by_time(branches, work);
    // Refinement groups little in graphs this small: join the remaining branches into wide steps.
    for (auto& layer : groups) {
      if (layer.sequential.size() < 2 || random.below(2) == 0) continue;
      layer.parallel.push_back(std::move(layer.sequential));
      layer.sequential.clear();
    }
    options.threads = 1 + random.below(4);
    options.scratch_per_thread = random.below(200);
  }
  Result<Plan> plan() const { return make_plan(branches, groups, problem, options); }
  std::int64_t scratch() const { return options.threads * options.scratch_per_thread; }

  RandomDag random;
  BranchGraph branches;
  MemoryProblem problem;
  std::vector<LayerGroups> groups;
  ScheduleOptions options;
};

/// Expects that waits include all dependencies, go from later steps to earlier ones, and alone make
/// offsets safe.
void check_waits(Sample& sample, const Plan& plan) {
  const std::size_t count = sample.branches.branches.size();
  RC_ASSERT(plan.waits.size() == count);
  const HappensBefore order(sample.problem, plan.waits);
  RC_ASSERT(!order.overlap(plan.offsets));
  for (int i = 0; i < 5; ++i) {
    RC_ASSERT(Execution(sample.problem, plan.offsets).run(plan.waits, sample.random));
  }
  IdVector<BranchId, std::size_t> step_of(count, 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (BranchId branch : plan.steps[i]) step_of[branch] = i;
  }
  for (BranchId branch : plan.waits.ids()) {
    for (BranchId before : plan.waits[branch]) RC_ASSERT(step_of[before] < step_of[branch]);
    for (BranchId before : sample.branches.predecessors[branch]) {
      RC_ASSERT(order.before(before, branch));
    }
  }
}

void check_plan(Sample& sample, const Plan& plan) {
  RC_ASSERT(check_offsets(sample.problem, plan.steps, plan.offsets).has_value());
  RC_ASSERT(!HappensBefore(sample.problem, plan.steps).overlap(plan.offsets));
  for (int i = 0; i < 3; ++i) {
    RC_ASSERT(Execution(sample.problem, plan.offsets).run(plan.steps, sample.random));
  }
  // A branch runs after all that it depends on, with or without a tensor between them.
  IdVector<BranchId, int> step_of(sample.branches.branches.size(), -1);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (BranchId branch : plan.steps[i]) step_of[branch] = static_cast<int>(i);
    RC_ASSERT(static_cast<int>(plan.steps[i].size()) <=
              std::max(1, kBranchesPerThread * sample.options.threads));
  }
  for (BranchId branch : sample.branches.branches.ids()) {
    for (BranchId predecessor : sample.branches.predecessors[branch]) {
      RC_ASSERT(step_of[predecessor] < step_of[branch]);
    }
    const auto layer = plan.layer_of_step[static_cast<std::size_t>(step_of[branch])];
    const auto& members = sample.branches.layers[static_cast<std::size_t>(layer)];
    RC_ASSERT(std::count(members.begin(), members.end(), branch) == 1);
  }
  check_waits(sample, plan);
  const ArenaFigures& figures = plan.figures;
  RC_ASSERT(figures.parallax == plan.offsets.bytes);
  RC_ASSERT(figures.parallax <= figures.paper);
  for (std::int64_t bytes : {figures.greedy, figures.paper, figures.parallax}) {
    RC_ASSERT(bytes >= figures.lower_bound && bytes <= figures.naive);
  }
}

void check_every_budget(unsigned seed) {
  Sample sample(seed);
  const auto free = sample.plan();
  RC_ASSERT(free.has_value());
  check_plan(sample, *free);
  sample.options.parallel = false;
  const auto sequential = sample.plan();
  RC_ASSERT(sequential.has_value());
  check_plan(sample, *sequential);
  sample.options.parallel = true;

  // A plan exists if and only if the sequential one fits, and always keeps its guarantee.
  const std::int64_t least = sequential->offsets.bytes + sample.scratch();
  const std::int64_t enough = std::max(least, free->offsets.bytes + sample.scratch());
  const std::int64_t stride = 1 + (enough - least) / 12;
  for (std::int64_t budget = least - 1; budget <= enough + stride; budget += stride) {
    sample.options.budget = budget;
    const auto plan = sample.plan();
    RC_ASSERT(plan.has_value() == (std::max<std::int64_t>(budget, 0) >= least));
    if (!plan) continue;
    RC_ASSERT(plan->offsets.bytes + sample.scratch() <= std::max<std::int64_t>(budget, 0));
    check_plan(sample, *plan);
    if (budget >= enough) RC_ASSERT(plan->steps == free->steps);
  }
}

TEST(MakePlanProperty, PlansAreSafeForEveryBudget) { EXPECT_TRUE(rc::check(check_every_budget)); }

TEST(MakePlanProperty, PlansWithoutBytesFitEveryBudget) {
  // All tensors of this sample are empty, threads have no scratch; a budget below 0 counts as 0.
  EXPECT_TRUE(rc::check([] { check_every_budget(127332206); }));
}

TEST(MakePlanProperty, PlansLikeOthersAreSafe) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    Sample sample(seed);
    const auto first = sample.plan();
    RC_ASSERT(first.has_value());
    const MemoryProblem known = sample.problem;
    const PlanPattern pattern{*first, known};
    sample.options.like = &pattern;
    const auto same = sample.plan();
    RC_ASSERT(same && same->steps == first->steps);
    RC_ASSERT(same->offsets.bytes <= first->offsets.bytes);
    const int times = 1 + sample.random.below(4);
    for (Buffer& buffer : sample.problem.buffers) {
      buffer.bytes *= times;
      if (sample.random.below(8) == 0) buffer.bytes = sample.random.below(12 * 64);
    }
    const auto other = sample.plan();
    RC_ASSERT(other.has_value());
    check_plan(sample, *other);
    RC_ASSERT(other->offsets.bytes <= other->figures.paper);
    sample.options.explain = false;
    const auto quick = sample.plan();
    RC_ASSERT(quick && quick->steps == other->steps);
    RC_ASSERT(std::equal(quick->waits.begin(), quick->waits.end(), other->waits.begin()));
    RC_ASSERT(quick->offsets.offset == other->offsets.offset);
    RC_ASSERT(quick->figures.parallax == other->figures.parallax);
  }));
}

TEST(MakePlan, LikeAPlanOfOtherBranchesMeansNothing) {
  const Fan small({64, 64}), large({640, 640, 640});
  const auto known = small.plan({});
  ASSERT_TRUE(known);
  const PlanPattern pattern{*known, small.problem};
  ScheduleOptions options;
  const auto plain = large.plan(options);
  options.like = &pattern;
  const auto like = large.plan(options);
  ASSERT_TRUE(plain && like);
  EXPECT_EQ(like->steps, plain->steps);
  EXPECT_EQ(like->offsets.offset, plain->offsets.offset);
}

TEST(MakePlanProperty, Deterministic) {
  EXPECT_TRUE(rc::check([](unsigned seed) {
    const auto a = Sample(seed).plan(), b = Sample(seed).plan();
    RC_ASSERT(a.has_value() && b.has_value());
    RC_ASSERT(a->steps == b->steps);
    RC_ASSERT(a->offsets.offset == b->offsets.offset);
  }));
}

}  // namespace
}  // namespace parallax
