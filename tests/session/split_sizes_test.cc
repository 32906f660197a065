// Models that run on the CPU and a delegate at once, under many sizes: each has regions of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "delegate_host/test_delegate_util.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

class SplitSizes : public testing::Test {
 protected:
  SplitSizes() {
    // As fast as the CPU, so that each gets a part.
    const std::string_view fast = "macs_per_second = 1e15";
    faults_.profile.replace(faults_.profile.find(fast), fast.size(), "macs_per_second = 1e6");
    impl_of(runtime_).delegates.add(&table_);
    options_.delegates = {"test"};
    options_.threads = 1;
    options_.rates = Rates::kDeclared;
    options_.co_execution = true;
    options_.delegate_time_limit_ms = 60'000;  // the machine may be busy
  }
  /// Parts have some of 64 rows, of all columns: by name those of one size are those of another.
  void expect_right(Session& session, std::int64_t columns) {
    std::vector<float> x(static_cast<std::size_t>(columns) * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 8 - 0.5F;
    const NamedInput input{"x", {DType::kF32, {64, columns}, std::as_bytes(std::span(x))}};
    RunTrace trace;
    const auto got = session.run({&input, 1}, {.trace = &trace});
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR((*got)[0].view().as<float>()[i], std::exp(-std::exp(x[i])), 1e-5) << i;
    EXPECT_EQ(trace.regions.size(), 1U);
    EXPECT_FALSE(trace.nodes.empty()) << "the CPU has a part too";
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  const Runtime runtime_ = *Runtime::create({.threads = 1});
  const Model model_ = model_of(R"(
      symbols n
      input x f32 [64, n]
      a = Exp(x) @a
      b = Neg(a) @b
      c = Exp(b) @c
      output c)");
  SessionOptions options_;
};

TEST_F(SplitSizes, ARegionIsBoundToTheSizesThatItWasCompiledFor) {
  Session session = *Session::create(model_, options_, runtime_);
  for (const std::int64_t columns : {512, 1024, 640, 512}) expect_right(session, columns);
  EXPECT_EQ(faults_.wrong_sizes, 0);
  EXPECT_EQ(faults_.compiled, 3);
  EXPECT_EQ(faults_.bound, 3);
}

TEST_F(SplitSizes, RegionsGoWithTheirPlans) {
  faults_.at_once = true;  // no thread that answers holds a plan
  Session session = *Session::create(model_, options_, runtime_);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) expect_right(session, 512 + 64 * (4 * round + i));
    EXPECT_EQ(faults_.regions, round == 0 ? 4 : 5);
    session.trim();
    EXPECT_EQ(faults_.regions, 1) << "the latest plan's";
  }
  EXPECT_EQ(faults_.compiled, 12);
}

}  // namespace
}  // namespace parallax
