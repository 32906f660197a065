#include "run/pool/missed_work.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

using namespace std::chrono_literals;

TEST(MissedWork, IsTakenOnceAndOnlyByARunThatFollowsClosely) {
  const MissedWork::Time start{1h};
  MissedWork missed;
  EXPECT_FALSE(missed.any());
  EXPECT_EQ(missed.take(start, 50us), 0);
  missed.keep(7, start);
  EXPECT_TRUE(missed.any());
  EXPECT_EQ(missed.take(start + 50us, 50us), 7);
  EXPECT_FALSE(missed.any());
  EXPECT_EQ(missed.take(start + 50us, 50us), 0);
  missed.keep(8, start);
  EXPECT_EQ(missed.take(start + 51us, 50us), 0);
  EXPECT_FALSE(missed.any()) << "it is outdated";
}

}  // namespace
}  // namespace parallax
