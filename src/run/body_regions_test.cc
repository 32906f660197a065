// Regions of bodies: a device that answers late and in any order, with an error, or never, while
// the branches of the outer graph run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <ostream>
#include <thread>

#include "compile/staging.h"
#include "run/device_test_util.h"
#include "run/regions_test_util.h"
#include "run/run_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

/// A graph with regions in both branches of an If, in a Loop, in an If inside it and in a Scan; a
/// region of the outermost graph waits for none of them.
constexpr std::string_view kBodies = R"(
    input x f32 [4, 16]
    input xs f32 [3, 4, 16]
    input c bool []
    {}
    s = Tanh(x)
    o1 = Neg(s) @r0
    o2 = Abs(o1) @r0b
    a = If(c; s) @if
    body
      input s f32 [4, 16]
      t1 = Neg(s) @r0
      t2 = Abs(t1) @r0b
      t3 = Tanh(t2)
      t4 = Relu(t3) @r1
      output t4
    end
    body
      input s f32 [4, 16]
      e1 = Tanh(s)
      e2 = Neg(e1) @r0
      output e2
    end
    b, kept = Loop(m, _, s; x, c) @loop
    body
      input i i64 []
      input go bool []
      input v f32 [4, 16]
      input x f32 [4, 16]
      input c bool []
      l1 = Add(v, x) @r0
      l2 = Tanh(l1)
      l3 = Neg(l2) @r1
      l4 = If(c; l3, x) @inner
      body
        input l3 f32 [4, 16]
        input x f32 [4, 16]
        n1 = Neg(l3) @r0
        n2 = Add(n1, x) @r0b
        output n2
      end
      body
        input l3 f32 [4, 16]
        input x f32 [4, 16]
        n1 = Tanh(l3)
        n2 = Add(n1, x) @r0
        output n2
      end
      output go, l4, l2
    end
    d, e = Scan(s, xs) {{num_scan_inputs = 1}} @scan
    body
      input p f32 [4, 16]
      input v f32 [4, 16]
      q = Add(p, v) @r0
      r = Tanh(q)
      u = Neg(r) @r1
      output q, u
    end
    sum = Add(a, b)
    output sum, kept, d, e, o2)";

/// Makes region I of each graph of its nodes @rI and @rIb.
Delegation regions_named(const Graph& graph, bool substitute, const std::string& body,
                         std::int32_t& next) {
  Delegation delegation;
  delegation.substitute = substitute;
  delegation.body = body;
  delegation.first = next;
  for (const Node& node : graph.nodes) {
    const bool in_region = node.name.size() > 1 && node.name[0] == 'r' && node.name[1] < '9';
    const RegionId region = in_region ? RegionId{node.name[1] - '0'} : RegionId{};
    delegation.region_of.push_back(region);
    if (in_region && !delegation.seconds.contains(region)) delegation.seconds.push_back(1e-3);
  }
  next += static_cast<std::int32_t>(delegation.seconds.size());
  for (const NodeId id : graph.nodes.ids())
    for (const auto& inside : graph.nodes[id].bodies)
      delegation.bodies[id].push_back(regions_named(
          *inside, substitute,
          fmt::format("{}{}/{}/", body, graph.nodes[id].name, delegation.bodies[id].size()), next));
  return delegation;
}

struct BodyWay {
  Scheduler scheduler;
  int threads;
  bool known_trips;
};

std::string name_of(const BodyWay& way) {
  const char* const names[] = {"Sequential", "Layers", "Dataflow"};
  return fmt::format("{}{}{}", names[static_cast<int>(way.scheduler)], way.threads,
                     way.known_trips ? "" : "AnyTrips");
}
void PrintTo(const BodyWay& way, std::ostream* out) { *out << name_of(way); }

class BodyRegions : public testing::TestWithParam<BodyWay> {
 protected:
  BodyRegions() {
    settings_.scheduler = GetParam().scheduler;
    settings_.threads = GetParam().threads;
    settings_.device = &device_;
    settings_.lease_owner = memory_;
    program_ = *program_of(context_, settings_);
  }
  ~BodyRegions() override { answer_all(); }

  static std::shared_ptr<GraphContext> context(bool delegated, bool substitute = false) {
    const auto plain = context_of(
        fmt::format(kBodies, GetParam().known_trips ? "const m i64 [] = [4]" : "input m i64 []"));
    std::int32_t next = 0;
    return !delegated ? plain
                      : std::make_shared<GraphContext>(
                            plain->graph, regions_named(plain->graph, substitute, "", next));
  }
  Inputs inputs(bool taken) const {
    std::vector<float> x(4 * 16), xs(3 * 4 * 16);
    for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<float>(i % 11) / 8 - 0.5F;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 8 - 1;
    Inputs all = {bytes_of(x), bytes_of(xs), taken ? kYes : kNo};
    if (!GetParam().known_trips) all.push_back(bytes_of<std::int64_t>({4}));
    return all;
  }
  Result<std::vector<Tensor>> run(bool taken = true) {
    return parallax::run(*program_, pool_, *memory_, inputs(taken), settings_);
  }
  void expect_done(bool taken = true) {
    const auto expected = parallax::run(plain_, inputs(taken));
    const auto got = run(taken);
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < expected->size(); ++i)
      EXPECT_EQ(floats((*got)[i]), floats((*expected)[i])) << i;
  }
  void substitute() { program_ = *program_of(context(true, true), settings_); }
  TestDevice& device_of(std::string_view node, std::size_t body) {
    for (const NodeId id : context_->graph.nodes.ids())
      if (context_->graph.nodes[id].name == node) return *device_.in_body(id, body);
    return device_;
  }
  std::size_t silent() {
    std::size_t sum = 0;
    for (TestDevice* const device : device_.all()) sum += device->silent();
    return sum;
  }
  void answer_all() {
    for (TestDevice* const device : device_.all()) device->answer_all();
  }
  /// Waits until late answers have freed the memory.
  void expect_all_free() {
    answer_all();
    for (int i = 0; i < 5000 && memory_->busy_bytes() > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(memory_->busy_bytes(), 0);
  }

  const std::shared_ptr<GraphContext> plain_ = context(false), context_ = context(true);
  std::shared_ptr<RunMemory> memory_ = std::make_shared<RunMemory>();
  TestDevice device_{*context_};
  WorkerPool pool_{GetParam().threads};
  Settings settings_;
  std::shared_ptr<const Program> program_;
};

TEST_P(BodyRegions, RunInEachTrip) {
  for (int round = 0; round < 6; ++round) {
    for (TestDevice* const device : device_.all())
      device->will(kR0, round % 3 == 0 ? Answer::kAtOnce : Answer::kDone);
    expect_done(round % 2 == 0);
  }
  EXPECT_EQ(memory_->busy_bytes(), 0);
}

TEST_P(BodyRegions, TracesNameThem) {
  RunTrace trace;
  settings_.trace = &trace;
  expect_done();
  std::map<std::string, int> count;
  for (const RegionEvent& event : trace.regions) {
    EXPECT_EQ(event.problem, "");
    EXPECT_GE(event.end_ns, event.start_ns);
    ++count[fmt::format("{}{}", event.body, event.region)];
  }
  const std::map<std::string, int> expected = {
      {"0", 1},        {"if/0/1", 1},           {"if/0/2", 1},   {"loop/0/4", 4},
      {"loop/0/5", 4}, {"loop/0/inner/0/6", 4}, {"scan/0/8", 3}, {"scan/0/9", 3}};
  EXPECT_EQ(count, expected);
}

TEST_P(BodyRegions, ErrorsEndTheRunOrTheCpuTakesOver) {
  struct Case {
    const char* node;
    std::size_t body;
    RegionId region;
    const char* first;  ///< first node of the region
  };
  for (const Case& c : {Case{"if", 0, kR1, "r1"}, Case{"if", 1, kR0, "r0"},
                        Case{"loop", 0, kR1, "r1"}, Case{"scan", 0, kR0, "r0"}}) {
    const bool taken = c.body == 0;
    for (const Answer answer : {Answer::kError, Answer::kThrows, Answer::kNone}) {
      program_ = *program_of(context_, settings_);
      device_of(c.node, c.body).will(c.region, answer);
      const auto got = run(taken);
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().node, c.first) << c.node;
      substitute();
      expect_done(taken);
    }
    device_of(c.node, c.body).will(c.region, Answer::kTwice);
    expect_done(taken);
  }
  EXPECT_EQ(memory_->busy_bytes(), 0);
}

TEST_P(BodyRegions, TheCpuTakesOverInsideANestedBody) {
  substitute();
  for (const NodeId id : context_->graph.nodes.ids()) {
    if (context_->graph.nodes[id].name != "loop") continue;
    for (TestDevice* const device : device_.in_body(id, 0)->all())
      device->will(kR0, Answer::kError);
  }
  RunTrace trace;
  settings_.trace = &trace;
  for (const bool taken : {true, false}) {
    expect_done(taken);
    const auto failed =
        std::ranges::count_if(trace.regions, [](const auto& e) { return !e.problem.empty(); });
    EXPECT_EQ(failed, 8) << "two regions, four trips";
  }
}

TEST_P(BodyRegions, RunsOfOneProgramAtOnce) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([this, caller] {
      for (int i = 0; i < 5; ++i) expect_done((caller + i) % 2 == 0);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(memory_->busy_bytes(), 0);
}

TEST_P(BodyRegions, ASilentDeviceKeepsTheMemoryThatItMayWrite) {
  for (const char* const node : {"if", "loop", "scan"}) {
    substitute();
    device_of(node, 0).will(kR0, Answer::kNever);
    bool late = false;
    settings_.late = &late;
    // On a busy machine a region that answers may be late before this one begins.
    for (std::chrono::milliseconds limit(4); silent() == 0; limit *= 2) {
      settings_.region_time = limit;
      const auto got = run();
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().code, ErrorCode::kLimitExceeded) << got.error().to_string();
    }
    EXPECT_TRUE(late);
    EXPECT_GT(memory_->busy_bytes() + memory_->fixed_bytes(), 0);
    settings_.region_time = {};
    device_of(node, 0).will(kR0, Answer::kDone);
    expect_done();  // in another block of memory
    expect_all_free();
  }
}

TEST_P(BodyRegions, ACallerNeedNotWaitForADevice) {
  for (const char* const node : {"if", "loop", "scan"}) {
    device_of(node, 0).will(kR0, Answer::kNever);
    std::stop_source stop;
    settings_.stop = stop.get_token();
    std::atomic<bool> over{false};
    std::thread canceller([&] {
      while (silent() == 0 && !over) std::this_thread::yield();
      stop.request_stop();
    });
    const auto got = run();
    over = true;
    canceller.join();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kCancelled) << got.error().to_string();
    settings_.stop = {};
    device_of(node, 0).will(kR0, Answer::kDone);
    expect_done();
    expect_all_free();
  }
}

TEST_P(BodyRegions, TheTimeOfARunEndsTheirWait) {
  device_of("loop", 0).will(kR1, Answer::kNever);
  for (std::chrono::milliseconds limit(4); silent() == 0; limit *= 2) {
    settings_.time_limit = limit;
    const auto got = run();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kLimitExceeded) << got.error().to_string();
  }
  expect_all_free();
}

TEST_P(BodyRegions, WithoutADeviceTheCpuRunsThem) {
  settings_.device = nullptr;
  const auto got = run();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnsupported);
  substitute();
  expect_done(true);
  expect_done(false);
}

TEST_P(BodyRegions, LogsSayWhichBody) {
  substitute();
  std::string line;
  const Logger log([&](LogLevel, std::string_view text) { line = text; });
  settings_.log = &log;
  device_of("scan", 0).will(kR1, Answer::kError);
  expect_done();
  EXPECT_THAT(line, HasSubstr("the CPU runs the region of node 'scan/0/r1': "));
}

INSTANTIATE_TEST_SUITE_P(Ways, BodyRegions,
                         testing::Values(BodyWay{Scheduler::kSequential, 1, true},
                                         BodyWay{Scheduler::kLayers, 2, true},
                                         BodyWay{Scheduler::kDataflow, 1, false},
                                         BodyWay{Scheduler::kDataflow, 3, true},
                                         BodyWay{Scheduler::kDataflow, 3, false}),
                         [](const auto& test) { return name_of(test.param); });

TEST(BodyRegionBytes, WhatADeviceReadsAndMakesIsInTheWorkspace) {
  const auto plain = context_of(R"(
      input c bool []
      input x f32 [1000]
      y = If(c; x) @if
      body
        input x f32 [1000]
        a = Neg(x) @r0
        output a
      end
      body
        input x f32 [1000]
        output x
      end
      output y)");
  std::int32_t next = 0;
  const auto context =
      std::make_shared<GraphContext>(plain->graph, regions_named(plain->graph, true, "", next));
  const auto bytes = [](const std::shared_ptr<GraphContext>& of) {
    const auto compiled = compile(of, Binding{}, {true});
    return (*compiled)->nodes[NodeId{0}].workspace_bytes;
  };
  EXPECT_EQ(bytes(plain), 0);
  EXPECT_EQ(bytes(context), 2 * 4032) << "x and y, which are the caller's";
  const auto compiled = *compile(context, Binding{}, {true});
  EXPECT_EQ(staged_bytes(*compiled), 0) << "nothing of the outermost graph";
}

}  // namespace
}  // namespace parallax
