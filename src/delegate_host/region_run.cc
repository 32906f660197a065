// Runs a region once. If the device has memory of its own, inputs are copied there, the region
// runs, and outputs that the CPU reads are copied back.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "base/caught.h"
#include "base/deadline.h"
#include "base/mutex.h"
#include "base/status.h"
#include "delegate_host/answers.h"
#include "delegate_host/bound_region.h"

namespace parallax {
namespace {

Error wrong_run(const char* what) { return {Stage::kRun, ErrorCode::kInternal, {}, what}; }

/// Several answers that are waited for together: `then` gets the first failure. The one who makes
/// it adds all he waits for and calls it once himself.
class Together : public std::enable_shared_from_this<Together> {
 public:
  explicit Together(std::function<void(Status)> then) : then_(std::move(then)) {}
  void add() { pending_.fetch_add(1); }
  void operator()(Status status) {
    if (!status) {
      const MutexLock lock(mutex_);
      if (status_) status_ = std::move(status);
    }
    if (pending_.fetch_sub(1) > 1) return;
    Status first;
    std::function<void(Status)> then;
    {
      const MutexLock lock(mutex_);
      first = std::move(status_);
      then.swap(then_);
    }
    then(std::move(first));
  }

 private:
  std::atomic<std::size_t> pending_{1};
  Mutex mutex_;
  Status status_ PX_GUARDED_BY(mutex_);
  std::function<void(Status)> then_ PX_GUARDED_BY(mutex_);
};

/// Lives until the delegate has answered everything that it was asked, and no thread is in a call
/// that asks it.
class RegionJob : public std::enable_shared_from_this<RegionJob> {
 public:
  explicit RegionJob(std::shared_ptr<RegionStep> step) : step_(std::move(step)) {}

  void start() {
    if (given().region->times != nullptr) is_alone_ = given().region->times->begin();
    Status status;
    try {
      done().on_abandon([job = weak_from_this()] {
        if (const auto self = job.lock()) self->cancel();
      });
      status = begin();
    } catch (...) {
      status = tl::unexpected(caught(Stage::kRun));
    }
    if (!status) finish(std::move(status));
  }

 private:
  const RegionStart& given() const { return step_->start(); }
  const OpenDelegate& delegate() const { return given().region->delegate(); }
  const px_delegate& table() const { return delegate().functions(); }
  const Completion& done() const { return given().done; }
  /// Returns null if the device works in the CPU's memory.
  DeviceValues* values() const { return given().run_values.get(); }
  ValueId root_of(const RegionTensor& tensor) const { return (*given().roots)[tensor.value]; }

  Status begin() {
    PX_RETURN_IF_ERROR(order_tensors());
    if (values() == nullptr) {
      launch();
      return {};
    }
    const auto all = std::make_shared<Together>(
        [self = shared_from_this()](Status status) { self->brought(std::move(status)); });
    // Copies that were started are waited for, whatever fails.
    for (const RegionTensor& input : inputs_) {
      all->add();
      try {
        values()->want(root_of(input), input, done(),
                       [all](Status status) { (*all)(std::move(status)); });
      } catch (...) {
        (*all)(tl::unexpected(caught(Stage::kRun)));
      }
    }
    (*all)({});
    return {};
  }

  /// Sorts the tensors in the order of the region's lists.
  Status order_tensors() {
    const auto order = [](const std::vector<ValueId>& wanted,
                          const std::vector<RegionTensor>& given, std::vector<RegionTensor>& list) {
      return std::ranges::all_of(wanted, [&](ValueId id) {
        const auto found = std::ranges::find(given, id, &RegionTensor::value);
        if (found == given.end() || found->bytes == nullptr) return false;
        list.push_back(*found);
        return true;
      });
    };
    const CRegion& region = *given().region->values;
    if (order(region.inputs, given().run.inputs, inputs_) &&
        order(region.outputs, given().run.outputs, outputs_) &&
        outputs_.size() == given().run.outputs.size())
      return {};
    return tl::unexpected(wrong_run("the region has other tensors than it was compiled for"));
  }

  /// Starts the region if all inputs are on the device; otherwise ends with the error.
  void brought(Status status) {
    try {
      if (status && !done().is_wanted()) status = tl::unexpected(cancelled());
      if (status) status = make_places();
      if (status) return launch();
    } catch (...) {
      status = tl::unexpected(caught(Stage::kRun));
    }
    finish(std::move(status));
  }

  Status make_places() {
    for (const RegionTensor& input : inputs_)
      if (places_.emplace_back(values()->piece(root_of(input))) == nullptr)
        return tl::unexpected(wrong_run("an input of the region is not on the device"));
    for (const RegionTensor& output : outputs_) {
      PX_ASSIGN(auto piece, values()->allocate(output));
      places_.push_back(std::move(piece));
    }
    return {};
  }

  void launch() {
    std::vector<px_place> structs(inputs_.size() + outputs_.size());
    std::vector<const px_place*> list;
    for (std::size_t i = 0; i < structs.size(); ++i) {
      const bool in = i < inputs_.size();
      const RegionTensor& tensor = in ? inputs_[i] : outputs_[i - inputs_.size()];
      structs[i] = {sizeof(px_place), places_.empty() ? tensor.bytes : nullptr,
                    places_.empty() ? nullptr : places_[i]->memory(), 0, size_of(tensor)};
      list.push_back(&structs[i]);
    }
    const px_run run = {sizeof run, inputs_.size(), list.data(), outputs_.size(),
                        list.data() + inputs_.size()};
    void* const context = ask_delegate(
        [self = shared_from_this()](Status status) { self->ran(std::move(status)); },
        [&](void* its, px_status* status) {
          return table().run(delegate().device, given().region->handle, &run, answer, its, status);
        });
    if (context == nullptr) return;
    bool cancelled = false;
    {
      const MutexLock lock(mutex_);
      cancelled = cancelled_;
      if (!answered_ && !cancelled) running_ = context;
    }
    if (cancelled) tell_delegate(context);
  }

  /// Cancels the run, which has stopped waiting.
  void cancel() noexcept {
    void* context = nullptr;
    {
      const MutexLock lock(mutex_);
      cancelled_ = true;
      context = std::exchange(running_, nullptr);
    }
    if (context != nullptr) tell_delegate(context);
  }

  /// Perhaps after the answer, which is allowed. The job keeps the binding until then.
  void tell_delegate(void* context) const noexcept {
    if (table().cancel != nullptr)
      table().cancel(delegate().device, given().region->handle, context);
  }

  void ran(Status status) {
    {
      const MutexLock lock(mutex_);
      answered_ = true;
      running_ = nullptr;
    }
    if (status && !done().is_wanted()) status = tl::unexpected(cancelled());
    if (!status || values() == nullptr) return finish(std::move(status));
    try {
      bring_back();
    } catch (...) {
      finish(tl::unexpected(caught(Stage::kRun)));
    }
  }

  /// Copies outputs back. Values that only regions of this device read stay there.
  void bring_back() {
    const auto all = std::make_shared<Together>(
        [self = shared_from_this()](Status status) { self->finish(std::move(status)); });
    Status status;
    for (std::size_t i = 0; i < outputs_.size() && status; ++i) {
      const RegionTensor& output = outputs_[i];
      const auto& piece = places_[inputs_.size() + i];
      values()->keep(output.value, piece);
      if (!values()->is_for_cpu(output.value)) continue;
      all->add();
      try {
        values()->fetch(output.value, piece, output, done(),
                        [all](Status copied) { (*all)(std::move(copied)); });
      } catch (...) {
        (*all)(tl::unexpected(caught(Stage::kRun)));
      }
    }
    (*all)(std::move(status));
  }

  void finish(Status status) {
    if (ended_.exchange(true)) return;
    if (given().region->times != nullptr) tell_time(status.has_value());
    if (!status) {
      // After a failure the device's memory may be anything.
      for (std::size_t i = inputs_.size(); i < places_.size(); ++i) places_[i]->spoil();
      if (done().is_wanted()) refuse(status.error());
    }
    places_.clear();
    end_region(step_, std::move(status));
  }

  /// Memory that is short is short for these sizes: others may do with less.
  void refuse(const Error& error) {
    const Refusal kind = refusal_of_run(error.code);
    if (kind == Refusal::kMoment) given().region->refuse(error);
    given().region->state->refuse(kind, error);
  }

  void tell_time(bool right) noexcept {
    given().region->times->end();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
    if (right && is_alone_) given().region->times->add(took.count());
  }

  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool is_alone_ = false;  // no other region ran when this began
  const std::shared_ptr<RegionStep> step_;
  std::vector<RegionTensor> inputs_, outputs_;
  std::vector<DeviceValues::Piece> places_;  // pieces of the inputs, then of the outputs
  std::atomic<bool> ended_{false};
  Mutex mutex_;
  void* running_ PX_GUARDED_BY(mutex_) = nullptr;  // the run, if the delegate knows it
  bool answered_ PX_GUARDED_BY(mutex_) = false;
  bool cancelled_ PX_GUARDED_BY(mutex_) = false;
};

/// Returns the tensors of a run by root, each once.
std::vector<std::pair<ValueId, const RegionTensor*>> roots_of(const RegionStart& start) {
  std::vector<std::pair<ValueId, const RegionTensor*>> list;
  for (const RegionTensor& input : start.run.inputs) {
    const ValueId root = (*start.roots)[input.value];
    const auto same = [&](const auto& each) { return each.first == root; };
    if (std::ranges::none_of(list, same)) list.emplace_back(root, &input);
  }
  return list;
}

}  // namespace

RegionStep::~RegionStep() {
  const Completion done = start_->done;
  start_.reset();
  if (lost_) {
    done.lost(std::move(status_->error()));
  } else if (status_) {
    done(*std::move(status_));
  }
}

void end_region(const std::shared_ptr<RegionStep>& step, Status status) noexcept {
  const RegionStart& start = step->start();
  if (start.run_values == nullptr) return step->end(std::move(status));
  const auto end = [step](const Status& fetched, Status result) {
    const RegionStart& given = step->start();
    for (const auto& [root, tensor] : roots_of(given)) given.run_values->let_go(root);
    if (fetched) return step->end(std::move(result));
    step->fail(fetched.error());
  };
  try {
    if (status || !start.done.is_wanted()) return end({}, std::move(status));
    // The CPU runs the region then: it needs what only the device has.
    const auto all =
        std::make_shared<Together>([end, status](const Status& fetched) { end(fetched, status); });
    for (const auto& [root, tensor] : roots_of(start)) {
      if (start.run_values->on_cpu(root)) continue;
      all->add();
      start.run_values->fetch(root, start.run_values->piece(root), *tensor, start.done,
                              [all](Status fetched) { (*all)(std::move(fetched)); });
    }
    (*all)({});
  } catch (...) {
    step->fail(caught(Stage::kRun));
  }
}

void run_region(RegionStart start) {
  std::make_shared<RegionJob>(std::make_shared<RegionStep>(std::move(start)))->start();
}

}  // namespace parallax
