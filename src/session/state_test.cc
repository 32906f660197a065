// Inputs that are tied to outputs: results equal those of feeding outputs back by hand, under every
// executor; the state after a failed run; the order of concurrent calls; refused ties.
#include "parallax/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <stop_token>
#include <thread>

#include "session/branches_test_util.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

/// A model of a stream with two caches of fixed size, one of them in a branch, and one that grows.
constexpr std::string_view kStream = R"(
    symbols n past
    input x f32 [n, 8]
    input h f32 [n, 8]
    input c f32 [n, 8]
    input k f32 [past, 8]
    a = Add(x, h)
    b = Tanh(a)
    m = Softmax(b)
    hn = Sigmoid(m)
    d = Mul(x, c)
    e = Abs(d)
    cn = Add(e, b)
    kn = Concat(k, hn) {axis = 0}
    y = Sub(hn, cn)
    output hn, y, cn, kn)";
const std::array kTies = {Tie{"h", "hn"}, Tie{"k", "kn"}, Tie{"c", "cn"}};

/// Runs it; the run stops in the middle if `trips` exceeds the limit.
constexpr std::string_view kLoops = R"(
    input x f32 [4]
    input h f32 [4]
    input trips i64 []
    const go bool [] = [1]
    s = Add(x, h)
    y = Loop(trips, go, s)
    body
      input i i64 []
      input go bool []
      input v f32 [4]
      u = Neg(v)
      output go, u
    end
    output s, y)";

Tensor filled(const Dims& dims, float value) {
  Tensor tensor = *Tensor::allocate(DType::kF32, dims);
  std::fill_n(tensor.mutable_view().as<float>(), dims.elements(), value);
  return tensor;
}
std::vector<float> floats(const TensorView& view) {
  return {view.as<float>(), view.as<float>() + view.dims.elements()};
}
Tensor trips(std::int64_t count) {
  Tensor tensor = *Tensor::allocate(DType::kI64, {});
  *tensor.mutable_view().as<std::int64_t>() = count;
  return tensor;
}

class States : public testing::TestWithParam<Scheduler> {};

TEST_P(States, AreWhatOutputsFedBackByHandAre) {
  const Model model = model_of(kStream);
  for (const int threads : {1, 2, 4}) {
    Session session = *Session::create(model, {.scheduler = GetParam(), .threads = threads});
    State state = *State::create(session, kTies);
    const Tensor none = *Tensor::allocate(DType::kF32, {0, 8});
    ASSERT_TRUE(state.set("k", none.view()));
    Tensor h = filled({2, 8}, 0), c = filled({2, 8}, 0), k = filled({0, 8}, 0);
    for (int step = 0; step < 5; ++step) {
      const Tensor x = filled({2, 8}, 0.25F * static_cast<float>(step - 1));
      auto hand = session.run(std::vector<NamedInput>{
          {"x", x.view()}, {"h", h.view()}, {"c", c.view()}, {"k", k.view()}});
      ASSERT_TRUE(hand) << hand.error().to_string();
      const auto outputs = session.run(std::vector<NamedInput>{{"x", x.view()}},
                                       {.state = &state, .tied_outputs = step % 2 == 0});
      ASSERT_TRUE(outputs) << outputs.error().to_string();
      EXPECT_EQ(floats((*outputs)[1].view()), floats((*hand)[1].view()));
      if (step % 2 == 0) {
        EXPECT_TRUE(same_bits(*outputs, *hand));
      } else {
        EXPECT_TRUE((*outputs)[0].view().bytes.empty());
      }
      h = std::move((*hand)[0]);
      c = std::move((*hand)[2]);
      k = std::move((*hand)[3]);
      EXPECT_EQ(floats(state.get("h")->view()), floats(h.view()));
      EXPECT_EQ(floats(state.get("k")->view()), floats(k.view()));
      EXPECT_EQ(k.dims(), (Dims{2 * (step + 1), 8}));
    }
  }
}

TEST_P(States, RunsInToAndAsynchronously) {
  const Model model = model_of(kLoops);
  Session session = *Session::create(model, {.scheduler = GetParam(), .threads = 2});
  State state = *State::create(session, std::array{Tie{"h", "s"}});
  const Tensor x = filled({4}, 1), two = trips(2);
  const std::vector<NamedInput> inputs = {{"x", x.view()}, {"trips", two.view()}};
  Tensor y = filled({4}, 0), s = filled({4}, 0);
  ASSERT_TRUE(session.run_into(inputs, std::array{MutableTensorView{}, y.mutable_view()},
                               {.state = &state}));
  EXPECT_EQ(floats(y.view()), std::vector<float>(4, 1));
  ASSERT_TRUE(
      session.run_into(inputs, std::array{s.mutable_view(), y.mutable_view()}, {.state = &state}));
  EXPECT_EQ(floats(s.view()), std::vector<float>(4, 2));
  auto pending = session.run_async(inputs, {.state = &state});
  ASSERT_TRUE(pending);
  const auto outputs = pending->get();
  ASSERT_TRUE(outputs);
  EXPECT_EQ(floats((*outputs)[1].view()), std::vector<float>(4, 3));
  const auto objects = session.run_objects(inputs, {.state = &state});
  ASSERT_TRUE(objects);
  EXPECT_EQ((*objects)[0].type(), ObjectType::kOptional);
  EXPECT_EQ(floats((*objects)[1].tensor_view()), std::vector<float>(4, 4));
}

TEST_P(States, AFailedRunLeavesTheStateAsItWas) {
  const Model model = model_of(kLoops);
  Session session =
      *Session::create(model, {.scheduler = GetParam(), .threads = 2, .max_loop_trips = 10});
  State state = *State::create(session, std::array{Tie{"h", "s"}});
  const Tensor x = filled({4}, 1), few = trips(2), many = trips(11);
  const auto run = [&](const Tensor& count, const RunOptions& options) {
    return session.run(std::vector<NamedInput>{{"x", x.view()}, {"trips", count.view()}}, options);
  };
  EXPECT_FALSE(run(many, {.state = &state}));
  EXPECT_FALSE(state.get("h")) << "it still begins with zeros";
  for (int step = 1; step <= 3; ++step) {
    ASSERT_TRUE(run(few, {.state = &state}));
    const auto failed = run(many, {.state = &state});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kLimitExceeded);
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_FALSE(run(few, {.stop = stopped.get_token(), .state = &state}));
    EXPECT_EQ(floats(state.get("h")->view()), std::vector<float>(4, static_cast<float>(step)));
  }
}

TEST_P(States, RunsOnOneAreSerial) {
  const Model model = model_of(kLoops);
  const Runtime runtime = *Runtime::create({.threads = 4});
  Session session = *Session::create(model, {.scheduler = GetParam()}, runtime);
  State state = *State::create(session, std::array{Tie{"h", "s"}});
  const Tensor x = filled({4}, 1), few = trips(20);
  std::atomic<int> failed{0};
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int i = 0; i < 25; ++i)
          if (!session.run(std::vector<NamedInput>{{"x", x.view()}, {"trips", few.view()}},
                           {.state = &state}))
            ++failed;
      });
    }
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(floats(state.get("h")->view()), std::vector<float>(4, 100));
}

TEST_P(States, ACancelledRunWaitsNoLonger) {
  const Model model = model_of(kLoops);
  Session session =
      *Session::create(model, {.scheduler = GetParam(),
                               .threads = 2,
                               .max_loop_trips = std::numeric_limits<std::int64_t>::max()});
  State state = *State::create(session, std::array{Tie{"h", "s"}});
  const Tensor x = filled({4}, 1), for_ever = trips(std::numeric_limits<std::int64_t>::max());
  std::stop_source first, second;
  const std::vector<NamedInput> inputs = {{"x", x.view()}, {"trips", for_ever.view()}};
  auto goes_on = session.run_async(inputs, {.stop = first.get_token(), .state = &state});
  ASSERT_TRUE(goes_on);
  std::jthread asks([&] { second.request_stop(); });
  const auto waits = session.run(inputs, {.stop = second.get_token(), .state = &state});
  EXPECT_EQ(waits.error().code, ErrorCode::kCancelled);
  first.request_stop();
  EXPECT_FALSE(goes_on->get());
  EXPECT_FALSE(state.get("h"));
}

INSTANTIATE_TEST_SUITE_P(Schedulers, States,
                         testing::Values(Scheduler::kSequential, Scheduler::kLayers,
                                         Scheduler::kDataflow),
                         scheduler_name);

TEST(State, CopiesAndBeginsAnew) {
  const Model model = model_of(kLoops);
  Session session = *Session::create(model, {.threads = 1});
  State state = *State::create(session, std::array{Tie{"h", "s"}});
  const Tensor x = filled({4}, 1), few = trips(1), seven = filled({4}, 7);
  const auto run = [&](State& on, std::vector<NamedInput> more = {}) {
    more.push_back({"x", x.view()});
    more.push_back({"trips", few.view()});
    const auto outputs = session.run(more, {.state = &on});
    return outputs ? floats((*outputs)[1].view())[0] : 0;
  };
  EXPECT_EQ(run(state), -1);
  State copy = *state.copy();
  EXPECT_EQ(run(state), -2);
  EXPECT_EQ(run(copy), -2) << "the copy was made before";
  EXPECT_EQ(run(copy, {{"h", seven.view()}}), -8) << "what is given takes the value's place";
  EXPECT_EQ(run(copy), -9);
  ASSERT_TRUE(state.set("h", seven.view()));
  EXPECT_EQ(run(state), -8);
  state.reset();
  EXPECT_FALSE(state.get("h"));
  EXPECT_EQ(run(state), -1);
  state = std::move(copy);
  EXPECT_EQ(run(state), -10);
  Session other = *Session::create(model, {.threads = 2});
  EXPECT_EQ(floats((*other.run(std::vector<NamedInput>{{"x", x.view()}, {"trips", few.view()}},
                               {.state = &state}))[1]
                       .view())[0],
            -11);
}

TEST(State, CountsInTheBudget) {
  const Model model = model_of(R"(
    input x f32 [1024]
    input h f32 [1024]
    hn = Add(x, h)
    y = Neg(hn)
    output y, hn)");
  constexpr std::int64_t kState = 2 * 4096;
  const Tensor x = filled({1024}, 1);
  const std::vector<NamedInput> inputs = {{"x", x.view()}};
  Session free = *Session::create(model, {.threads = 1});
  State of_free = *State::create(free, std::array{Tie{"h", "hn"}});
  ASSERT_TRUE(free.run(inputs, {.state = &of_free}));
  const std::int64_t all = free.peak_arena_bytes();
  EXPECT_GE(all, kState);
  for (const std::int64_t budget : {all, kState - 1}) {
    Session session =
        *Session::create(model, {.threads = 1, .budget = MemoryBudget::of_bytes(budget)});
    State state = *State::create(session, std::array{Tie{"h", "hn"}});
    for (int i = 0; i < 3; ++i) {
      const auto outputs = session.run(inputs, {.state = &state});
      EXPECT_EQ(outputs.has_value(), budget == all);
      if (outputs) continue;
      EXPECT_EQ(outputs.error().code, ErrorCode::kBudgetExceeded);
    }
    EXPECT_LE(session.peak_arena_bytes(), budget);
  }
}

TEST(State, RefusesTies) {
  Session session = *Session::create(model_of(R"(
    symbols n
    input a f32 [2, 3]
    input b f32 [n, 3]
    input i i64 [2, 3]
    input s sequence f32 any
    w = Neg(a)
    x = Neg(b)
    y = Transpose(a) {perm = [1, 0]}
    z = ReduceSum(a) {keepdims = 0}
    l = SequenceLength(s)
    j = Abs(i)
    output w, x, y, z, s, l, j)"),
                                     {.threads = 1});
  struct Row {
    std::vector<Tie> ties;
    std::string message;
  };
  for (const Row& row : std::vector<Row>{
           {{}, "a State needs at least one tie"},
           {{{"none", "w"}}, "the model has no input 'none' to tie; it has 'a', 'b', 'i', 's'"},
           {{{"a", "b"}}, "the model has no output 'b' to tie; it has 'w', 'x'"},
           {{{"a", ""}}, "no output '' to tie"},
           {{{"a", "w"}, {"a", "x"}}, "input 'a' is tied twice"},
           {{{"a", "w"}, {"b", "w"}}, "output 'w' is tied twice"},
           {{{"a", "j"}}, "output 'j' (int64 2x3) cannot be tied to input 'a' (float32 2x3)"},
           {{{"a", "y"}}, "output 'y' (float32 3x2) cannot be tied to input 'a' (float32 2x3)"},
           {{{"a", "z"}}, "output 'z' (float32 scalar) cannot be tied to input 'a'"},
           {{{"s", "s"}}, "'s' is not a tensor of numbers"},
       }) {
    const auto state = State::create(session, row.ties);
    ASSERT_FALSE(state) << row.message;
    EXPECT_THAT(state.error().message, HasSubstr(row.message));
  }
  EXPECT_TRUE(State::create(session, std::array{Tie{"b", "w"}, Tie{"a", "x"}}));
}

TEST(State, RefusesValuesAndRuns) {
  const Model model = model_of(kStream);
  Session session = *Session::create(model, {.threads = 1});
  State state = *State::create(session, kTies);
  const Tensor x = filled({2, 8}, 1), narrow = filled({2, 7}, 1), one = filled({1, 8}, 1);
  const Tensor whole = *Tensor::allocate(DType::kI64, {2, 8});
  const std::vector<NamedInput> inputs = {{"x", x.view()}};
  const auto refused = [](const auto& result, std::string_view message) {
    ASSERT_FALSE(result) << message;
    EXPECT_THAT(result.error().message, HasSubstr(std::string(message)));
  };
  refused(state.set("x", x.view()), "no input 'x' is tied");
  refused(state.set("h", whole.view()), "must be float32 nx8, not int64 2x8");
  refused(state.set("h", narrow.view()), "must have shape nx8, not 2x7");
  refused(state.get("hn"), "no input 'hn' is tied");
  refused(state.get("h"), "no value before the first run");
  refused(session.run(inputs, {.state = &state}), "dimension 'past' of input 'k'");
  ASSERT_TRUE(state.set("k", x.view()));
  ASSERT_TRUE(state.set("h", one.view()));
  refused(session.run(inputs, {.state = &state}), "not 1x8");
  EXPECT_EQ(state.get("h")->dims(), (Dims{1, 8}));
  Session other = *Session::create(model_of(kStream), {.threads = 1});
  refused(other.run(inputs, {.state = &state}), "the State belongs to another model");
}

/// A tied output whose size only the run determines.
TEST(State, OutputsThatTheInputCannotBe) {
  Session session = *Session::create(model_of(R"(
    input x f32 [3]
    input h i64 [1, 2]
    y = NonZero(x)
    output y, h)"),
                                     {.threads = 1});
  State state = *State::create(session, std::array{Tie{"h", "y"}});
  Tensor x = filled({3}, 1);
  const std::vector<NamedInput> inputs = {{"x", x.view()}};
  const auto failed = session.run(inputs, {.state = &state});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("output 'y' is 1x3, which tied input 'h' (1x2)"));
  x.mutable_view().as<float>()[0] = 0;
  ASSERT_TRUE(session.run(inputs, {.state = &state}));
  EXPECT_EQ(state.get("h")->dims(), (Dims{1, 2}));
}

/// An output may be an input itself, and two states may change places.
TEST(State, ThatIsHandedOn) {
  Session session = *Session::create(model_of(R"(
    input x f32 [2]
    input a f32 [2]
    input b f32 [2]
    y = Add(a, b)
    output y, a, x)"),
                                     {.threads = 1});
  State state = *State::create(session, std::array{Tie{"b", "a"}, Tie{"a", "x"}});
  std::vector<float> sums;
  for (const float value : {1.F, 2.F, 4.F, 8.F}) {
    const Tensor x = filled({2}, value);
    const auto outputs = session.run(std::vector<NamedInput>{{"x", x.view()}}, {.state = &state});
    ASSERT_TRUE(outputs) << outputs.error().to_string();
    sums.push_back(floats((*outputs)[0].view())[1]);
  }
  EXPECT_EQ(sums, (std::vector<float>{0, 1, 3, 6}));
}

}  // namespace
}  // namespace parallax
