#include "ir/expr.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdlib>
#include <limits>

#include "ir/expr_test_util.h"

namespace parallax {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

const Expr s = Expr::symbol(SymbolId{0});
const Expr t = Expr::symbol(SymbolId{1});
const std::vector<std::string> kNames = {"s", "t", "u"};

std::string text(const Expr& e) { return e.to_string(kNames); }

TEST(Expr, EqualPolynomialsAreEqual) {
  EXPECT_EQ((s + 1) * 2 - s, s + 2);
  EXPECT_EQ((s + t) * (s - t), s * s - t * t);
  EXPECT_EQ(s - s, Expr(0));
  EXPECT_EQ(s * 0, Expr(0));
  EXPECT_EQ(max(s, t), max(t, s));
  EXPECT_NE(s, t);
  EXPECT_NE(s, Expr(1));
}

TEST(Expr, Divides) {
  EXPECT_EQ(floor_div(4 * s * t, 2 * s), 2 * t);
  EXPECT_EQ(floor_div(s * s - t * t, s + t), s - t);
  EXPECT_EQ(floor_div(3 * s + 5, 3), s + 1);
  EXPECT_EQ(floor_div(4 * s + 2, 6), floor_div(2 * s + 1, 3));
  EXPECT_EQ(floor_div(floor_div(s + 1, 2) + 3, 4), floor_div(s + 7, 8));
  EXPECT_EQ(floor_div(s + 3, -2), floor_div(-1 * s - 3, 2));
  EXPECT_EQ(floor_div(mod(s, 4), 4), Expr(0));
  EXPECT_EQ(ceil_div(s * 2, 2), s);
  EXPECT_EQ(ceil_div(s, 2), floor_div(s + 1, 2));
  EXPECT_EQ(mod(6 * s + 4, 3), Expr(1));
  EXPECT_EQ(mod(s * t, t), Expr(0));
  EXPECT_EQ(mod(4 * s + 3, 8), 4 * mod(s, 2) + 3);
  EXPECT_EQ(mod(mod(s, 4), 7), mod(s, 4));
}

TEST(Expr, ConstantsRoundTowardsMinusInfinity) {
  struct Case {
    std::int64_t a, b, quotient, remainder, ceiling;
  };
  for (const Case& c :
       std::to_array<Case>({{7, 2, 3, 1, 4},
                            {-7, 2, -4, 1, -3},
                            {7, -2, -4, -1, -3},
                            {-7, -2, 3, -1, 4},
                            {kMin, 3, -3074457345618258603, 1, -3074457345618258602},
                            {6, 3, 2, 0, 2}})) {
    EXPECT_EQ(floor_div(Expr(c.a), Expr(c.b)), Expr(c.quotient)) << c.a << " / " << c.b;
    EXPECT_EQ(mod(Expr(c.a), Expr(c.b)), Expr(c.remainder)) << c.a << " % " << c.b;
    EXPECT_EQ(ceil_div(Expr(c.a), Expr(c.b)), Expr(c.ceiling)) << c.a << c.b;
  }
}

TEST(Expr, MinAndMaxUseThatSymbolsAreDimensions) {
  EXPECT_EQ(max(1, s + 1), s + 1);
  EXPECT_EQ(max(s, 0), s);
  EXPECT_EQ(min(s, s + t), s);
  EXPECT_EQ(min(s, kMax), s);
  EXPECT_EQ(max(s, kMin), s);
  EXPECT_EQ(min(floor_div(s, 2), s - 1 + 1), min(s, floor_div(s, 2)));
  EXPECT_EQ(min(min(s, t), s), min(s, t));
  EXPECT_EQ(min(max(s, t), s), s);
  EXPECT_EQ(min(min(s, 5), 3), min(s, 3));
  EXPECT_EQ(min(mod(s, 4), 3), mod(s, 4));
  EXPECT_FALSE(max(1, s).constant());
}

TEST(Expr, BroadcastHasOneForm) {
  const Expr u = Expr::symbol(SymbolId{2});
  EXPECT_EQ(broadcast(s, 1), s);
  EXPECT_EQ(broadcast(1, 1), Expr(1));
  EXPECT_EQ(broadcast(s, s), s);
  EXPECT_EQ(broadcast(s, 5), Expr(5));
  EXPECT_EQ(broadcast(0, s), Expr(0));
  EXPECT_EQ(broadcast(s, t), broadcast(t, s));
  EXPECT_EQ(broadcast(broadcast(s, t), u), broadcast(s, broadcast(u, t)));
  EXPECT_EQ(broadcast(broadcast(s, t), broadcast(t, u)), broadcast(broadcast(u, t), s));
  EXPECT_EQ(broadcast(broadcast(s, t), 7), Expr(7));
  EXPECT_NE(broadcast(s, t), max(s, t));
  EXPECT_EQ(broadcast(s, min(s, 512)), s);
  EXPECT_EQ(broadcast(min(s, t + 1), broadcast(t, s)), broadcast(s, t));
  EXPECT_NE(broadcast(s, min(s, t)), s) << "of 1 and 0 it is 0";
  EXPECT_TRUE(broadcast(2, 3).overflow());
  EXPECT_EQ(floor_div(broadcast(s, t) * 4, broadcast(t, s)), Expr(4));
  EXPECT_EQ(text(broadcast(2 * t, s)), "broadcast(s, 2*t)");
}

TEST(Expr, BroadcastHasAValueWhereSizesDo) {
  struct Case {
    std::int64_t a, b;
    std::optional<std::int64_t> both;
  };
  for (const Case& c : std::to_array<Case>({{1, 3, 3},
                                            {3, 1, 3},
                                            {3, 3, 3},
                                            {0, 1, 0},
                                            {1, 0, 0},
                                            {0, 0, 0},
                                            {2, 3, std::nullopt},
                                            {0, 2, std::nullopt}})) {
    const std::array<std::optional<std::int64_t>, 2> values = {c.a, c.b};
    EXPECT_EQ(broadcast(s, t).evaluate(values), c.both) << c.a << ", " << c.b;
  }
  EXPECT_EQ(broadcast(s, t).lower_bound(), 0);
  EXPECT_EQ(broadcast(s + 1, t + 3).lower_bound(), 3);
}

TEST(Expr, ManyDimensionsBroadcast) {
  Expr many = s;
  for (int i = 0; i < 100; ++i) many = broadcast(many, Expr::symbol(SymbolId{i}));
  EXPECT_FALSE(many.overflow());
  EXPECT_EQ(many.symbols().size(), 100U);
  for (int i = 100; i < 1000; ++i) many = broadcast(many, Expr::symbol(SymbolId{i}));
  EXPECT_TRUE(many.overflow());
}

TEST(Expr, Bounds) {
  EXPECT_EQ((s + 3).lower_bound(), 3);
  EXPECT_EQ((s * t + 1).lower_bound(), 1);
  EXPECT_EQ((3 - s).lower_bound(), std::nullopt);
  EXPECT_EQ((5 - mod(s, 4)).lower_bound(), 2);
  EXPECT_EQ((7 - min(s, 2)).lower_bound(), 5);
  EXPECT_EQ(max(s - 5, 2).lower_bound(), 2);
}

TEST(Expr, OverflowNeverHasAValue) {
  const std::array<std::optional<std::int64_t>, 2> ones = {1, 1};
  for (const Expr& e : {Expr(kMax) + 1, Expr(kMin) - 1, Expr(kMax) * 2, floor_div(s, 0), mod(s, 0),
                        kMax * s + s, floor_div(Expr(kMin), -1)}) {
    EXPECT_TRUE(e.overflow());
    EXPECT_EQ(e.evaluate(ones), std::nullopt);
    EXPECT_FALSE(e == e) << "not known equal to anything";
    EXPECT_TRUE(max(e, 1).overflow());
    EXPECT_TRUE((e * 0).overflow());
  }
  const std::array<std::optional<std::int64_t>, 2> large = {kMax, 1};
  EXPECT_EQ((s * 2).evaluate(large), std::nullopt);
  EXPECT_EQ((s + t).evaluate(large), std::nullopt);
  EXPECT_EQ(floor_div(5, s - t).evaluate(ones), std::nullopt);
}

TEST(Expr, UnboundSymbolsHaveNoValue) {
  const std::array<std::optional<std::int64_t>, 1> values = {4};
  EXPECT_EQ((s + 1).evaluate(values), 5);
  EXPECT_EQ((s + t).evaluate(values), std::nullopt);
  EXPECT_EQ((s * t + max(t, s)).symbols(), (std::vector{SymbolId{0}, SymbolId{1}}));
}

TEST(Expr, Prints) {
  EXPECT_EQ(text(2 * s + 1), "2*s + 1");
  EXPECT_EQ(text(1 - s), "-s + 1");
  EXPECT_EQ(text(s * s * t - 3 * t), "s*s*t - 3*t");
  EXPECT_EQ(text(floor_div(s + 1, 2) * 2), "2*floor_div(s + 1, 2)");
  EXPECT_EQ(text(max(1, s)), "max(1, s)");
  EXPECT_EQ(text(Expr(-4)), "-4");
}

TEST(Expr, HostileGrowthIsBounded) {
  Expr wide = 1, deep = s, power = s;
  for (int i = 0; i < 100; ++i) {
    wide = wide * (Expr::symbol(SymbolId{i}) + 1);
    deep = mod(deep * deep + 1, deep + t);
    power = power * power;
  }
  EXPECT_TRUE(wide.overflow());
  EXPECT_TRUE(deep.overflow());
  EXPECT_TRUE(power.overflow());
}

// Random expressions: built step by step, together with their value under one assignment.
struct Sample {
  Expr expr;
  std::optional<std::int64_t> value;
};

RC_GTEST_PROP(ExprProperty, EvaluationCommutesWithEveryOperation, ()) {
  const auto values = *rc::gen::container<std::vector<std::int64_t>>(3, rc::gen::inRange(0, 9));
  const std::vector<std::optional<std::int64_t>> bound(values.begin(), values.end());
  std::vector<Sample> samples;
  for (int i = 0; i < 3; ++i) {
    samples.push_back({Expr::symbol(SymbolId{i}), values[static_cast<std::size_t>(i)]});
  }
  const auto constant = *rc::gen::inRange<std::int64_t>(-6, 7);
  samples.push_back({Expr(constant), constant});
  for (int step = 0; step < 12; ++step) {
    const auto n = static_cast<int>(samples.size());
    const Sample a = samples[static_cast<std::size_t>(*rc::gen::inRange(0, n))];
    const Sample b = samples[static_cast<std::size_t>(*rc::gen::inRange(0, n))];
    const auto op = kOperations[static_cast<std::size_t>(*rc::gen::inRange(0, 8))];
    Sample result{op(a.expr, b.expr), std::nullopt};
    if (a.value && b.value) result.value = op(Expr(*a.value), Expr(*b.value)).constant();
    const auto evaluated = result.expr.evaluate(bound);
    // Simplified forms may have a value where the long way overflowed, never another one.
    if (result.value && evaluated) RC_ASSERT(*evaluated == *result.value);
    if (result.value && !result.expr.overflow() && std::abs(*result.value) < 1 << 20) {
      RC_ASSERT(evaluated.has_value());
    }
    if (const auto low = result.expr.lower_bound(); low && evaluated) RC_ASSERT(*low <= *evaluated);
    // Wrong intermediate values are caught above; huge ones only end the walk.
    if (result.value && std::abs(*result.value) < 1 << 12) samples.push_back(result);
  }
}

RC_GTEST_PROP(ExprProperty, SumsAndProductsHaveOneForm, (std::vector<int> order)) {
  Expr forward = 0, backward = 0;
  for (std::size_t i = 0; i < order.size() && i < 20; ++i) {
    const Expr term = Expr::symbol(SymbolId{order[i] % 3 == 0}) * (order[i] % 5 + s);
    forward = forward + term;
    backward = term + backward * 1;
  }
  RC_ASSERT(forward == backward);
  RC_ASSERT(forward - backward == Expr(0));
}

}  // namespace
}  // namespace parallax
