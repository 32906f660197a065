// Checks of how a delegate behaves, whatever it computes.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/c_types.h"
#include "base/mutex.h"
#include "checks.h"
#include "delegate_host/answers.h"
#include "process_memory.h"
#include "spy.h"

namespace parallax::conformance {
namespace {

constexpr int kThreads = 4, kRunsEach = 25, kCancelled = 50, kSizesBeside = 24;

Binding with_size(const Case& made, std::int64_t size) {
  Binding binding = made.bindings.front();
  for (auto& symbol : binding.symbols) symbol = size;
  return binding;
}

/// A region that is not tiny, of operators that the delegate has and, for free dimensions of that
/// size, does not refuse when asked; nullopt if there is no such region.
std::optional<Case> some_case(const UnderTest& test, int columns, std::int64_t size) {
  const auto runs = [&](const Case& made) {
    return ask_about_nodes(test, made.graph, with_size(made, size)).refusal.empty();
  };
  const std::string shape = fmt::format("symbols n\ninput x f32 [n, {}]\n", columns);
  const std::string weights =
      fmt::format("const w f32 [{}, 64] = fill 1\na = MatMul(x, w)\ny = $W(a)", columns);
  for (const std::string& text :
       {shape + weights, shape + "a = $W(x)\nb = $W(a)\ny = $W(b)", shape + "y = Softmax(x)"}) {
    auto made = simple_case(text, test.delegate->description(), test.options.seed);
    if (made && runs(*made)) return made;
  }
  // Whatever comes first.
  for (const auto& [op, limits] : test.delegate->description().operators)
    for (const DType dtype : limits.dtypes)
      for (Case& made : operator_cases(op, dtype, test.delegate->description(), test.options.seed))
        if (runs(made)) return std::move(made);
  return std::nullopt;
}

SuiteLine without_case(LineMaker& line) {
  line.problem("none of its operators is one of a case");
  SuiteLine result = line.take();
  result.outcome = Outcome::kNoCase;
  return result;
}

void take_what_was_seen(LineMaker& line) {
  for (const std::string& problem : take_problems()) line.problem(problem);
}

/// Ends the line: whether a new region still works, at that size.
SuiteLine with_next_run(UnderTest& test, const Case& made, std::int64_t size, LineMaker& line) {
  TestedRegion region(test.delegate, made.graph);
  const auto bound = region.bind(with_size(made, size));
  double off = 0;
  const std::string problem =
      bound ? check_run(test, *bound, test.options.seed, off) : bound.error().to_string();
  problem.empty() ? line.pass(off) : line.fail("the next run", problem, off);
  take_what_was_seen(line);
  return line.take();
}

/// Runs `bound[i % size]` on kThreads threads concurrently.
void run_on_threads(UnderTest& test, const std::vector<TestedBinding>& bound, LineMaker& line) {
  Mutex mutex;
  const auto work = [&](int thread, UnderTest copy) {
    const TestedBinding& mine = bound[static_cast<std::size_t>(thread) % bound.size()];
    for (int i = 0; i < kRunsEach; ++i) {
      double off = 0;
      const std::string problem = check_run(
          copy, mine, test.options.seed + static_cast<std::uint64_t>(100 * thread + i), off);
      const MutexLock lock(mutex);
      problem.empty() ? line.pass(off) : line.fail(fmt::format("thread {}", thread), problem, off);
      test.silent = test.silent || copy.silent;
      if (test.silent) return;
    }
  };
  const UnderTest before = test;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread, before);
  for (std::thread& thread : threads) thread.join();
}

/// Checks that a delegate reports an error if its own memory cannot be allocated.
void check_allocate(const UnderTest& test, LineMaker& line) {
  const OpenDelegate& delegate = *test.delegate;
  if (delegate.memory != PX_MEMORY_DEVICE) return;
  px_memory memory{};
  memory.size = sizeof memory;
  px_status status = no_status();
  // More than any machine has.
  const px_code code =
      delegate.table.functions.allocate(delegate.device, std::size_t{1} << 50, &memory, &status);
  (void)status_of(code, status);
  if (code == PX_OUT_OF_MEMORY) return line.pass();
  line.fail("allocate",
            code == PX_OK ? "gives 2^50 bytes" : "fails, but not with PX_OUT_OF_MEMORY");
  if (code == PX_OK) delegate.table.functions.release(delegate.device, memory.memory);
}

}  // namespace

SuiteLine check_runs_at_once(UnderTest& test) {
  LineMaker line("behaviour", "concurrent runs of one region");
  const auto made = some_case(test, 48, 33);
  if (!made) return without_case(line);
  TestedRegion region(test.delegate, made->graph);
  auto bound = region.bind(with_size(*made, 33));
  if (!bound) {
    line.fail("", bound.error().to_string());
  } else {
    run_on_threads(test, {*std::move(bound)}, line);
  }
  take_what_was_seen(line);
  return line.take();
}

SuiteLine check_regions_at_once(UnderTest& test) {
  LineMaker line("behaviour", "concurrent regions");
  std::vector<std::unique_ptr<TestedRegion>> regions;
  std::vector<Case> cases;
  for (int i = 0; i < kThreads; ++i) {
    auto made = some_case(test, 16 + 17 * i, 9 + 4 * i);
    if (!made) return without_case(line);
    regions.push_back(std::make_unique<TestedRegion>(test.delegate, made->graph));
    cases.push_back(*std::move(made));
  }
  std::vector<std::optional<Result<TestedBinding>>> results(regions.size());
  {
    // They are also compiled concurrently.
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < regions.size(); ++i)
      threads.emplace_back([&, i] {
        results[i] = regions[i]->bind(with_size(cases[i], 9 + 4 * static_cast<std::int64_t>(i)));
      });
  }
  std::vector<TestedBinding> bound;
  for (auto& result : results)
    *result ? bound.push_back(**std::move(result)) : line.fail("", result->error().to_string());
  if (!bound.empty()) run_on_threads(test, bound, line);
  take_what_was_seen(line);
  return line.take();
}

SuiteLine check_cancelled_runs(UnderTest& test) {
  LineMaker line("behaviour", "cancelled runs");
  const auto made = some_case(test, 128, 257);
  if (!made) return without_case(line);
  TestedRegion region(test.delegate, made->graph);
  const auto bound = region.bind(with_size(*made, 257));
  if (!bound) {
    line.fail("", bound.error().to_string());
    return line.take();
  }
  SpyWishes wishes{test.options.half ? px_dtype{PX_FLOAT16} : px_dtype{PX_FLOAT32}, false};
  const TensorBytes inputs = bound->inputs(test.options.seed);
  for (int i = 0; i < kCancelled; ++i) {
    std::stop_source stop;
    wishes.cancel = i % 2 == 0;
    wish(wishes);
    // The caller gives up sooner or later than the delegate answers; either is right.
    std::jthread later([&, i] {
      std::this_thread::sleep_for(std::chrono::microseconds(20 * i));
      stop.request_stop();
    });
    (void)bound->run(inputs, test.options.answer_time, stop.get_token());
  }
  wishes.cancel = false;
  wish(wishes);
  if (wait_for_answers(test.options.answer_time)) {
    line.pass();
  } else {
    test.silent = true;
    line.fail("", "a run that was cancelled is not answered");
  }
  take_what_was_seen(line);
  if (test.silent) return line.take();
  // A cancelled run counts as no failure of its region, but a delegate may say so of one that was
  // not: a new region shows whether it still works.
  return with_next_run(test, *made, 257, line);
}

SuiteLine check_missing_memory(UnderTest& test) {
  LineMaker line("behaviour", "memory that is not there");
  const Delegate& description = test.delegate->description();
  check_allocate(test, line);
  // Between small tensors one of 2^50 bytes.
  const std::string text =
      "symbols n\ninput x f32 [n, 1]\ninput x2 f32 [1, n]\na = Add(x, x2)\n"
      "const c i64 [1] = [1]\ny = ReduceSum(a, c)";
  if (auto made = simple_case(text, description, test.options.seed)) {
    TestedRegion region(test.delegate, made->graph);
    // A delegate that has no need of the large tensor may bind it.
    const auto bound = region.bind_only(with_size(*made, std::int64_t{1} << 24));
    const bool said = bound || bound.error().code == ErrorCode::kOutOfMemory ||
                      bound.error().code == ErrorCode::kUnsupported;
    said ? line.pass()
         : line.fail("bind",
                     "neither PX_OUT_OF_MEMORY nor PX_UNSUPPORTED: " + bound.error().to_string());
  }
  const auto made = some_case(test, 16, 9);
  if (!made) return without_case(line);
  return with_next_run(test, *made, 9, line);
}

SuiteLine check_changing_sizes(UnderTest& test) {
  LineMaker line("behaviour", "sizes that change while runs go on");
  const auto made = some_case(test, 48, 97);
  if (!made) return without_case(line);
  TestedRegion region(test.delegate, made->graph);
  const auto first = region.bind(with_size(*made, 17));
  std::atomic<bool> end{false};
  std::string meanwhile;
  const auto run_first = [&, copy = test]() mutable {
    double off = 0;
    while (!end && meanwhile.empty()) meanwhile = check_run(copy, *first, copy.options.seed, off);
  };
  std::optional<std::jthread> runs;
  first ? void(runs.emplace(run_first)) : line.fail("", first.error().to_string());
  for (int i = 0; i < kSizesBeside && first && !test.silent; ++i) {
    const std::int64_t size = 1 + i * 37 % 97;
    double off = 0;
    const auto bound = region.bind(with_size(*made, size));
    const std::string problem =
        bound ? check_run(test, *bound, test.options.seed, off) : bound.error().to_string();
    problem.empty() ? line.pass(off) : line.fail(fmt::format("size {}", size), problem, off);
  }
  end = true;
  runs.reset();
  if (!meanwhile.empty()) line.fail("the first size", meanwhile);
  take_what_was_seen(line);
  return line.take();
}

SuiteLine check_growth(UnderTest& test) {
  LineMaker line("behaviour", "compiling and discarding without growth");
  const auto made = some_case(test, 256, 3);
  if (!made) return without_case(line);
  const Binding binding = with_size(*made, 3);
  std::string problem;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count && problem.empty(); ++i) {
      TestedRegion region(test.delegate, made->graph);
      const auto bound = region.bind_only(binding);
      if (!bound) problem = bound.error().to_string();
    }
  };
  const int counted = test.options.growth_rounds;
  rounds(std::max(1, counted / 10));
  std::int64_t grown = 0;
  // Caches fill up and then stop: what grows a second time does not stop.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::int64_t before = resident_bytes();
    rounds(counted);
    grown = resident_bytes() - before;
    if (grown <= kGrowthBytes) break;
  }
  if (problem.empty() && grown > kGrowthBytes)
    problem = fmt::format("{} rounds take {} KiB, {} are allowed", counted, grown >> 10,
                          kGrowthBytes >> 10);
  problem.empty() ? line.pass() : line.fail("", problem);
  take_what_was_seen(line);
  return line.take();
}

}  // namespace parallax::conformance
