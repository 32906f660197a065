#include "run/execute.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "run/run_test_util.h"

namespace parallax {
namespace {

constexpr std::array kSchedulers = {Scheduler::kSequential, Scheduler::kLayers,
                                    Scheduler::kDataflow};

/// Four branches of three nodes that may run concurrently, between a splitter and a merger.
constexpr std::string_view kInception = R"(
    symbols n
    input x f32 [n, 64]
    s = Relu(x)
    a1 = Exp(s)
    a2 = Neg(a1)
    a3 = Sigmoid(a2)
    b1 = Tanh(s)
    b2 = Abs(b1)
    b3 = Sqrt(b2)
    c1 = Neg(s)
    c2 = Exp(c1)
    c3 = Relu(c2)
    d1 = Sigmoid(s)
    d2 = Tanh(d1)
    d3 = Exp(d2)
    e = Add(a3, b3)
    f = Add(c3, d3)
    y = Mul(e, f)
    output y)";

std::vector<float> ramp(std::size_t count) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<float>(i % 97) / 50.0F - 0.3F;
  return result;
}

TEST(Execute, SameBitsUnderEveryPlan) {
  const auto context = context_of(kInception);
  const std::int64_t n = 700;
  const Inputs inputs = {bytes_of(ramp(static_cast<std::size_t>(n) * 64))};
  for (const bool reference_only : {true, false}) {
    const auto oracle = run_twice(
        context, inputs, {.symbols = {n}, .reference_only = reference_only, .parallel = false});
    ASSERT_TRUE(oracle) << oracle.error().to_string();
    const auto expected = values<float>((*oracle)[0]);
    for (const Scheduler scheduler : kSchedulers) {
      const bool parallel = scheduler != Scheduler::kSequential;
      for (const int threads : {1, 2, 3, 8}) {
        for (const std::int64_t extra : {-1, 0, 100'000}) {
          std::int64_t peak = 0;
          Settings settings{.symbols = {n},
                            .reference_only = reference_only,
                            .parallel = parallel,
                            .threads = threads,
                            .scheduler = scheduler,
                            .peak = &peak};
          const auto sequential = program_of(context, {.symbols = {n},
                                                       .reference_only = reference_only,
                                                       .parallel = false,
                                                       .threads = threads});
          ASSERT_TRUE(sequential);
          if (extra >= 0) settings.budget = (*sequential)->bytes + extra;
          const auto outcome = run_twice(context, inputs, settings);
          ASSERT_TRUE(outcome) << outcome.error().to_string();
          EXPECT_EQ(values<float>((*outcome)[0]), expected)
              << parallel << ' ' << threads << ' ' << extra;
          if (settings.budget) {
            EXPECT_LE(peak, *settings.budget);
          }
        }
      }
    }
  }
}

/// Makes a random graph of elementwise nodes, views and joins over vectors of 40 elements.
std::string random_graph() {
  std::string text =
      "input v0 f32 [40]\nconst column i64 [2] = [40, 1]\nconst row i64 [1] = [40]\n";
  const int nodes = *rc::gen::inRange(1, 40);
  for (int i = 1; i <= nodes; ++i) {
    // Mostly chains, so that branches are long enough to run concurrently.
    const auto any = [&] { return fmt::format("v{}", *rc::gen::inRange(std::max(0, i - 6), i)); };
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        text += fmt::format("v{} = Add({}, {})\n", i, any(), any());
        break;
      case 1:
        text += fmt::format("w{} = Reshape({}, column)\nv{} = Reshape(w{}, row)\n", i, any(), i, i);
        break;
      case 2:
        text += fmt::format("v{} = Tanh({})\n", i, any());
        break;
      default:
        text += fmt::format("v{} = Neg({})\n", i, any());
    }
  }
  text += fmt::format("output v{}", nodes);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    text += fmt::format(", v{}", *rc::gen::inRange(0, nodes + 1));
  return text;
}

RC_GTEST_PROP(Execute, RandomGraphsGiveTheSameBitsUnderEveryPlan, ()) {
  const auto context = context_of(random_graph());
  const Inputs inputs = {bytes_of(ramp(40))};
  const auto oracle = run_twice(context, inputs, {.parallel = false});
  RC_ASSERT(oracle.has_value());
  std::int64_t peak = 0;
  Settings settings{.reference_only = false,
                    .parallel = *rc::gen::arbitrary<bool>(),
                    .threads = *rc::gen::element(1, 2, 3, 8),
                    .scheduler = *rc::gen::elementOf(kSchedulers),
                    .peak = &peak};
  const auto tight = program_of(
      context, {.reference_only = false, .parallel = false, .threads = settings.threads});
  RC_ASSERT(tight.has_value());
  if (*rc::gen::arbitrary<bool>())
    settings.budget = (*tight)->bytes + *rc::gen::inRange<std::int64_t>(0, 1000);
  const auto one_thread = run_twice(context, inputs, {.reference_only = false, .parallel = false});
  const auto outcome = run_twice(context, inputs, settings);
  RC_ASSERT(one_thread.has_value() && outcome.has_value());
  for (std::size_t i = 0; i < outcome->size(); ++i) {
    RC_ASSERT(values<float>((*outcome)[i]) == values<float>((*one_thread)[i]));
    const auto expected = values<float>((*oracle)[i]);
    const auto got = values<float>((*outcome)[i]);
    for (std::size_t k = 0; k < got.size(); ++k)
      RC_ASSERT(std::abs(got[k] - expected[k]) <= 1e-5F * (1 + std::abs(expected[k])));
  }
  if (settings.budget) RC_ASSERT(peak <= *settings.budget);
}

TEST(Execute, BranchesOfAStepRunAtOnce) {
  const auto program = program_of(context_of(kInception), {.symbols = {100}, .threads = 2});
  ASSERT_TRUE(program);
  EXPECT_GE((*program)->plan.max_branches, 2);
}

TEST(Execute, BudgetSweepNeverExceedsAndSaysWhatIsMissing) {
  const auto context = context_of(kInception);
  const Inputs inputs = {bytes_of(ramp(200 * 64))};
  const auto roomy = program_of(context, {.symbols = {200}, .threads = 3});
  ASSERT_TRUE(roomy);
  int fitting = 0;
  for (std::int64_t budget = 0; budget <= (*roomy)->bytes + 64; budget += 12'800) {
    std::int64_t peak = 0;
    const auto outcome = run_twice(
        context, inputs, {.symbols = {200}, .threads = 3, .budget = budget, .peak = &peak});
    if (outcome) {
      ++fitting;
      EXPECT_LE(peak, budget);
    } else {
      EXPECT_EQ(outcome.error().code, ErrorCode::kBudgetExceeded);
      EXPECT_THAT(outcome.error().message, testing::HasSubstr("missing"));
      EXPECT_EQ(fitting, 0) << "a larger budget fails where a smaller one was enough";
    }
  }
  EXPECT_GT(fitting, 0);
}

TEST(Execute, BranchesRunOneByOneOnceTheBudgetHasFallen) {
  const auto context = context_of(kInception);
  const Settings settings{.symbols = {200}, .threads = 3, .budget = std::int64_t{1} << 20};
  const auto program = program_of(context, settings);
  ASSERT_TRUE(program);
  ASSERT_GE((*program)->plan.max_branches, 2);
  const Inputs inputs = {bytes_of(ramp(200 * 64))};
  const auto expected = run_twice(context, inputs, settings);
  ASSERT_TRUE(expected);
  WorkerPool pool(3);
  RunMemory memory;
  for (int repeat = 0; repeat < 40; ++repeat) {
    const Scheduler scheduler = repeat % 2 == 0 ? Scheduler::kLayers : Scheduler::kDataflow;
    auto lease = memory.acquire({(*program)->bytes, settings.budget, false});
    ASSERT_TRUE(lease);
    std::atomic<int> readings = 0;
    BudgetWatch watch(
        *lease,
        [&] {
          ++readings;
          return RunBudget{(*program)->bytes - 1, true};
        },
        true, std::chrono::nanoseconds(0));
    Tensor output;
    const PlaceOutput place = [&](int, DType dtype, const Dims& dims) -> Result<std::byte*> {
      PX_ASSIGN(output, Tensor::allocate(dtype, dims));
      return output.mutable_view().bytes.data();
    };
    RunTrace trace;
    const std::byte* const input = inputs[0].data();
    ASSERT_TRUE(execute(**program, std::span(&input, 1), place, pool, *lease,
                        {false, &trace, &watch, scheduler}));
    EXPECT_GE(readings, 1);
    EXPECT_EQ(values<float>(output), values<float>((*expected)[0]));
    for (const NodeEvent& a : trace.nodes)
      for (const NodeEvent& b : trace.nodes)
        EXPECT_TRUE(a.branch == b.branch || a.end_ns <= b.start_ns || b.end_ns <= a.start_ns)
            << a.node << " of branch " << a.branch << " next to " << b.node;
  }
}

TEST(Execute, OutputsThatNoKernelWrites) {
  // An input, a constant, a view of an input, the same value twice, and a view of a result.
  const auto context = context_of(R"(
    input x f32 [2, 3]
    const c f32 [2] = [7, 8]
    const flat i64 [1] = [6]
    v = Reshape(x, flat)
    y = Neg(x)
    w = Reshape(y, flat)
    z = Abs(w)
    output x, c, v, y, y, w, z)");
  const auto outcome = run_twice(context, {bytes_of<float>({1, 2, 3, 4, 5, 6})}, {.threads = 2});
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, y = {-1, -2, -3, -4, -5, -6};
  const std::vector<std::vector<float>> expected = {x, {7, 8}, x, y, y, y, x};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(values<float>((*outcome)[i]), expected[i]) << i;
  EXPECT_EQ((*outcome)[5].dims(), (Dims{6}));
}

TEST(Execute, MisalignedDestination) {
  const auto context = context_of("input x f32 [3]\ny = Neg(x)\noutput y");
  const auto program = program_of(context, {});
  ASSERT_TRUE(program);
  WorkerPool pool(1);
  RunMemory memory;
  alignas(64) std::array<float, 8> destination{};
  const std::vector<float> x = {1, 2, 3};
  const std::byte* const input = reinterpret_cast<const std::byte*>(x.data());
  const PlaceOutput place = [&](int, DType, const Dims&) {
    return Result<std::byte*>(reinterpret_cast<std::byte*>(&destination[1]));
  };
  auto lease = memory.acquire({(*program)->bytes, {}, false});
  ASSERT_TRUE(lease);
  ASSERT_TRUE(execute(**program, {&input, 1}, place, pool, *lease, {}));
  EXPECT_THAT(destination, testing::ElementsAre(0, -1, -2, -3, 0, 0, 0, 0));
  EXPECT_EQ(memory.peak_bytes(), (*program)->bytes) << "written in place";
}

TEST(Execute, AnErrorStopsTheRunAndNothingElse) {
  const auto context = context_of(R"(
    input x f32 [4, 16]
    input i i64 [2]
    a = Relu(x)
    picked = Gather(a, i) {axis = 0} @the_gather
    b1 = Exp(picked)
    y = Neg(b1)
    output y)");
  const auto program = program_of(context, {.threads = 3});
  ASSERT_TRUE(program);
  WorkerPool pool(3);
  RunMemory memory;
  const auto x = bytes_of(ramp(64));
  for (int round = 0; round < 3; ++round) {
    const auto bad =
        run(**program, pool, memory, {x, bytes_of<std::int64_t>({0, 4})}, {.threads = 3});
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(bad.error().stage, Stage::kRun);
    EXPECT_EQ(bad.error().node, "the_gather");
    const auto good =
        run(**program, pool, memory, {x, bytes_of<std::int64_t>({0, -1})}, {.threads = 3});
    ASSERT_TRUE(good) << good.error().to_string();
  }
}

TEST(Execute, RunsAtOnceShareAProgram) {
  const auto context = context_of(kInception);
  const auto program = program_of(context, {.symbols = {50}, .threads = 3});
  ASSERT_TRUE(program);
  WorkerPool pool(3);
  RunMemory memory;
  // Room for two concurrent runs: the others wait.
  const Settings settings{.budget = (*program)->bytes * 2};
  const auto input = bytes_of(ramp(50 * 64));
  const auto expected = run(**program, pool, memory, {input}, settings);
  ASSERT_TRUE(expected);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto got = run(**program, pool, memory, {input}, settings);
        if (!got || values<float>((*got)[0]) != values<float>((*expected)[0])) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(memory.peak_bytes(), *settings.budget);
}

TEST(Execute, TraceHasEveryNodeThatRan) {
  const auto context = context_of(kInception);
  const auto program = program_of(context, {.symbols = {10}, .threads = 2});
  ASSERT_TRUE(program);
  WorkerPool pool(2);
  RunMemory memory;
  RunTrace trace;
  ASSERT_TRUE(run(**program, pool, memory, {bytes_of(ramp(640))}, {.trace = &trace}));
  ASSERT_EQ(trace.nodes.size(), context->graph.nodes.size());
  for (const NodeEvent& event : trace.nodes) {
    EXPECT_LE(event.start_ns, event.end_ns);
    EXPECT_EQ(event.kernel, "reference");
  }
  EXPECT_EQ(trace.nodes.front().shapes, "10x64 -> 10x64");
  EXPECT_EQ(trace.nodes.front().bytes, 2 * 10 * 64 * 4);
}

}  // namespace
}  // namespace parallax
