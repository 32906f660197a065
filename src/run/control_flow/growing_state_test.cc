// The memory of loops whose state grows in each trip: the old state and the new one, not all states
// so far.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <regex>
#include <string>

#include "run/run_test_util.h"

namespace parallax {
namespace {

constexpr std::int64_t kRow = 512, kTrips = 60;

struct Case {
  const char* name;
  const char* text;
  std::int64_t rows;  ///< rows of all states together, at the end
};

/// Inputs: the number of trips m, a state k of one row, and rows. R is the length of a row.
constexpr std::array kCases = {
    Case{"Loop", R"(
      y = Loop(m, _, k; r)
      body
        input i i64 []
        input go bool []
        input v f32 [1, R]
        input r f32 [1, R]
        w = Concat(v, r) {axis = 0}
        output go, w
      end
      output y)",
         1 + kTrips},
    Case{"a Loop that stops itself", R"(
      y = Loop(_, _, k; r, m)
      body
        input i i64 []
        input go bool []
        input v f32 [1, R]
        input r f32 [1, R]
        input m i64 []
        const one i64 [] = [1]
        next = Add(i, one)
        more = Less(next, m)
        w = Concat(v, r) {axis = 0}
        output more, w
      end
      output y)",
         1 + kTrips},
    Case{"several nodes, read twice", R"(
      y, sums = Loop(m, _, k; r)
      body
        input i i64 []
        input go bool []
        input v f32 [1, R]
        input r f32 [1, R]
        const axes i64 [2] = [0, 1]
        sum = ReduceSum(v, axes)
        a = Neg(r)
        b = Neg(v)
        c = Concat(b, a) {axis = 0}
        w = Neg(c)
        output go, w, sum
      end
      output y, sums)",
         1 + kTrips},
    Case{"two states, one small", R"(
      y, z = Loop(m, _, k, k; r)
      body
        input i i64 []
        input go bool []
        input u f32 [1, R]
        input v f32 [1, R]
        input r f32 [1, R]
        a = Concat(u, r) {axis = 0}
        b = Concat(v, r, r, r, r, r) {axis = 0}
        output go, a, b
      end
      output y, z)",
         2 + 6 * kTrips},
    Case{"two states that change places", R"(
      y, z = Loop(m, _, k, k; r)
      body
        input i i64 []
        input go bool []
        input u f32 [1, R]
        input v f32 [1, R]
        input r f32 [1, R]
        a = Concat(u, r) {axis = 0}
        b = Concat(v, r) {axis = 0}
        output go, b, a
      end
      output y, z)",
         2 + 2 * kTrips},
    Case{"a state that is not read afterwards", R"(
      _, z = Loop(m, _, k, k; r)
      body
        input i i64 []
        input go bool []
        input u f32 [1, R]
        input v f32 [1, R]
        input r f32 [1, R]
        a = Concat(u, r) {axis = 0}
        b = Concat(v, r) {axis = 0}
        output go, a, b
      end
      output z)",
         2 + 2 * kTrips},
    Case{"Scan", R"(
      y = Scan(k, rows) {num_scan_inputs = 1}
      body
        input v f32 [1, R]
        input slice f32 [1, R]
        w = Concat(v, slice) {axis = 0}
        output w
      end
      output y)",
         1 + kTrips},
    Case{"in an If", R"(
      y = Loop(m, _, k; r)
      body
        input i i64 []
        input go bool []
        input v f32 [1, R]
        input r f32 [1, R]
        const two i64 [] = [2]
        half = Mod(i, two)
        odd = Cast(half) {to = 9}
        w = If(odd; v, r)
        body
          input v f32 [1, R]
          input r f32 [1, R]
          w = Concat(v, r) {axis = 0}
          output w
        end
        body
          input v f32 [1, R]
          input r f32 [1, R]
          a = Neg(v)
          b = Neg(r)
          c = Concat(a, b) {axis = 0}
          w = Neg(c)
          output w
        end
        output go, w
      end
      output y)",
         1 + kTrips},
    Case{"a Loop in a Loop", R"(
      y = Loop(m, _, k; r)
      body
        input i i64 []
        input go bool []
        input v f32 [1, R]
        input r f32 [1, R]
        const three i64 [] = [3]
        w = Loop(three, _, v; r)
        body
          input j i64 []
          input run bool []
          input v f32 [1, R]
          input r f32 [1, R]
          w = Concat(v, r) {axis = 0}
          output run, w
        end
        output go, w
      end
      output y)",
         1 + 3 * kTrips},
    Case{"slices of unknown number", R"(
      _, y = Loop(_, _, k; r, m)
      body
        input i i64 []
        input go bool []
        input v f32 [1, R]
        input r f32 [1, R]
        input m i64 []
        const one i64 [] = [1]
        next = Add(i, one)
        more = Less(next, m)
        w = Add(v, r)
        output more, w, w
      end
      output y)",
         kTrips},
};

std::shared_ptr<GraphContext> context_of_case(const Case& one) {
  const std::string text = std::string(R"(
      input m i64 []
      input k f32 [1, R]
      input r f32 [1, R]
      input rows f32 [60, 1, R])") +
                           one.text;
  return context_of(std::regex_replace(text, std::regex("\\bR\\b"), std::to_string(kRow)));
}

Inputs inputs() {
  std::vector<float> row(kRow), rows;
  std::iota(row.begin(), row.end(), 1.F);
  for (std::int64_t i = 0; i < kTrips; ++i) rows.insert(rows.end(), row.begin(), row.end());
  return {bytes_of<std::int64_t>({kTrips}), bytes_of(row), bytes_of(row), bytes_of(rows)};
}

/// Bytes of tensors of one row, and of all that bodies need in addition to the state.
constexpr std::int64_t kBeside = 12 * kRow * 4;

TEST(GrowingState, HoldsAtMostTwoAndAHalfTimesTheState) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    const std::int64_t state = one.rows * kRow * 4;
    const auto context = context_of_case(one);
    std::vector<std::vector<float>> first;
    for (const int threads : {1, 2}) {
      for (const bool limited : {false, true}) {
        std::int64_t peak = 0;
        Settings settings{.threads = threads, .peak = &peak};
        if (limited) settings.budget = state * 5 / 2 + kBeside;
        const auto out = run(context, inputs(), settings);
        ASSERT_TRUE(out) << out.error().to_string();
        EXPECT_LE(peak, state * 5 / 2 + kBeside) << static_cast<double>(peak) / state;
        EXPECT_GE(peak, state);
        std::vector<std::vector<float>> all;
        for (const Tensor& tensor : *out) all.push_back(floats(tensor));
        if (first.empty()) first = all;
        EXPECT_EQ(all, first);
      }
    }
    // The last output is the (larger) state: every row of it is the first one, whole multiples of
    // it if slices are accumulated.
    const auto& rows = std::string_view(one.name).starts_with("several") ? first[0] : first.back();
    ASSERT_EQ(rows.size() % kRow, 0U);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto column = static_cast<float>(i % kRow + 1);
      ASSERT_EQ(rows[i], rows[i / kRow * kRow] * column) << i;
    }
  }
}

/// Loops whose state keeps its size need exactly the bytes of their plan.
TEST(GrowingState, FixedSizesStayInThePlan) {
  const auto context = context_of(R"(
      input m i64 []
      input k f32 [64]
      y = Loop(m, _, k)
      body
        input i i64 []
        input go bool []
        input v f32 [64]
        w = Neg(v)
        output go, w
      end
      output y)");
  std::int64_t peak = 0;
  const Settings settings{.peak = &peak};
  const auto program = program_of(context, settings);
  ASSERT_TRUE(program);
  EXPECT_FALSE((*program)->compiled().has_run_time_nodes);
  ASSERT_TRUE(run(context, {bytes_of<std::int64_t>({50}), bytes_of(std::vector<float>(64, 1.F))},
                  settings));
  EXPECT_EQ(peak, (*program)->bytes);
}

}  // namespace
}  // namespace parallax
