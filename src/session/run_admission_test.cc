#include "session/run_admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "session/branches_test_util.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

/// Plans for kTwoBranches under a budget that the test sets.
class RunAdmissionTest : public testing::Test {
 protected:
  RunAdmissionTest() { account_->add(plans_); }
  ~RunAdmissionTest() override { account_->remove(plans_); }

  Result<AdmittedRun> admit(const Deadline& deadline = {}) {
    return admission_.admit(binding_, deadline);
  }
  std::int64_t most() { return (*plans_.get(binding_, {}))->bytes; }
  std::int64_t least() { return (*plans_.get(binding_, {std::nullopt, false}))->bytes; }

  /// Returns the result of admit() after it waited for another run while the budget fell to
  /// `later`.
  Result<AdmittedRun> admit_after_wait(std::int64_t later) {
    const std::int64_t other = most();
    budget_ = 2 * other - 1;  // room for one of the two
    std::optional<Result<AdmittedRun>> result;
    std::thread waiting;
    {
      const auto held = account_->memory.acquire({other, {}, false});
      waiting = std::thread([&] { result.emplace(admit()); });
      while (account_->memory.waiting() == 0) std::this_thread::yield();
      budget_ = later;
    }
    waiting.join();
    return *std::move(result);
  }

  const Model model_ = unchained_model_of(kTwoBranches);
  const Binding binding_{{1000}};
  std::atomic<std::int64_t> budget_{0};
  const std::shared_ptr<MemoryAccount> account_ = *make_memory_account();
  PlanCache plans_{impl_of(model_).forms, {.threads = 2}};
  RunAdmission admission_{plans_, *account_, [this] { return RunBudget{budget_.load(), true}; }};
};

TEST_F(RunAdmissionTest, ARunThatWaitedGoesByTheBudgetAfterTheWait) {
  ASSERT_LT(least(), most());
  for (const std::int64_t later : {least(), most() - 1, most()}) {
    const auto run = admit_after_wait(later);
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_EQ(run->budget.bytes, later);
    EXPECT_LE(run->program->bytes, later);
    EXPECT_EQ(run->program->bytes == most(), later == most());
  }
  EXPECT_EQ(account_->memory.busy_bytes(), 0);
}

TEST_F(RunAdmissionTest, NothingFitsABudgetThatFellTooFar) {
  const auto run = admit_after_wait(least() - 1);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::kBudgetExceeded);
  EXPECT_NE(run.error().message.find(": 1 bytes missing"), std::string::npos);
  budget_ = most();
  EXPECT_TRUE(admit());
}

TEST_F(RunAdmissionTest, TheTimeOfARunCoversPlanningWhichIsNotInVain) {
  budget_ = std::int64_t{1} << 30;
  const auto late = admit(std::chrono::steady_clock::now());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kLimitExceeded);
  EXPECT_GT(plans_.times().plan_ms, 0);
  const double planned = plans_.times().plan_ms;
  EXPECT_TRUE(admit());
  EXPECT_EQ(plans_.times().plan_ms, planned);  // the plan was reused
}

TEST_F(RunAdmissionTest, TheTimeOfARunCoversWaiting) {
  budget_ = 2 * most() - 1;
  const auto held = account_->memory.acquire({most(), {}, false});
  const auto late = admit(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kLimitExceeded);
}

TEST_F(RunAdmissionTest, ASmallerPlanIsNoneWhereItLeavesNoMoreRoom) {
  budget_ = most();
  const auto first = admit();
  ASSERT_TRUE(first);
  const auto program = first->program;
  ASSERT_GT(program->bytes, least());
  budget_ = 2 * most();
  const auto smaller = admission_.admit_smaller(binding_, {}, *program, 0);
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->program->bytes, least());
  const auto none = admission_.admit_smaller(binding_, {}, *smaller->program, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kBudgetExceeded);
}

}  // namespace
}  // namespace parallax
