// A soak: runs of random graphs by 1 to 4 callers on the built-in delegates and one that lies,
// alone and together, under random budgets, with cancellations and children of fork(). Each output
// has the CPU's numbers, budgets hold, and nothing is left.
//
// PARALLAX_STRESS_RUNS: how many runs. PARALLAX_STRESS_ROUND: only that round, as failures name it.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/machine/fork.h"
#include "parallax/session.h"
#include "session/lying_delegate_test_util.h"
#include "session/random_graph_test_util.h"
#include "session/runtime_impl.h"
#include "session/session_impl.h"
#include "session/session_test_util.h"
#include "session/threads_test_util.h"

namespace parallax {
namespace {

constexpr int kRunsOfOneRound = 60;
constexpr unsigned kMaxSoakRows = 24;
constexpr int kChild = 99;  ///< what a child ends with where all is well: never by accident

using Numbers = std::vector<std::vector<float>>;

/// Waits for what threads of a delegate still do; no result depends on how long that takes.
template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;  // asked again it may be false
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

/// What a run gave, and what it should still be when the next one has ended.
struct LastRun {
  std::vector<Tensor> outputs;
  Numbers wanted;
};

/// A runtime, a session with delegates, one without, and what they share.
class SoakRound {
 public:
  struct Machine {
    bool has_opencl, has_threads_in_children;
  };
  SoakRound(unsigned number, Machine machine)
      : random_(number * 7919),
        machine_(machine),
        opencl_(machine.has_opencl && number % 8 == 3),
        run_time_sizes_(!opencl_ && random_() % 3 == 0),
        callers_(1 + static_cast<int>(random_() % 4)),
        lies_(number, random_() % 4 == 0 ? random_() % Lies::kTables : 0),
        table_(lying_delegate(lies_.wrong_table)),
        text_(RandomGraph(random_, run_time_sizes_).text()),
        model_(model_of(text_)) {
    lies_.profile.replace(lies_.profile.find("\"Exp\", "), 7, "");
    lies_.profile.replace(lies_.profile.find("dtypes"), 6, "dynamic_shapes = true\ndtypes");
    lies_.own_memory = random_() % 2 == 0;
    lies_.host_sees_it = random_() % 2 == 0;
    lies_.microseconds = static_cast<int>(random_() % 200);
    runtime_ = runtime();
    draw_options();
    oracle_ = *Session::create(model_, cpu_options(), *runtime_);
    limit_memory();
    session_ = *Session::create(model_, options_, *runtime_);
    what_ = fmt::format(
        "PARALLAX_STRESS_ROUND={}: {} callers, delegates {}, wrong table {}, budget {}, {}\n{}",
        number, callers_, fmt::join(options_.delegates, " "), lies_.wrong_table,
        options_.budget.kind == MemoryBudget::Kind::kBytes ? options_.budget.bytes : -1,
        lies_.own_memory ? "own memory" : "host memory", text_);
  }

  void run(int runs) {
    std::vector<std::thread> threads;
    for (int caller = 0; caller < callers_; ++caller)
      threads.emplace_back([this, runs, seed = static_cast<unsigned>(random_())] {
        std::minstd_rand random(seed);
        std::optional<LastRun> last;
        for (int i = 0; i < (runs + callers_ - 1) / callers_; ++i) run_once(random, last);
        check(last);
      });
    if (machine_.has_threads_in_children) {
      const RandomInput input(random_, run_time_sizes_, rows_of(random_));
      check_child("beside runs", [&] { return run_beside(input); });
    }
    for (std::thread& thread : threads) thread.join();
    if (machine_.has_threads_in_children) {
      const RandomInput input(random_, run_time_sizes_, rows_of(random_));
      const Numbers wanted = floats_of(*oracle_->run(input.views()));
      check_child("after runs", [&] { return run_in_child(input, wanted); });
    }
  }

  /// Answers what the delegate kept for itself, and checks that nothing is left.
  void end() {
    lies_.answer_held();
    if (options_.budget.kind == MemoryBudget::Kind::kBytes) {
      EXPECT_LE(session_->peak_arena_bytes(), options_.budget.bytes) << what_;
    }
    const std::shared_ptr<MemoryAccount> account = impl_of(*session_).account;
    if (lies_.keeps_answers) run_most();
    session_.reset();
    oracle_.reset();
    account->trim();
    EXPECT_TRUE(comes_true([&] { return account->memory.held_bytes() == 0; }))
        << account->memory.held_bytes() << " bytes are left\n"
        << what_;
    runtime_.reset();
    EXPECT_TRUE(comes_true([&] { return lies_.closed == lies_.opened; })) << what_;
    EXPECT_EQ(lies_.regions, 0) << what_;
    EXPECT_EQ(lies_.bindings, 0) << what_;
    EXPECT_EQ(lies_.pieces, 0) << what_;
  }

  int runs_of_liar() const { return lies_.runs; }
  std::atomic<int> built_in{0};  ///< regions that other delegates ran

 private:
  Runtime runtime() const {
    Runtime made = *Runtime::create({.threads = 2, .log = [](LogLevel, std::string_view) {}});
    impl_of(made).delegates.add(&table_);
    return made;
  }

  void draw_options() {
    const Scheduler schedulers[] = {Scheduler::kSequential, Scheduler::kLayers,
                                    Scheduler::kDataflow};
    options_.scheduler = schedulers[random_() % 3];
    options_.threads = 1 + static_cast<int>(random_() % 2);
    options_.co_execution = random_() % 3 == 0;
    options_.offload = options_.co_execution ? Offload::kProfitable : Offload::kAll;
    options_.rates = Rates::kDeclared;
    // Patient where each lie is answered in time, so that no memory stays with a device.
    lies_.keeps_answers = random_() % 2 == 0;
    options_.delegate_time_limit_ms = lies_.keeps_answers ? 20 : 600'000;
    if (opencl_) options_.delegates.emplace_back("opencl");
    const unsigned others = random_() % 4;
    if (others != 0) options_.delegates.emplace_back("liar");
    if (others != 1) options_.delegates.emplace_back("cores");
    std::shuffle(options_.delegates.begin(), options_.delegates.end(), random_);
  }

  SessionOptions cpu_options() const {
    SessionOptions alone = options_;
    alone.delegates.clear();
    return alone;
  }

  /// To no limit, or to what the CPU needs alone for the most rows and a random part more.
  void limit_memory() {
    if (random_() % 4 == 0) return;
    Session alone = *Session::create(model_, cpu_options(), *runtime_);
    for (int i = 0; i < 8; ++i) {
      RandomInput input(random_, run_time_sizes_, kMaxSoakRows);
      for (float& number : input.x) number = number == 0 ? 1 : number;
      if (!alone.run(input.views())) ADD_FAILURE() << text_;
    }
    const std::int64_t percents[] = {100, 110, 150, 200, 250, 400, 1000};
    options_.budget =
        MemoryBudget::of_bytes(alone.peak_arena_bytes() * percents[random_() % 7] / 100);
  }

  /// What failed while a device kept memory works afterwards.
  void run_most() {
    lies_.one_in = 0;
    lies_.answer_held();
    const RandomInput input(random_, run_time_sizes_, opencl_ ? 5 : kMaxSoakRows);
    const auto got = session_->run(input.views());
    if (!got) {
      EXPECT_TRUE(may_fail(got.error(), false)) << got.error().to_string() << what_;
      return;
    }
    EXPECT_EQ(floats_of(*got), floats_of(*oracle_->run(input.views()))) << what_;
  }

  std::int64_t rows_of(std::minstd_rand& random) const {
    // A driver of OpenCL compiles for each size.
    return opencl_ ? 1 + 4 * static_cast<std::int64_t>(random() % 2)
                   : 1 + static_cast<std::int64_t>(random() % kMaxSoakRows);
  }

  void check(const std::optional<LastRun>& last) const {
    if (last) {
      EXPECT_EQ(floats_of(last->outputs), last->wanted) << what_;
    }
  }

  void disturb(std::minstd_rand& random) {
    const auto dice = random() % 40;
    if (dice < 6) session_->retry_delegates();
    if (dice == 6) session_->trim();
    if (dice == 7) lies_.answer_held();
  }

  /// Whether a run may fail with `error`: one that was cancelled, and one for which a device that
  /// owes an answer leaves too little.
  bool may_fail(const Error& error, bool may_be_cancelled) const {
    if (error.code == ErrorCode::kCancelled) return may_be_cancelled;
    return error.code == ErrorCode::kBudgetExceeded && lies_.keeps_answers;
  }

  /// Whether it failed because of memory that devices give back soon: they owe answers to runs that
  /// were cancelled.
  bool is_owed(const Result<std::vector<Tensor>>& got) const {
    return !got && got.error().code == ErrorCode::kBudgetExceeded && any_cancelled_ &&
           !lies_.keeps_answers;
  }

  void run_once(std::minstd_rand& random, std::optional<LastRun>& last) {
    disturb(random);
    RandomInput input(random, run_time_sizes_, rows_of(random));
    std::stop_source stop;
    std::thread canceller;
    if (random() % 8 == 0)
      canceller = std::thread([this, stop, wait = random() % 400]() mutable {
        std::this_thread::sleep_for(std::chrono::microseconds(wait));
        any_cancelled_ = true;  // before others can see what a device owes for it
        stop.request_stop();
      });
    RunTrace trace;
    RunTrace* const traced = random() % 2 == 0 ? &trace : nullptr;
    const auto run = [&] {
      return session_->run(input.views(), {.trace = traced, .stop = stop.get_token()});
    };
    auto got = run();
    if (is_owed(got)) {
      EXPECT_TRUE(comes_true([&] { return !is_owed(got = run()); })) << what_;
    }
    const bool may_be_cancelled = canceller.joinable();
    if (may_be_cancelled) canceller.join();
    for (const RegionEvent& event : trace.regions)
      if (event.delegate != "liar" && event.problem.empty()) ++built_in;
    check(last);
    last.reset();
    const RandomInput kept = input;
    // The caller's memory is his again: a device that still reads it finds other numbers.
    input.x.assign(input.x.size(), 1e30F);
    if (!got) {
      EXPECT_TRUE(may_fail(got.error(), may_be_cancelled)) << got.error().to_string() << '\n'
                                                           << what_;
      return;
    }
    const auto wanted = oracle_->run(kept.views());
    ASSERT_TRUE(wanted) << wanted.error().to_string();
    last = {*std::move(got), floats_of(*wanted)};
    check(last);
  }

  void check_child(const char* when, const std::function<int()>& steps) const {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kPatienceOfChildren);
      ::_exit(steps());
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << when << ", signal " << WTERMSIG(status) << '\n' << what_;
    EXPECT_EQ(WEXITSTATUS(status), kChild) << when << '\n' << what_;
  }

  /// In a child that was forked while other threads may have been in calls.
  int run_beside(const RandomInput& input) {
    const auto got = session_->run(input.views());
    return got || got.error().code == ErrorCode::kUnsupported || may_fail(got.error(), false)
               ? kChild
               : 1;
  }

  /// What the parent made, and what the child makes itself, of its delegates too.
  int run_in_child(const RandomInput& input, const Numbers& wanted) {
    if (forked_during_call()) return kChild;  // a thread of a delegate was just then in a call
    auto got = session_->run(input.views());
    if (!got && !may_fail(got.error(), false)) return 1;
    if (got && floats_of(*got) != wanted) return 2;
    options_.budget = {};
    const Runtime own = runtime();
    auto session = Session::create(model_, options_, own);
    if (!session) return 3;
    for (int i = 0; i < 2; ++i) {
      got = session->run(input.views());
      if (!got) return 4;
      if (floats_of(*got) != wanted) return 5;
    }
    for (const DelegateReport& report : session->delegates())
      if (report.name == "opencl" && report.problem.empty()) return 6;
    return kChild;
  }

  std::minstd_rand random_;
  const Machine machine_;
  const bool opencl_, run_time_sizes_;
  const int callers_;
  std::atomic<bool> any_cancelled_{false};
  Lies lies_;
  const px_delegate table_;
  const std::string text_;
  const Model model_;
  std::string what_;
  std::optional<Runtime> runtime_;
  SessionOptions options_;
  std::optional<Session> oracle_, session_;
};

SoakRound::Machine this_machine() {
  const Runtime runtime = *Runtime::create({.threads = 1});
  return {impl_of(runtime).delegates.open("opencl").has_value(), child_has_threads()};
}

TEST(DelegateSoak, RandomLiesCallersBudgetsAndChildren) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment
  const char* const only = std::getenv("PARALLAX_STRESS_ROUND");
  if (only == nullptr && !stress_runs_are_set())
    GTEST_SKIP() << "`make nightly` sets PARALLAX_STRESS_RUNS";
  const SoakRound::Machine machine = this_machine();
  const int runs = only == nullptr ? stress_runs() : kRunsOfOneRound;
  int of_liar = 0, of_others = 0;
  unsigned number = only == nullptr ? 1 : static_cast<unsigned>(std::atoi(only));
  for (int done = 0; done < runs; done += kRunsOfOneRound, ++number) {
    SoakRound round(number, machine);
    round.run(kRunsOfOneRound);
    round.end();
    of_liar += round.runs_of_liar();
    of_others += round.built_in;
    if (testing::Test::HasFailure()) FAIL() << "round " << number;
  }
  if (only != nullptr) return;
  EXPECT_GT(of_liar, runs / 4) << "the liar had next to nothing to do";
  EXPECT_GT(of_others, runs / 10) << "nor had others";
}

}  // namespace
}  // namespace parallax
