// Runs of random graphs on a delegate that fails, falls silent and answers twice at random, while
// callers cancel: what ends has the CPU's bits, and nothing is left.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "delegate/test_delegate_util.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

constexpr std::int64_t kStressColumns = 32;
constexpr int kRunsOfOneGraph = 300;

/// PARALLAX_STRESS_RUNS, which `make nightly` sets.
int stress_runs() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment
  const char* const text = std::getenv("PARALLAX_STRESS_RUNS");
  return text == nullptr ? 600 : std::max(1, std::atoi(text));
}

/// What `v0` is: the input, or rows of it, as many as it has elements that are not zero.
std::string stress_input(bool run_time_sizes) {
  if (!run_time_sizes)
    return fmt::format("symbols n\ninput v0 f32 [n, {}]\ninput c bool []\n", kStressColumns);
  return fmt::format(R"(symbols n
input x f32 [n, {}]
const axis i64 [] = [0]
found = NonZero(x)
rows = Gather(found, axis)
v0 = Gather(x, rows)
)",
                     kStressColumns);
}

/// A graph of operators whose results have the same bits everywhere, the delegate has half of them,
/// and of If and Loop with bodies like it, where running does not tell sizes. All values have one
/// shape.
class RandomGraph {
 public:
  RandomGraph(std::minstd_rand& random, bool run_time_sizes)
      : random_(random), run_time_sizes_(run_time_sizes) {}

  std::string text() {
    std::vector<std::string> seen = {"v0"};
    const std::string nodes = chain(seen, 4 + below(14), 0);
    return stress_input(run_time_sizes_) + nodes +
           fmt::format("output {}, {}\n", seen.back(), seen[seen.size() / 2]);
  }

 private:
  static constexpr std::string_view kShape = "f32 [n, 32]";
  static_assert(kStressColumns == 32);

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  const std::string& any(const std::vector<std::string>& seen) {
    return seen[static_cast<std::size_t>(below(static_cast<int>(seen.size())))];
  }

  std::string chain(std::vector<std::string>& seen, int nodes, int depth) {
    std::string text;
    for (int i = 0; i < nodes; ++i) {
      // Deep graphs more often than wide ones, so that regions have more than a node.
      const std::string x = below(3) == 0 ? any(seen) : seen.back(), y = any(seen);
      const std::string made = fmt::format("v{}", ++count_);
      const int kind = below(depth < 2 && !run_time_sizes_ ? 12 : 10);
      if (kind < 5) {
        const char* const one[] = {"Relu", "Neg", "Abs"};
        text += fmt::format("{0} = {1}({2}) @n{0}\n", made, one[below(3)], x);
      } else if (kind < 10) {
        const char* const two[] = {"Add", "Add", "Sub", "Max", "Min"};
        text += fmt::format("{0} = {1}({2}, {3}) @n{0}\n", made, two[below(5)], x, y);
      } else if (kind == 10) {
        text += fmt::format("{0} = If(c; {1}, {2}, c) @n{0}\n{3}{4}", made, x, y, body(depth, ""),
                            body(depth, ""));
      } else {
        text += fmt::format(
            "const trips_{0} i64 [] = [{1}]\n{0} = Loop(trips_{0}, _, {2}; {3}, c) @n{0}\n{4}",
            made, 1 + below(3), x, y, body(depth, "input i i64 []\ninput go bool []\n"));
      }
      seen.push_back(made);
    }
    return text;
  }

  /// Of an If, or of a Loop, which has `counters`.
  std::string body(int depth, std::string_view counters) {
    const std::string a = fmt::format("v{}", ++count_), b = fmt::format("v{}", ++count_);
    std::vector<std::string> seen = {a, b};
    const std::string nodes = chain(seen, 1 + below(5), depth + 1);
    return fmt::format(
        "body\nouter_symbols n\n{0}input {1} {2}\ninput {3} {2}\ninput c bool []\n{4}output "
        "{5}{6}\n"
        "end\n",
        counters, a, kShape, b, nodes, counters.empty() ? "" : "go, ", seen.back());
  }

  std::minstd_rand& random_;
  const bool run_time_sizes_;
  int count_ = 0;
};

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
    runtime_->impl()->delegates.add(&table);
    const Scheduler schedulers[] = {Scheduler::kSequential, Scheduler::kLayers,
                                    Scheduler::kDataflow};
    options_.scheduler = schedulers[random_() % 3];
    options_.threads = 1 + static_cast<int>(random_() % 2);
    oracle_ = *Session::create(model_of(text_), options_, *runtime_);
    options_.delegates = {"test"};
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDescribed;
    options_.delegate_time_limit_seconds = 0.02;
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
  static std::vector<std::vector<float>> floats(const std::vector<Tensor>& outputs) {
    std::vector<std::vector<float>> all;
    for (const Tensor& output : outputs) {
      const TensorView view = output.view();
      all.emplace_back(view.bytes.size() / sizeof(float));
      std::memcpy(all.back().data(), view.bytes.data(), view.bytes.size());
    }
    return all;
  }

  NamedInput first_input(const std::vector<float>& x) const {
    const auto rows = static_cast<std::int64_t>(x.size()) / kStressColumns;
    return {run_time_sizes_ ? "x" : "v0",
            {DType::kF32, {rows, kStressColumns}, std::as_bytes(std::span(x))}};
  }

  void run_once(std::minstd_rand& random) {
    plant_fault(faults_, *session_, random() % 60);
    const auto rows = 1 + static_cast<std::int64_t>(random() % 6);
    std::vector<float> x(static_cast<std::size_t>(rows * kStressColumns));
    // Of few elements that are not zero, or of none.
    const unsigned zeros = run_time_sizes_ ? 2 + random() % 40 : 0;
    for (float& number : x)
      number =
          zeros > 0 && random() % 41 < zeros ? 0 : static_cast<float>(random() % 1000) / 500 - 1;
    const std::byte condition{static_cast<unsigned char>(random() % 2)};
    std::vector<NamedInput> inputs = {first_input(x)};
    if (!run_time_sizes_) inputs.push_back({"c", {DType::kBool, {}, {&condition, 1}}});
    std::stop_source stop;
    std::thread canceller;
    if (random() % 8 == 0)
      canceller = std::thread([stop, wait = random() % 400]() mutable {
        std::this_thread::sleep_for(std::chrono::microseconds(wait));
        stop.request_stop();
      });
    RunTrace trace;
    RunTrace* const traced = random() % 2 == 0 ? &trace : nullptr;
    const auto got = session_->run(inputs, {.trace = traced, .stop = stop.get_token()});
    for (const RegionEvent& event : trace.regions)
      if (!event.body.empty() && event.problem.empty()) ++in_bodies;
    const bool may_be_cancelled = canceller.joinable();
    if (may_be_cancelled) canceller.join();
    // The caller's memory is his again: a device that still reads it finds other numbers.
    const std::vector<float> kept = std::exchange(x, std::vector<float>(x.size(), 1e30F));
    if (!got) {
      EXPECT_EQ(got.error().code, ErrorCode::kCancelled) << got.error().to_string();
      EXPECT_TRUE(may_be_cancelled);
      return;
    }
    inputs[0] = first_input(kept);
    const auto wanted = oracle_->run(inputs);
    ASSERT_TRUE(wanted) << wanted.error().to_string();
    EXPECT_EQ(floats(*got), floats(*wanted)) << text_;
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
