// Counts calls of operator new: runs like those before allocate nothing. Only those with tensors
// whose sizes depend on values do, and those that read free memory anew (kAuto).
#include <gtest/gtest.h>

#include <array>

#include "parallax/session.h"
#include "session/allocations_test_util.h"
#include "session/branches_test_util.h"
#include "session/session_test_util.h"

// Without NDEBUG, so under the sanitizers too, what watches the arena allocates.
#ifdef NDEBUG

namespace parallax {
namespace {

/// Branches, views, products, a symbol alone and one that is not.
constexpr std::string_view kSteadyModel = R"(
    symbols batch seq
    input x f32 [batch, seq, 64]
    input mask bool [batch, 2*seq]
    const flat i64 [2] = [-1, 64]
    s = Relu(x)
    a1 = Softmax(s)
    a2 = Reshape(a1, flat)
    b1 = Tanh(s)
    b2 = Reshape(b1, flat)
    t = Transpose(b2) {perm = [1, 0]}
    y = MatMul(t, a2)
    m = Not(mask)
    output y, m)";

class SteadyState : public testing::TestWithParam<Scheduler> {};

TEST_P(SteadyState, RunsAllocateNothing) {
  const Model model = model_of(kSteadyModel);
  for (const int threads : {1, 2, 4}) {
    for (const bool budgeted : {false, true}) {
      SessionOptions options{GetParam(), threads};
      if (budgeted) options.budget = MemoryBudget::of_bytes(std::int64_t{64} << 20);
      auto session = Session::create(model, options);
      ASSERT_TRUE(session);
      const Tensor x = *Tensor::allocate(DType::kF32, {2, 150, 64});
      const Tensor mask = *Tensor::allocate(DType::kBool, {2, 300});
      Tensor y = *Tensor::allocate(DType::kF32, {64, 64});
      Tensor m = *Tensor::allocate(DType::kBool, {2, 300});
      const std::array inputs = {NamedInput{"x", x.view()}, NamedInput{"mask", mask.view()}};
      const std::array outputs = {y.mutable_view(), m.mutable_view()};
      // A thread that takes part for the first time allocates what it keeps, whenever that is.
      int quiet = 0;
      for (int run = 0; run < 500 && quiet < 10; ++run) {
        const std::int64_t before = news();
        ASSERT_GT(before, 0);
        const Status status = session->run_into(inputs, outputs);
        ASSERT_TRUE(status) << status.error().to_string();
        quiet = news() == before ? quiet + 1 : 0;
      }
      EXPECT_EQ(quiet, 10) << threads << " threads, budget " << budgeted;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedulers, SteadyState,
                         testing::Values(Scheduler::kSequential, Scheduler::kLayers,
                                         Scheduler::kDataflow),
                         scheduler_name);

}  // namespace
}  // namespace parallax

#endif  // NDEBUG
