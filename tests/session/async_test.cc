// Runs that their callers do not wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <optional>
#include <thread>

#include "parallax/session.h"
#include "session/session_test_util.h"
#include "session/threads_test_util.h"

namespace parallax {
namespace {

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

using Outputs = Result<std::vector<Tensor>>;

/// A model whose first output is x + 1, after as many trips of a loop as are asked for.
class Async : public testing::Test {
 protected:
  Async() {
    for (int i = 0; i < 40; ++i) {
      x_.push_back(*Tensor::allocate(DType::kF32, {64}));
      for (int k = 0; k < 64; ++k) x_.back().mutable_view().as<float>()[k] = static_cast<float>(i);
    }
    *trips_.mutable_view().as<std::int64_t>() = 2;
    *for_ever_.mutable_view().as<std::int64_t>() = kForEver;
  }
  Session session(const Runtime& runtime, int threads = 0) const {
    return *Session::create(model_, {.threads = threads, .max_loop_trips = kForEver}, runtime);
  }
  std::vector<NamedInput> inputs(std::size_t which = 0) const {
    return {{"x", x_[which].view()}, {"most", trips_.view()}};
  }
  std::vector<NamedInput> endless_inputs() const {
    return {{"x", x_[0].view()}, {"most", for_ever_.view()}};
  }
  /// -1 for an error.
  static float value(const Outputs& outputs) {
    return outputs ? outputs->front().view().as<float>()[63] : -1;
  }

  const Model model_ = model_of(R"(
    input x f32 [64]
    input most i64 []
    const go bool [] = [1]
    const one f32 [] = [1]
    s = Add(x, one)
    y = Loop(most, go, s)
    body
      input i i64 []
      input go bool []
      input v f32 [64]
      u = Neg(v)
      output go, u
    end
    output y)");
  std::vector<Tensor> x_;
  Tensor trips_ = *Tensor::allocate(DType::kI64, {}),
         for_ever_ = *Tensor::allocate(DType::kI64, {});
};

TEST_F(Async, AFutureHasWhatARunGives) {
  Session session = this->session(*Runtime::create({.threads = 2}));
  std::vector<std::future<Outputs>> futures;
  for (std::size_t i = 0; i < x_.size(); ++i) futures.push_back(*session.run_async(inputs(i)));
  for (std::size_t i = 0; i < x_.size(); ++i)
    EXPECT_EQ(value(futures[i].get()), static_cast<float>(i) + 1);
}

TEST_F(Async, RunsBeginInTheOrderOfTheirCalls) {
  const Runtime runtime = *Runtime::create({.threads = 1});
  Session a = session(runtime), b = session(runtime);
  std::vector<float> order, expected;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    Session& session = i % 3 == 0 ? a : b;
    ASSERT_TRUE(session.run_async(inputs(i), [&](const Outputs& outputs) {
      order.push_back(value(outputs));  // there is one thread
    }));
    expected.push_back(static_cast<float>(i) + 1);
  }
  ASSERT_EQ(value(a.run_async(inputs())->get()), 1);
  EXPECT_EQ(order, expected);
}

TEST_F(Async, ErrorsGoToTheCallback) {
  Session session = this->session(*Runtime::create({.threads = 2}));
  const auto outputs = session.run_async(std::vector<NamedInput>{})->get();
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::kInvalidInput);
  const Status none = session.run_async(inputs(), Session::Done(), {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidInput);
}

TEST_F(Async, RunsAreCancelledInTheMiddleAndBeforeTheyBegin) {
  Session session = this->session(*Runtime::create({.threads = 1}));
  std::stop_source first, second;
  auto runs = *session.run_async(endless_inputs(), {.stop = first.get_token()});
  auto waits = *session.run_async(endless_inputs(), {.stop = second.get_token()});
  auto goes_on = *session.run_async(inputs());
  second.request_stop();
  first.request_stop();
  EXPECT_EQ(runs.get().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(waits.get().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(value(goes_on.get()), 1);
}

TEST_F(Async, ASessionWaitsForItsRuns) {
  std::atomic<int> done{0};
  {
    Session session = this->session(*Runtime::create({.threads = 2}));
    for (std::size_t i = 0; i < x_.size(); ++i)
      ASSERT_TRUE(session.run_async(inputs(i), [&](const Outputs& outputs) {
        EXPECT_TRUE(outputs);
        ++done;
      }));
    Session moved = std::move(session);
  }
  EXPECT_EQ(done, static_cast<int>(x_.size()));
}

TEST_F(Async, TakesNoMoreThreadsThanTheRuntimeMay) {
  for (const int width : {1, 3, 4}) {
    const std::ptrdiff_t before = threads_now();
    const Runtime runtime = *Runtime::create({.threads = 4});
    Session session = this->session(runtime, width);
    std::stop_source all;
    std::vector<std::future<Outputs>> futures;
    for (int i = 0; i < 10; ++i)
      futures.push_back(*session.run_async(endless_inputs(), {.stop = all.get_token()}));
    EXPECT_LE(threads_now(), before + 4);
    all.request_stop();
    for (auto& future : futures) EXPECT_EQ(future.get().error().code, ErrorCode::kCancelled);
  }
}

TEST_F(Async, ThreadsEndWhereASessionNeedsWorkers) {
  const std::ptrdiff_t before = threads_now();
  const Runtime runtime = *Runtime::create({.threads = 4});
  Session narrow = session(runtime, 1);
  std::stop_source all;
  std::vector<std::future<Outputs>> futures;
  for (int i = 0; i < 4; ++i)
    futures.push_back(*narrow.run_async(endless_inputs(), {.stop = all.get_token()}));
  EXPECT_GT(threads_now(), before + 2) << "they run at once";
  Session wide = session(runtime, 4);
  all.request_stop();
  for (auto& future : futures) EXPECT_EQ(future.get().error().code, ErrorCode::kCancelled);
  while (threads_now() > before + 4) std::this_thread::yield();
  for (std::size_t i = 0; i < x_.size(); ++i)
    EXPECT_EQ(value(wide.run_async(inputs(i))->get()), static_cast<float>(i) + 1);
  EXPECT_LE(threads_now(), before + 4);
}

TEST_F(Async, AChildBeginsAnew) {
  if (!child_has_threads()) GTEST_SKIP() << kNoThreadsInChildren;
  const Runtime runtime = *Runtime::create({.threads = 2});
  Session session = this->session(runtime);
  {
    Session other = this->session(runtime);
    ASSERT_EQ(value(other.run_async(inputs())->get()), 1);
  }
  constexpr int kTorn = 77;
  int status = 0;
  do {  // the thread that ran may be on its way out of the call
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(120);
      auto future = session.run_async(inputs(3));
      ::_exit(!future ? kTorn : value(future->get()) == 4 ? 0 : 1);
    }
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
  } while (WEXITSTATUS(status) == kTorn);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace parallax
