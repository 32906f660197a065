// Sessions that time their delegate, learn from its runs, and keep plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "cache/test_folder.h"
#include "delegate_host/test_delegate_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Two regions of the test delegate, the CPU between and beside them.
constexpr std::string_view kParts = R"(
    symbols n
    input x f32 [n, 64]
    a = Neg(x) @a
    b = Exp(a) @b
    c = Tanh(b) @c
    t = Tanh(x) @t
    d = Add(c, t) @d
    e = Abs(d) @e
    output e, b)";

class MeasuredRatesTest : public FolderTest {
 protected:
  MeasuredRatesTest() {
    options_.delegates = {"test"};
    options_.threads = 1;
    // The machine may be busy.
    options_.delegate_time_limit_ms = 60'000;
  }

  Runtime runtime(bool keeps = true) {
    RuntimeOptions options;
    options.threads = 1;
    if (keeps) options.cache = folder_;
    options.log = [this](LogLevel, auto line) {
      const std::lock_guard lock(lines_mutex_);
      lines_.emplace_back(line);
    };
    const Runtime runtime = *Runtime::create(options);
    impl_of(runtime).delegates.add(&table_);
    impl_of(runtime).rates.set_rules({.limit = std::chrono::seconds(60), .most_spread = 1e9});
    return runtime;
  }
  /// The CPU takes 1 ms, or `cpu_seconds`, for each node, the delegate next to nothing.
  static void assume_it_is_fast(const Runtime& runtime, double cpu_seconds = 1e-3,
                                const std::string& name = "test") {
    const auto opened = *impl_of(runtime).delegates.open(name);
    Calibration calibration;
    calibration.launch_seconds = 1e-6;
    for (const WorkKind kind : {WorkKind::kElementwise, WorkKind::kFunction})
      calibration.samples.push_back({kind, 1e-6, cpu_seconds, 1e-6});
    impl_of(runtime).rates.of(*opened, 1)->assume(calibration);
  }
  /// How many regions the delegate ran.
  int run(Session& session, std::int64_t rows = 4) {
    const std::vector<float> x(static_cast<std::size_t>(rows) * 64, 0.5F);
    const NamedInput input{"x", {DType::kF32, {rows, 64}, std::as_bytes(std::span(x))}};
    RunTrace trace;
    const auto got = session.run({&input, 1}, {.trace = &trace});
    EXPECT_TRUE(got) << got.error().to_string();
    if (!got) return -1;
    EXPECT_NEAR((*got)[1].view().as<float>()[0], std::exp(-0.5F), 1e-6F);
    return static_cast<int>(trace.regions.size());
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  std::mutex lines_mutex_;
  std::vector<std::string> lines_;
  const Model model_ = model_of(kParts);
  SessionOptions options_;
};

TEST_F(MeasuredRatesTest, ASlowDelegateGetsNothingAndIsTimedOnce) {
  faults_.microseconds = 3000;
  {
    const Runtime first = runtime();
    Session session = *Session::create(model_, options_, first);
    const DimValue n{"n", 4};
    const auto plan = Planner(session).plan({&n, 1});
    ASSERT_TRUE(plan) << plan.error().to_string();
    EXPECT_EQ(plan->regions, 0) << "what it says of itself is a lie";
    EXPECT_GT(plan->predicted_ms, 0);
    EXPECT_EQ(run(session), 0);
    EXPECT_GT(faults_.compiled, 0);
    EXPECT_THAT(lines_, Contains(HasSubstr("pieces of work on delegate 'test'")));
  }
  const int compiled = faults_.compiled;
  const Runtime second = runtime();
  Session session = *Session::create(model_, options_, second);
  EXPECT_EQ(run(session), 0);
  EXPECT_EQ(faults_.compiled, compiled);
  Session other = *Session::create(model_, options_, second);
  EXPECT_EQ(run(other), 0);
  EXPECT_EQ(faults_.compiled, compiled);
  options_.rates = Rates::kDeclared;
  Session believer = *Session::create(model_, options_, second);
  EXPECT_EQ(run(believer), 2);
}

TEST_F(MeasuredRatesTest, NothingIsTimedWhereOneLaunchOutweighsTheModel) {
  faults_.profile.replace(faults_.profile.find("launch_seconds = 1e-6"), 21,
                          "launch_seconds = 0.01");
  const Runtime own = runtime();
  Session session = *Session::create(model_, options_, own);
  const DimValue n{"n", 4};
  const auto plan = Planner(session).plan({&n, 1});
  ASSERT_TRUE(plan) << plan.error().to_string();
  EXPECT_EQ(plan->regions, 0);
  EXPECT_GT(plan->predicted_ms, 0);
  EXPECT_EQ(run(session), 0);
  EXPECT_EQ(faults_.compiled, 0) << "the device was not needed to know that";
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  const DimValue many{"n", 300000};
  ASSERT_TRUE(Planner(session).plan({&many, 1}));
  EXPECT_GT(faults_.compiled, 0) << "a larger one may win";
}

TEST_F(MeasuredRatesTest, WithoutAFolderTheRuntimeKeepsThem) {
  const Runtime own = runtime(false);
  Session first = *Session::create(model_, options_, own);
  (void)run(first);
  const int compiled = faults_.compiled;
  EXPECT_GT(compiled, 0);
  Session second = *Session::create(model_, options_, own);
  (void)run(second);
  EXPECT_LE(faults_.compiled, compiled + 2) << "its regions at most";
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(MeasuredRatesTest, ProbesCountInTheBudget) {
  const Runtime own = runtime();
  faults_.at_once = true;
  options_.budget = MemoryBudget::of_bytes(20'000);
  for (const bool own_memory : {false, true}) {
    faults_.own_memory = own_memory;
    Session small = *Session::create(model_, options_, own);
    EXPECT_GE(run(small), 0) << "it goes by the description";
    EXPECT_LE(small.peak_arena_bytes(), options_.budget.bytes);
    EXPECT_THAT(lines_, Contains(HasSubstr("timing delegate 'test': ")));
    EXPECT_THAT(lines_, Contains(HasSubstr("than the memory budget of")));
  }
  EXPECT_TRUE(
      impl_of(own).rates.of(**impl_of(own).delegates.open("test"), 1)->known().samples.empty());
  options_.budget = {};
  // Nor does it know the launch, which may outweigh so small a model where the machine is busy.
  const Runtime other = runtime(false);
  Session free = *Session::create(model_, options_, other);
  EXPECT_GE(run(free), 0);
  EXPECT_GE(free.peak_arena_bytes(), 2 << 20) << "what large probes read and make";
}

TEST_F(MeasuredRatesTest, AFileOfGarbageIsReplaced) {
  {
    const Runtime first = runtime();
    Session session = *Session::create(model_, options_, first);
    (void)run(session);
  }
  for (const auto& file : std::filesystem::directory_iterator(folder_))
    write(file.path(), std::string("\x01\xff[[[\n", 6));
  const int compiled = faults_.compiled;
  const Runtime second = runtime();
  Session session = *Session::create(model_, options_, second);
  (void)run(session);
  EXPECT_GT(faults_.compiled, compiled);
  for (const auto& file : std::filesystem::directory_iterator(folder_))
    EXPECT_THAT(read(file.path()), HasSubstr("# Rates of a delegate"));
}

TEST_F(MeasuredRatesTest, ARegionThatLosesGoesBackAndSaysSo) {
  faults_.microseconds = 20000;
  {
    const Runtime own = runtime();
    assume_it_is_fast(own);
    Session session = *Session::create(model_, options_, own);
    EXPECT_EQ(run(session), 2);
    for (int i = 0; i < 5; ++i) (void)run(session);
    EXPECT_EQ(run(session), 0);
    ASSERT_EQ(session.delegates()[0].returned.size(), 2U);
    EXPECT_EQ(session.delegates()[0].returned[0].node, "a");
    EXPECT_THAT(session.delegates()[0].returned[0].reason,
                testing::MatchesRegex("runs took .* ms on it, the CPU is predicted to take .*"));
    EXPECT_TRUE(session.delegates()[0].failures.empty());
    EXPECT_THAT(lines_, Contains(HasSubstr("region of node 'a' moves from")));
    Session other = *Session::create(model_, options_, own);
    EXPECT_EQ(run(other), 0) << "sessions share what is known";
    EXPECT_EQ(run(other, 9), 2)
        << "of these sizes nothing is known, and it may take 4 times as long";
  }
  const Runtime next = runtime();
  Session later = *Session::create(model_, options_, next);
  EXPECT_EQ(run(later), 0) << "and so do processes";
}

TEST_F(MeasuredRatesTest, RegionsAndSplitsThatLoseGoBackUnderCoExecution) {
  faults_.microseconds = 20000;
  options_.co_execution = true;
  const Runtime own = runtime();
  assume_it_is_fast(own);
  Session session = *Session::create(model_, options_, own);
  EXPECT_GT(run(session), 0);
  int runs = 0;
  while (runs < 100 && run(session) > 0) ++runs;
  EXPECT_LT(runs, 100);
  EXPECT_THAT(lines_, Contains(HasSubstr("rows are no longer shared")));
  EXPECT_THAT(lines_, Contains(HasSubstr("region of node 'a' moves from")));
  for (int i = 0; i < 25; ++i) EXPECT_EQ(run(session), 0);
}

TEST_F(MeasuredRatesTest, TheNextDelegateGetsARegionThatLoses) {
  faults_.microseconds = 20000;
  WithFaults second{1};
  second.at_once = true;
  for (int i = 0; i < 2; ++i)  // of the profile and of its delegate
    second.profile.replace(second.profile.find("name = \"test\""), 13, "name = \"other\"");
  const px_delegate table = test_delegate<1>();
  const Runtime own = runtime();
  impl_of(own).delegates.add(&table);
  options_.delegates = {"test", "second"};
  assume_it_is_fast(own);
  assume_it_is_fast(own, 1e-3, "second");
  Session session = *Session::create(model_, options_, own);
  EXPECT_EQ(run(session), 2);
  EXPECT_EQ(second.runs, 0);
  for (int i = 0; i < 5; ++i) (void)run(session);
  const int before = faults_.runs;
  EXPECT_EQ(run(session), 2);
  EXPECT_EQ(faults_.runs, before);
  EXPECT_GT(second.runs, 0);
  ASSERT_EQ(session.delegates()[0].returned.size(), 2U);
  EXPECT_THAT(session.delegates()[0].returned[0].reason, HasSubstr("delegate 'second' gets it"));
  EXPECT_TRUE(session.delegates()[1].returned.empty());
}

/// A busy machine delays the region by milliseconds, never by as much as the CPU is said to take.
TEST_F(MeasuredRatesTest, ARegionThatWinsStays) {
  faults_.at_once = true;
  const Runtime own = runtime();
  assume_it_is_fast(own, 1000);
  Session session = *Session::create(model_, options_, own);
  for (int i = 0; i < 45; ++i) ASSERT_EQ(run(session), 2) << i;
  EXPECT_TRUE(session.delegates()[0].returned.empty());
}

TEST_F(MeasuredRatesTest, PredictionsFollowRuns) {
  const Runtime own = runtime();
  assume_it_is_fast(own);
  faults_.microseconds = 20000;
  options_.offload = Offload::kAll;
  Session session = *Session::create(model_, options_, own);
  const DimValue n{"n", 4};
  const auto before = Planner(session).plan({&n, 1});
  for (int i = 0; i < 12; ++i) EXPECT_EQ(run(session), 2) << "all of it, whatever it takes";
  const auto after = Planner(session).plan({&n, 1});
  ASSERT_TRUE(before && after);
  EXPECT_LT(before->predicted_ms, 10);
  EXPECT_GT(after->predicted_ms, 40) << "20 ms for each of two regions that follow each other";
  EXPECT_TRUE(session.delegates()[0].returned.empty());
}

TEST_F(MeasuredRatesTest, APinnedPlanStaysWhateverTheRatesSay) {
  const Runtime own = runtime();
  options_.pinned_plan = folder_ / "pinned.toml";
  options_.offload = Offload::kAll;
  {
    Session first = *Session::create(model_, options_, own);
    EXPECT_EQ(run(first), 2);
    EXPECT_EQ(run(first, 7), 2);
  }
  options_.offload = Offload::kProfitable;
  faults_.microseconds = 20000;
  {
    Session second = *Session::create(model_, options_, own);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(run(second), 2);
    EXPECT_EQ(run(second, 7), 2);
    EXPECT_EQ(run(second, 8), 0) << "no plan for these sizes is kept";
    EXPECT_TRUE(second.delegates()[0].returned.empty());
  }
  options_.offload = Offload::kAll;
  Session third = *Session::create(model_, options_, own);
  EXPECT_EQ(run(third, 8), 0) << "which then is";
}

TEST_F(MeasuredRatesTest, APinnedPlanThatDoesNotFitIsOneError) {
  const Runtime own = runtime();
  const auto file = folder_ / "pinned.toml";
  options_.pinned_plan = file;
  options_.offload = Offload::kAll;
  options_.rates = Rates::kDeclared;
  {
    Session first = *Session::create(model_, options_, own);
    EXPECT_EQ(run(first), 2);
  }
  const std::string kept = read(file);
  const Model other = model_of("input x f32 [2, 64]\ny = Neg(x)\noutput y");
  const auto of_other = Session::create(other, options_, own);
  ASSERT_FALSE(of_other);
  EXPECT_THAT(of_other.error().message, HasSubstr("keeps a plan of another model"));
  struct Row {
    std::string_view find, replace, message;
  };
  const std::vector<float> x(std::size_t{4} * 64);
  const NamedInput input{"x", {DType::kF32, {4, 64}, std::as_bytes(std::span(x))}};
  for (const Row& row :
       {Row{"\"a\"", "\"none\"", "there is no node 'none'"},
        Row{"\"a\"", "\"c\"", "does not run node 'c'"},
        Row{"\"a\"", "\"b\"", "node 'b' stands there twice"}, Row{"\"a\"", "\"e\"", "twice"}}) {
    std::string text = kept;
    ASSERT_NE(text.find(row.find), std::string::npos) << text;
    write(file, text.replace(text.find(row.find), row.find.size(), row.replace));
    Session session = *Session::create(model_, options_, own);
    const auto refused = session.run({&input, 1});
    ASSERT_FALSE(refused) << row.message;
    EXPECT_THAT(refused.error().message, HasSubstr(row.message));
    EXPECT_THAT(refused.error().message, HasSubstr(file.string()));
  }
  for (const std::string_view text : {"model = 1", "garbage", "delegate = \"x\"\nmodel = 3\n"}) {
    write(file, text);
    EXPECT_FALSE(Session::create(model_, options_, own)) << text;
  }
  options_.pinned_plan = folder_ / "none" / "p.toml";
  Session session = *Session::create(model_, options_, own);
  EXPECT_EQ(session.run({&input, 1}).error().code, ErrorCode::kIo);
  options_.delegates.clear();
  EXPECT_EQ(Session::create(model_, options_, own).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace parallax
