// Tests the classes of refusals, and pauses that are counted in runs.
#include "delegate_host/refusal.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

TEST(RefusalTest, PlaceAndCodeDecide) {
  struct Row {
    ErrorCode code;
    Refusal bind, run;
  };
  for (const Row& row : {Row{ErrorCode::kUnsupported, Refusal::kSizes, Refusal::kRegion},
                         Row{ErrorCode::kOutOfMemory, Refusal::kSizes, Refusal::kMoment},
                         Row{ErrorCode::kBudgetExceeded, Refusal::kMoment, Refusal::kMoment},
                         Row{ErrorCode::kInvalidInput, Refusal::kSizes, Refusal::kRegion},
                         Row{ErrorCode::kIo, Refusal::kRegion, Refusal::kRegion},
                         Row{ErrorCode::kInternal, Refusal::kRegion, Refusal::kRegion}}) {
    EXPECT_EQ(refusal_of_bind(row.code), row.bind) << static_cast<int>(row.code);
    EXPECT_EQ(refusal_of_run(row.code), row.run) << static_cast<int>(row.code);
  }
}

/// Runs until the pause that begins now is over.
int runs_of_pause(RetryPause& pause) {
  pause.begin();
  int runs = 0;
  while (pause.is_on()) {
    ++runs;
    const bool ended = pause.count();
    EXPECT_EQ(ended, !pause.is_on());
  }
  return runs;
}

TEST(RefusalTest, PausesGrowAsLongAsTheShortageLasts) {
  RetryPause pause;
  EXPECT_FALSE(pause.is_on());
  EXPECT_FALSE(pause.count());
  for (const int runs : {16, 32, 64, 128, 256, 512, 1024, 1024})
    EXPECT_EQ(runs_of_pause(pause), runs);
  for (int run = 0; run < 1023; ++run) EXPECT_FALSE(pause.count());
  EXPECT_EQ(runs_of_pause(pause), 1024) << "it fails again soon";
  for (int run = 0; run < 1024; ++run) EXPECT_FALSE(pause.count());
  EXPECT_EQ(runs_of_pause(pause), 16) << "that shortage was over";
}

}  // namespace
}  // namespace parallax
