#include "run/pool/idle.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

using namespace std::chrono_literals;

TEST(Patience, LastsWhileGapsAreShortAndFadesWhereTheyAreNot) {
  Patience patience(100us);
  EXPECT_EQ(patience.now(), 100us);
  const struct {
    std::chrono::nanoseconds gap;
    std::chrono::microseconds then;
  } rows[] = {{5us, 100us}, {101us, 50us}, {1s, 25us}, {1s, 12us}, {100us, 100us}, {2ms, 50us}};
  for (const auto& row : rows) {
    patience.waited(row.gap);
    EXPECT_EQ(patience.now(), row.then) << row.gap.count();
  }
  for (int i = 0; i < 8; ++i) patience.waited(1s);
  EXPECT_EQ(patience.now(), 0us) << "it sleeps immediately";
}

TEST(Patience, WaitsUntilItIsDoneOrItsTimeIsOver) {
  const Patience patience(1us);
  patience.wait([] { return false; });
  int looks = 0;
  const Patience long_one(1h);
  long_one.wait([&] { return ++looks == 3; });
  EXPECT_EQ(looks, 3);
}

TEST(Idle, SpinsUntilItsTimeIsOver) {
  Idle idle;
  EXPECT_TRUE(idle.spin(0us)) << "the first looks need no clock";
  while (idle.spin(1us)) continue;
  idle.reset();
  EXPECT_TRUE(idle.spin(0us));
}

}  // namespace
}  // namespace parallax
