// A device for tests: it answers from its own thread, late and in any order, with an error, twice,
// or never.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "run/device.h"

namespace parallax {

enum class Answer : std::uint8_t { kDone, kAtOnce, kTwice, kError, kThrows, kNone, kNever };

/// Computes regions of unary operators and Add, with a short delay, one by one in random order.
class TestDevice final : public Device {
 public:
  TestDevice(const Graph& graph, const IdVector<NodeId, RegionId>& region_of)
      : graph_(graph), region_of_(region_of), timer_([this] { work(); }) {}
  /// Makes a device and a thread for each body as well.
  explicit TestDevice(const GraphContext& context)
      : TestDevice(context.graph, context.delegation.region_of) {
    for (const auto& [node, bodies] : context.bodies)
      for (std::size_t i = 0; i < bodies.size(); ++i)
        bodies_[{node, i}] = std::make_unique<TestDevice>(*bodies[i]);
  }
  ~TestDevice() override {
    {
      const MutexLock lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    timer_.join();
  }
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  /// Sets the answer of a region from now on; the default is kDone.
  void will(RegionId region, Answer answer) {
    const MutexLock lock(mutex_);
    answers_[region] = answer;
  }
  /// Answers all regions that it never answered.
  void answer_all() {
    const MutexLock lock(mutex_);
    for (Job& job : silent_) jobs_.push_back(std::move(job));
    silent_.clear();
    changed_.notify_all();
  }
  std::size_t silent() {
    const MutexLock lock(mutex_);
    return silent_.size();
  }
  /// Regions that were begun on the thread that answers.
  std::vector<RegionId> begun_by_answers() {
    const MutexLock lock(mutex_);
    return begun_by_answers_;
  }

  /// Returns this device and those of all bodies.
  std::vector<TestDevice*> all() {
    std::vector<TestDevice*> list = {this};
    for (const auto& [key, body] : bodies_)
      for (TestDevice* const inside : body->all()) list.push_back(inside);
    return list;
  }
  TestDevice* in_body(NodeId node, std::size_t body) override {
    const auto found = bodies_.find({node, body});
    return found == bodies_.end() ? nullptr : found->second.get();
  }

  Result<std::shared_ptr<void>> bind(RegionId, const std::vector<ValueDims>& sizes,
                                     const Logger*) override {
    ++bindings;
    if (refused_bindings.fetch_sub(1) > 0)
      return tl::unexpected(Error{Stage::kRun, ErrorCode::kOutOfMemory, {}, "no room"});
    return std::shared_ptr<std::vector<ValueDims>>(
        new std::vector<ValueDims>(sizes), [this](const std::vector<ValueDims>* old) {
          if (std::this_thread::get_id() == timer_.get_id()) ++destroyed_by_answers;
          delete old;
        });
  }
  std::atomic<int> bindings{0}, refused_bindings{0}, starts{0};
  std::atomic<int> destroyed_by_answers{0};  ///< bindings destroyed on the thread that answers

  void start(RegionRun run, Completion done) override {
    ++starts;
    if (const auto* bound = static_cast<const std::vector<ValueDims>*>(run.bound.get()))
      check_sizes(*bound, run);
    Job job{std::move(run), std::move(done)};
    for (const RegionTensor& input : job.run.inputs)
      if (input.space == MemorySpace::kHost) job.values[input.value] = read(input);
    {
      const MutexLock lock(mutex_);
      if (std::this_thread::get_id() == timer_.get_id())
        begun_by_answers_.push_back(job.run.region);
      const auto answer = answers_.find(job.run.region);
      if (answer != answers_.end()) job.answer = answer->second;
      if (job.answer != Answer::kAtOnce && job.answer != Answer::kThrows) {
        (job.answer == Answer::kNever ? silent_ : jobs_).push_back(std::move(job));
        return changed_.notify_all();
      }
    }
    if (job.answer == Answer::kThrows) throw std::bad_alloc();
    compute(job);
  }

 private:
  /// Aborts unless the tensors have the sizes that the region was bound to.
  static void check_sizes(const std::vector<ValueDims>& bound, const RegionRun& run) {
    for (const auto* list : {&run.inputs, &run.outputs})
      for (const RegionTensor& tensor : *list)
        for (const ValueDims& each : bound)
          if (each.value == tensor.value && !(each.dims == tensor.dims)) std::abort();
  }

  struct Job {
    RegionRun run;
    Completion done;
    std::map<ValueId, std::vector<float>> values = {};
    Answer answer = Answer::kDone;
  };

  static std::vector<float> read(const RegionTensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.dims.elements()));
    std::memcpy(values.data(), tensor.bytes, values.size() * sizeof(float));
    return values;
  }

  void work() {
    while (true) {
      std::optional<Job> job;
      {
        const MutexLock lock(mutex_);
        while (jobs_.empty() && !ends_) changed_.wait(mutex_);
        if (jobs_.empty()) return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
      {
        const MutexLock lock(mutex_);
        const auto any = jobs_.begin() + static_cast<std::ptrdiff_t>(random_() % jobs_.size());
        job.emplace(std::move(*any));
        jobs_.erase(any);
      }
      compute(*job);
    }
  }

  void compute(Job& job) {
    if (job.answer == Answer::kNone) return;
    if (job.answer == Answer::kError) {
      return job.done(
          tl::unexpected(Error{Stage::kRun, ErrorCode::kOutOfMemory, {}, "device lost"}));
    }
    for (const RegionTensor& input : job.run.inputs)
      if (input.space != MemorySpace::kHost) job.values[input.value] = read(input);
    for (const NodeId id : graph_.nodes.ids())
      if (region_of_[id] == job.run.region) compute(graph_.nodes[id], job);
    for (const RegionTensor& output : job.run.outputs) {
      const std::vector<float>& values = job.values[output.value];
      std::memcpy(output.bytes, values.data(), values.size() * sizeof(float));
    }
    job.run.bound = nullptr;
    job.done({});
    if (job.answer == Answer::kTwice) job.done(tl::unexpected(Error{}));
  }

  static void compute(const Node& node, Job& job) {
    std::vector<float> result = job.values[node.inputs[0]];
    const std::vector<float>& other = job.values[node.inputs.back()];
    for (std::size_t i = 0; i < result.size(); ++i) {
      float& x = result[i];
      const std::string_view op = to_string(node.op);
      x = op == "Neg"    ? -x
          : op == "Abs"  ? std::fabs(x)
          : op == "Relu" ? std::max(x, 0.F)
                         : x + other[i];
    }
    job.values[node.outputs[0]] = std::move(result);
  }

  const Graph& graph_;
  const IdVector<NodeId, RegionId>& region_of_;
  std::map<std::pair<NodeId, std::size_t>, std::unique_ptr<TestDevice>> bodies_;
  Mutex mutex_;
  Condition changed_;
  std::map<RegionId, Answer> answers_ PX_GUARDED_BY(mutex_);
  std::vector<Job> jobs_ PX_GUARDED_BY(mutex_), silent_ PX_GUARDED_BY(mutex_);
  std::vector<RegionId> begun_by_answers_ PX_GUARDED_BY(mutex_);
  bool ends_ PX_GUARDED_BY(mutex_) = false;
  std::minstd_rand random_;  // used by the timer thread only
  std::thread timer_;
};

/// While it lives, a caller who cancels the run as soon as the device leaves a region unanswered.
class ImpatientCaller {
 public:
  /// `stop` is the run's.
  ImpatientCaller(TestDevice& device, std::stop_token& stop) : stop_(stop) {
    stop_ = caller_.get_token();
    asks_ = std::thread([this, &device] {
      while (device.silent() == 0) std::this_thread::yield();
      caller_.request_stop();
    });
  }
  ~ImpatientCaller() {
    asks_.join();
    stop_ = {};
  }
  ImpatientCaller(const ImpatientCaller&) = delete;
  ImpatientCaller& operator=(const ImpatientCaller&) = delete;

 private:
  std::stop_token& stop_;
  std::stop_source caller_;
  std::thread asks_;
};

}  // namespace parallax
