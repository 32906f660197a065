// Runs of several sessions that share what memory is free, all at once: some end well, others by an
// index, by their trips or by their time, each inside If, Loop and Scan. For ThreadSanitizer above
// all.
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "parallax/session.h"
#include "run/mixed_program_test_util.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

struct RunKind {
  SessionOptions options;
  std::int64_t index, big;
  std::optional<ErrorCode> code;  ///< nothing: the run ends well
};

SessionOptions under_auto(Scheduler scheduler) {
  SessionOptions options;
  options.scheduler = scheduler;
  options.threads = 2;
  options.budget = MemoryBudget::automatic();
  return options;
}

std::vector<RunKind> kinds(Scheduler scheduler) {
  const SessionOptions plain = under_auto(scheduler);
  SessionOptions trips = plain, time = plain;
  trips.max_loop_trips = 2100;  // more than the Scan has
  time.time_limit_ms = 2;
  return {{plain, 2, 5, std::nullopt},
          {plain, 256, 500, ErrorCode::kOutOfRange},
          {trips, 2, 500, ErrorCode::kLimitExceeded},
          {time, 2, 100'000, ErrorCode::kLimitExceeded}};
}

class Mixed {
 public:
  Mixed(const Model& model, const RunKind& kind)
      : kind_(kind),
        session_(*Session::create(model, kind.options)),
        bytes_(mixed_inputs(kind.index, kind.big)) {
    const std::array<Dims, 6> dims = {Dims{8}, {kScans, 8}, {256, 256}, {}, {1}, {}};
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const TensorInfo& info = model.inputs()[i];
      inputs_.push_back({info.name, {info.dtype, dims[i], bytes_[i]}});
    }
  }

  /// What a run gives; counts one that ends in another way than it should.
  Result<std::vector<Tensor>> run() {
    auto outputs = session_.run(inputs_);
    const bool right =
        outputs ? !kind_.code && floats((*outputs)[0])[9] == 2 : kind_.code == outputs.error().code;
    EXPECT_TRUE(right) << (outputs ? "ran" : outputs.error().to_string());
    return outputs;
  }

 private:
  const RunKind kind_;
  Session session_;
  const Inputs bytes_;
  std::vector<NamedInput> inputs_;
};

TEST(MixedRuns, ShareFreeMemory) {
  const Model model = model_of(mixed_program());
  for (const Scheduler scheduler : {Scheduler::kDataflow, Scheduler::kLayers}) {
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<Mixed>> sessions;
    for (const RunKind& kind : kinds(scheduler))
      sessions.push_back(std::make_unique<Mixed>(model, kind));
    for (const auto& session : sessions) {
      for (int callers = 0; callers < 2; ++callers) {
        threads.emplace_back([&session] {
          for (int i = 0; i < 3; ++i) (void)session->run();
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(sessions[0]->run());  // nothing of the others is left
  }
}

}  // namespace
}  // namespace parallax
