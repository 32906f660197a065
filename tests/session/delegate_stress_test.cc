// Runs of random graphs on a delegate that fails, falls silent and answers twice at random, while
// callers cancel: what ends has the CPU's bits, and nothing is left.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "delegate_host/test_delegate_util.h"
#include "parallax/session.h"
#include "session/canceller_test_util.h"
#include "session/random_graph_test_util.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

constexpr int kRunsOfOneGraph = 300;

void plant_fault(TestFaults& faults, Session& session, unsigned dice) {
  std::atomic<int>* const counts[] = {&faults.fail_run,      &faults.fail_copy,
                                      &faults.refuse_run,    &faults.refuse_bind,
                                      &faults.refuse_memory, &faults.refuse_compile};
  if (dice < 6) {
    *counts[dice] = 1;
  } else if (dice < 8) {
    faults.twice = dice == 6;
  } else if (dice < 10) {
    faults.at_once = dice == 8;
  } else if (dice == 10) {
    faults.silent = true;
  } else if (dice < 14) {
    faults.silent = false;
    faults.answer_held();
  } else if (dice < 30) {
    session.retry_delegates();
  }
}

/// A runtime, a session, and what it should give.
class StressRound {
 public:
  StressRound(TestFaults& faults, const px_delegate& table, unsigned seed)
      : random_(seed),
        faults_(faults),
        run_time_sizes_(seed % 3 == 0),
        text_(RandomGraph(random_, run_time_sizes_).text()) {
    faults_.own_memory = random_() % 2 == 0;
    faults_.host_sees_it = random_() % 2 == 0;
    runtime_ = *Runtime::create({.threads = 2});
    impl_of(*runtime_).delegates.add(&table);
    const Scheduler schedulers[] = {Scheduler::kSequential, Scheduler::kLayers,
                                    Scheduler::kDataflow};
    options_.scheduler = schedulers[random_() % 3];
    options_.threads = 1 + static_cast<int>(random_() % 2);
    oracle_ = *Session::create(model_of(text_), options_, *runtime_);
    options_.delegates = {"test"};
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    options_.delegate_time_limit_ms = 20;
    session_ = *Session::create(model_of(text_), options_, *runtime_);
  }

  void run_callers(int callers, int runs) {
    std::vector<std::thread> threads;
    for (int caller = 0; caller < callers; ++caller)
      threads.emplace_back([this, runs, seed = random_()] {
        std::minstd_rand random(seed);
        for (int i = 0; i < runs; ++i) run_once(random);
      });
    for (std::thread& thread : threads) thread.join();
    faults_.silent = false;
    faults_.answer_held();
  }

  std::atomic<int> in_bodies{0};  ///< regions that the delegate has run in bodies

 private:
  void run_once(std::minstd_rand& random) {
    plant_fault(faults_, *session_, random() % 60);
    const auto rows = 1 + static_cast<std::int64_t>(random() % 6);
    RandomInput input(random, run_time_sizes_, rows);
    Canceller canceller(random);
    RunTrace trace;
    RunTrace* const traced = random() % 2 == 0 ? &trace : nullptr;
    const auto got = session_->run(input.views(), {.trace = traced, .stop = canceller.token()});
    for (const RegionEvent& event : trace.regions)
      if (!event.body.empty() && event.problem.empty()) ++in_bodies;
    const bool may_be_cancelled = canceller.join();
    // The caller's memory is his again: a device that still reads it finds other numbers.
    const RandomInput kept = input;
    input.x.assign(input.x.size(), 1e30F);
    if (!got) {
      EXPECT_EQ(got.error().code, ErrorCode::kCancelled) << got.error().to_string();
      EXPECT_TRUE(may_be_cancelled);
      return;
    }
    const auto wanted = oracle_->run(kept.views());
    ASSERT_TRUE(wanted) << wanted.error().to_string();
    EXPECT_EQ(floats_of(*got), floats_of(*wanted)) << text_;
  }

  std::minstd_rand random_;
  TestFaults& faults_;
  const bool run_time_sizes_;
  const std::string text_;
  std::optional<Runtime> runtime_;
  SessionOptions options_;
  std::optional<Session> oracle_, session_;
};

TEST(DelegateStress, RandomFaultsCancellationsAndShapes) {
  WithFaults faults;
  faults.profile.replace(faults.profile.find("\"Exp\", "), 7, "");
  faults.profile.replace(faults.profile.find("dtypes"), 6, "dynamic_shapes = true\ndtypes");
  const px_delegate table = test_delegate();
  const int runs = stress_runs();
  int in_bodies = 0;
  for (int done = 0, round = 1; done < runs; done += kRunsOfOneGraph, ++round) {
    StressRound one(faults, table, static_cast<unsigned>(round));
    one.run_callers(3, kRunsOfOneGraph / 3);
    in_bodies += one.in_bodies;
    if (testing::Test::HasFailure()) FAIL() << "round " << round;
  }
  faults.answer_held();
  for (int i = 0; i < 5000 && faults.closed != faults.opened; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(faults.closed, faults.opened);
  EXPECT_EQ(faults.regions, 0);
  EXPECT_EQ(faults.bindings, 0);
  EXPECT_EQ(faults.pieces, 0);
  EXPECT_GT(faults.runs, runs / 4) << "the delegate had next to nothing to do";
  EXPECT_GT(in_bodies, runs / 20) << "nor in bodies";
}

}  // namespace
}  // namespace parallax
