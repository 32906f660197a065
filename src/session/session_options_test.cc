// Options of sessions and plans that are out of range, or that the CPU does not support.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string_view>
#include <vector>

#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

constexpr std::string_view kTwoSymbols = R"(
    symbols batch seq
    input x f32 [batch, seq, 4]
    y = Relu(x)
    output y)";

TEST(Session, RefusesOptionsThatAreNone) {
  const Model model = model_of(kTwoSymbols);
  const auto refused = [&](const SessionOptions& options) {
    const auto session = Session::create(model, options);
    return !session && session.error().code == ErrorCode::kInvalidInput;
  };
  EXPECT_FALSE(refused({}));
  const auto message = Session::create(model, {.scheduler = static_cast<Scheduler>(99)});
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().message, "scheduler must be 0 to 2, not 99");
  EXPECT_TRUE(refused({.scheduler = static_cast<Scheduler>(3)}));
  EXPECT_TRUE(refused({.budget = {static_cast<MemoryBudget::Kind>(3)}}));
  EXPECT_TRUE(refused({.kernels = static_cast<Kernels>(2)}));
  EXPECT_TRUE(refused({.admission = static_cast<Admission>(2)}));
  EXPECT_TRUE(refused({.refinement = static_cast<Refinement>(3)}));
  EXPECT_TRUE(refused({.precision = static_cast<Precision>(2)}));
  EXPECT_TRUE(refused({.threads = -1}));
  EXPECT_TRUE(refused({.threads = 1 << 20}));
  EXPECT_TRUE(refused({.budget = MemoryBudget::of_bytes(-1)}));
  EXPECT_TRUE(refused({.max_loop_trips = -1}));
  for (const double ms : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity()})
    EXPECT_TRUE(refused({.time_limit_ms = ms}));
  auto session = Session::create(model);
  ASSERT_TRUE(session);
  const std::vector<DimValue> dims = {{"batch", 1}, {"seq", 1}};
  PlanOptions unknown;
  unknown.cost_model = static_cast<CostModel>(3);
  EXPECT_EQ(Planner(*session).plan(dims, unknown).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Planner(*session).predict(dims, "none.toml", unknown).error().message,
            "cost_model must be 0 to 2, not 3");
  unknown.cost_model = CostModel::kExact;
  unknown.offload = static_cast<Offload>(2);
  EXPECT_EQ(Planner(*session).plan(dims, unknown).error().message, "offload must be 0 to 1, not 2");
}

TEST(Session, OptionsThatMakeNoSense) {
  const Model model = model_of(kTwoSymbols);
  EXPECT_EQ(Session::create(model, {.threads = -1}).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Session::create(model, {.budget = MemoryBudget::of_bytes(-1)}).error().code,
            ErrorCode::kInvalidInput);
  SessionOptions pinned{.delegates = {"cores", "opencl"}};
  pinned.pinned_plan = "plan.toml";
  EXPECT_EQ(Session::create(model, pinned).error().code, ErrorCode::kInvalidInput);
  SessionOptions rounded{.kernels = Kernels::kReference};
  rounded.precision = Precision::kBf16;
  EXPECT_EQ(Session::create(model, rounded).error().code, ErrorCode::kInvalidInput);
  const auto automatic = Session::create(model);
  ASSERT_TRUE(automatic);
  EXPECT_GE(automatic->threads(), 1);
}

TEST(Session, Bf16IsRefusedExactlyWhereTheCpuDoesNotHaveIt) {
  EXPECT_TRUE(Session::supports(Precision::kF32));
  SessionOptions options;
  options.precision = Precision::kBf16;
  const auto session = Session::create(model_of(kTwoSymbols), options);
  EXPECT_EQ(session.has_value(), Session::supports(Precision::kBf16));
  if (session) return;
  EXPECT_EQ(session.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(session.error().message, testing::HasSubstr("AVX-512-BF16"));
}

TEST(Session, NamesTheInstructionSetThatItsPrecisionsNeed) {
  EXPECT_EQ(Session::instruction_set() == "AVX-512-BF16", Session::supports(Precision::kBf16));
  EXPECT_FALSE(Session::instruction_set().empty());
  EXPECT_FALSE(Session::instruction_set().starts_with("AVX3")) << "Highway's name for AVX-512";
}

}  // namespace
}  // namespace parallax
