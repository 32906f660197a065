#include "run/control_flow/control_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "run/run_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Loop, CountersOfAnyRankAreOneElement) {
  const auto context = context_of(R"(
    input m i64 [1, 1]
    input c bool [1, 1, 1]
    input x f32 [1, 2]
    y, s = Loop(m, c, x)
    body
      input i i64 [1, 1]
      input go bool [1, 1]
      input v f32 [1, 2]
      k = Cast(i) {to = 1}
      w = Add(v, k)
      on = Not(go)
      stay = Not(on)
      output stay, w, i
    end
    output y, s)");
  const auto outputs = run(
      context, {bytes_of<std::int64_t>({4}), bytes_of<std::uint8_t>({1}), bytes_of<float>({1, 2})});
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  EXPECT_EQ(floats((*outputs)[0]), (std::vector<float>{7, 8}));
  EXPECT_EQ((*outputs)[1].dims(), (Dims{4, 1, 1}));
  EXPECT_EQ(values<std::int64_t>((*outputs)[1]), (std::vector<std::int64_t>{0, 1, 2, 3}));
}

/// Fibonacci: the second value becomes the first, and the sum of each trip is a scan output.
constexpr std::string_view kFibonacci = R"(
    input m i64 []
    input c bool []
    input x f32 [2]
    a, b, s = Loop(m, c, x, x)
    body
      input i i64 []
      input go bool []
      input p f32 [2]
      input q f32 [2]
      sum = Add(p, q)
      part = Neg(sum)
      output go, q, sum, part
    end
    output a, b, s)";

TEST(Loop, CarriesValuesAndKeepsSlices) {
  const auto context = context_of(kFibonacci);
  for (const int threads : {1, 2}) {
    for (const std::int64_t trips : {0, 1, 2, 5}) {
      const auto out =
          run(context, {bytes_of<std::int64_t>({trips}), kYes, bytes_of<float>({1, 2})},
              {{}, true, threads});
      ASSERT_TRUE(out) << out.error().to_string();
      std::vector<float> slices;
      float p = 1, q = 1;
      for (std::int64_t i = 0; i < trips; ++i) {
        const float sum = p + q;
        slices.insert(slices.end(), {-sum, -2 * sum});
        p = std::exchange(q, sum);
      }
      EXPECT_THAT(floats((*out)[0]), ElementsAre(p, 2 * p));
      EXPECT_THAT(floats((*out)[1]), ElementsAre(q, 2 * q));
      EXPECT_EQ((*out)[2].dims(), (Dims{trips, 2}));
      EXPECT_EQ(floats((*out)[2]), slices);
    }
  }
  const auto none = run(context, {bytes_of<std::int64_t>({7}), kNo, bytes_of<float>({1, 2})});
  ASSERT_TRUE(none) << none.error().to_string();
  EXPECT_EQ((*none)[2].dims(), (Dims{0, 2}));
}

TEST(Loop, StopsWhenItsBodySaysSo) {
  const auto context = context_of(R"(
      input x f32 []
      const limit f32 [] = [100]
      y, all = Loop(_, _, x)
      body
        input i i64 [1]
        input go bool []
        input v f32 []
        const limit f32 [] = [100]
        w = Add(v, v)
        more = Less(w, limit)
        output more, w, i
      end
      output y, all)");
  const auto out = run(context, {bytes_of<float>({1})});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_THAT(floats((*out)[0]), ElementsAre(128));
  EXPECT_EQ((*out)[1].dims(), (Dims{7, 1}));
  EXPECT_THAT(values<std::int64_t>((*out)[1]), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(Loop, ACarriedValueMayGrow) {
  const auto context = context_of(R"(
      input m i64 []
      input x f32 [1]
      y = Loop(m, _, x; x)
      body
        input i i64 []
        input go bool []
        input v f32 [1]
        input x f32 [1]
        w = Concat(v, x) {axis = 0}
        output go, w
      end
      z = Neg(y)
      output z)");
  for (const std::int64_t trips : {0, 1, 40}) {
    const auto out = run(context, {bytes_of<std::int64_t>({trips}), bytes_of<float>({3})});
    ASSERT_TRUE(out) << out.error().to_string();
    EXPECT_EQ(floats((*out)[0]), std::vector<float>(static_cast<std::size_t>(trips) + 1, -3));
  }
}

TEST(Loop, ACarriedValueMayBeEmpty) {
  // Its carried values have no bytes, so it has no workspace either.
  const auto context = context_of(R"(
      symbols n
      input m i64 []
      input x f32 [n]
      y = Loop(m, _, x)
      body
        outer_symbols n
        input i i64 []
        input go bool []
        input v f32 [n]
        w = Neg(v)
        output go, w
      end
      output y)");
  for (const std::int64_t trips : {0, 1, 2}) {
    const auto out = run(context, {bytes_of<std::int64_t>({trips}), {}}, {{0}});
    ASSERT_TRUE(out) << out.error().to_string();
    EXPECT_EQ((*out)[0].dims(), Dims{0});
  }
}

TEST(Loop, WithoutTripsAStackHasTheSizesThatAreKnown) {
  const auto context = context_of(R"(
      input go bool []
      input sizes i64 [2]
      input x f32 [2]
      zeros = ConstantOfShape(sizes)
      last, all, some = Loop(_, go, x; zeros)
      body
        input i i64 []
        input going bool []
        input v f32 [2]
        input zeros f32 [0, 0]
        const no bool [] = [0]
        w = Exp(zeros)
        found = NonZero(w)
        output no, v, w, found
      end
      output all, some)");
  for (const bool trip : {false, true}) {
    const auto out =
        run(context, {trip ? kYes : kNo, bytes_of<std::int64_t>({4, 2}), bytes_of<float>({1, 2})});
    ASSERT_TRUE(out) << out.error().to_string();
    EXPECT_EQ((*out)[0].dims(), (Dims{trip ? 1 : 0, 4, 2}));
    // Dims that only the body could determine are 0.
    EXPECT_EQ((*out)[1].dims(), (Dims{trip ? 1 : 0, 2, trip ? 8 : 0}));
  }
}

TEST(Loop, EndlessOnesAreStopped) {
  const auto context = context_of(R"(
      input x f32 [1]
      const m i64 [] = [9223372036854775807]
      const yes bool [] = [1]
      y = Loop(m, yes, x) @"for ever"
      body
        input i i64 []
        input go bool []
        input v f32 [1]
        const yes bool [] = [1]
        w = Neg(v)
        output yes, w
      end
      output y)");
  const auto out = run(context, {bytes_of<float>({1})}, {.max_trips = 50});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(out.error().node, "for ever");
  EXPECT_THAT(out.error().message, HasSubstr("50 trips"));
  const auto late = run(context, {bytes_of<float>({1})},
                        {.max_trips = std::numeric_limits<std::int64_t>::max(),
                         .time_limit = std::chrono::milliseconds(20)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kLimitExceeded);
  EXPECT_THAT(late.error().message, HasSubstr("time limit"));
}

TEST(Loop, TripsOfInnerLoopsCountToo) {
  const auto context = context_of(R"(
      input x f32 [1]
      const m i64 [] = [10]
      y = Loop(m, _, x)
      body
        input i i64 []
        input go bool []
        input v f32 [1]
        const m i64 [] = [10]
        w = Loop(m, _, v) @inner
        body
          input j i64 []
          input run bool []
          input u f32 [1]
          r = Neg(u)
          output run, r
        end
        output go, w
      end
      output y)");
  EXPECT_TRUE(run(context, {bytes_of<float>({1})}, {.max_trips = 110}));
  const auto out = run(context, {bytes_of<float>({1})}, {.max_trips = 109});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kLimitExceeded);
}

TEST(Scan, CutsAndJoinsAlongAxesInBothDirections) {
  const auto context = context_of(R"(
      input x f32 [2, 3]
      input s f32 [2]
      t, whole, back = Scan(s, x) {num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1, 0], scan_output_directions = [0, 1]}
      body
        input acc f32 [2]
        input column f32 [2]
        sum = Add(acc, column)
        minus = Neg(column)
        output sum, sum, minus
      end
      output t, whole, back)");
  const auto out = run(context, {bytes_of<float>({1, 2, 3, 4, 5, 6}), bytes_of<float>({10, 20})});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_THAT(floats((*out)[0]), ElementsAre(16, 35));
  EXPECT_THAT(floats((*out)[1]), ElementsAre(11, 13, 16, 24, 29, 35));
  EXPECT_THAT(floats((*out)[2]), ElementsAre(-3, -6, -2, -5, -1, -4));
}

TEST(Bodies, ShowInTheTrace) {
  RunTrace trace;
  const auto out =
      run(context_of(kFibonacci), {bytes_of<std::int64_t>({3}), kYes, bytes_of<float>({1, 2})},
          {.trace = &trace});
  ASSERT_TRUE(out) << out.error().to_string();
  std::vector<std::string> names;
  for (const NodeEvent& event : trace.nodes) names.push_back(event.node);
  EXPECT_THAT(names, ElementsAre("Loop_0/Add_0", "Loop_0/Neg_1", "Loop_0/Add_0", "Loop_0/Neg_1",
                                 "Loop_0/Add_0", "Loop_0/Neg_1"));
}

TEST(Bodies, ErrorsInsideNameTheNode) {
  const auto context = context_of(R"(
      input c bool []
      input x f32 [3]
      input i i64 [1]
      y = If(c; x, i)
      body
        input x f32 [3]
        input i i64 [1]
        z = Gather(x, i) @pick
        output z
      end
      body
        input x f32 [3]
        input i i64 [1]
        const one i64 [1] = [1]
        z = Gather(x, one)
        output z
      end
      output y)");
  const Inputs bad = {kYes, bytes_of<float>({1, 2, 3}), bytes_of<std::int64_t>({9})};
  const auto out = run(context, bad);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(out.error().node, "pick");
  EXPECT_TRUE(run(context, {kNo, bad[1], bad[2]}));
}

}  // namespace
}  // namespace parallax
