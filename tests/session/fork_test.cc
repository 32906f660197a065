// Sessions in children of the process that made them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/machine/fork.h"
#include "base/machine/large_pages.h"
#include "parallax/model.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "planning/weight_prefault.h"
#include "session/branches_test_util.h"
#include "session/session_test_util.h"
#include "session/threads_test_util.h"

namespace parallax {
namespace {

class Fork : public testing::Test {
 protected:
  void SetUp() override {
    if (kForkLeavesLocks) GTEST_SKIP() << "the address sanitizer's locks are left as they are";
  }
};

/// What `check` gives in a child: 0 where all is well.
int in_child(const std::function<int()>& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kPatienceOfChildren);
    ::_exit(check());
  }
  int status = -1;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(Fork, AChildDestroysWhatItsParentMade) {
  auto model = std::make_unique<Model>(model_of(kTwoBranches));
  for (const int threads : {1, 2, 4}) {
    std::optional<Session> session = *Session::create(*model, {.threads = threads});
    for (const bool used : {false, true}) {
      if (used) {
        ASSERT_TRUE(BranchesInput(100).run(*session));
      }
      EXPECT_EQ(in_child([&] {
                  session.reset();
                  model.reset();
                  return 0;
                }),
                0);
    }
    EXPECT_TRUE(BranchesInput(100).run(*session));
  }
}

TEST_F(Fork, AChildRunsWhatItsParentMade) {
  if (!child_has_threads()) GTEST_SKIP() << kNoThreadsInChildren;
  const Model model = model_of(kTwoBranches);
  for (const Scheduler scheduler :
       {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
    auto session = Session::create(model, {.scheduler = scheduler, .threads = 3});
    ASSERT_TRUE(session);
    const BranchesInput known(1000), other(700);
    const auto expected = known.run(*session);
    const auto check = [&] {
      std::atomic<int> wrong{0};
      const auto run = [&] {
        for (int i = 0; i < 10; ++i) {
          const auto got = known.run(*session);
          if (!got || !same_bits(*got, *expected) || !other.run(*session)) ++wrong;
        }
      };
      std::thread beside(run);
      run();
      beside.join();
      return wrong != 0 ? 1 : session->threads() != 3 ? 2 : 0;
    };
    EXPECT_EQ(in_child([&] {
                const int mine = check();
                return mine != 0 ? mine : in_child(check) != 0 ? 3 : 0;
              }),
              0);
    EXPECT_EQ(check(), 0);
  }
}

TEST_F(Fork, AChildRunsWithoutTheDelegateOfItsParent) {
  if (!child_has_threads()) GTEST_SKIP() << kNoThreadsInChildren;
  const Model model = model_of(kTwoBranches);
  SessionOptions options;
  options.threads = 2;
  options.delegates = {"cores"};
  options.offload = Offload::kAll;
  std::optional<Session> session = *Session::create(model, options);
  ASSERT_TRUE(BranchesInput(100).run(*session));
  EXPECT_EQ(in_child([&] {
              if (!BranchesInput(100).run(*session)) return 1;
              session.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              // One that the child opens itself.
              auto own = Session::create(model, options);
              if (!own || !BranchesInput(100).run(*own)) return 1;
              return own->delegates()[0].failures.empty() ? 0 : 2;
            }),
            0);
  EXPECT_TRUE(BranchesInput(100).run(*session));
}

TEST_F(Fork, NothingRunsInAChildThatWasForkedDuringACall) {
  auto model = std::make_unique<Model>(model_of(kTwoBranches));
  auto session = std::make_unique<Session>(*Session::create(*model, {.threads = 2}));
  const Call call;
  EXPECT_EQ(in_child([&] {
              const auto refused = [](const auto& result) {
                return !result && result.error().code == ErrorCode::kUnsupported;
              };
              if (!refused(BranchesInput(10).run(*session))) return 1;
              if (!refused(Session::create(*model)) || !refused(Model::load("m.onnx"))) return 2;
              if (!refused(inspect_file("m.onnx"))) return 4;
              if (Planner(*session).cache_bytes() != 0) return 3;
              session.reset();
              model.reset();
              return 0;
            }),
            0);
}

TEST_F(Fork, EndsWhatGetsMemoryForWeights) {
  auto graph = parse_graph(R"(
    input x f32 [2, 2]
    const a f32 [2, 2] = [1, 2, 3, 4]
    y = MatMul(x, a)
    output y)");
  ASSERT_TRUE(graph);
  const std::vector<std::byte> bytes(std::size_t{64} << 20);
  graph->values[graph->nodes[NodeId{0}].inputs[1]].constant->bytes = bytes;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto weights = std::make_shared<GraphContext::Weights>();
    auto prefault = std::make_unique<WeightPrefault>(*graph, weights);
    EXPECT_EQ(in_child([&] {
                prefault.reset();
                const auto fill = [](std::byte* block) { std::memset(block, 1, 100); };
                return weights->packed.get(bytes.data(), "plain", 100, fill) ? 0 : 1;
              }),
              0);
  }
}

}  // namespace
}  // namespace parallax
