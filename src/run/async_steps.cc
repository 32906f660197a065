#include "run/async_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "run/run.h"

namespace parallax {
namespace {

/// Whether this thread has ended a step and is beginning the next.
thread_local bool begins_next = false;

}  // namespace

struct Completion::Step {
  Step(std::shared_ptr<AsyncSteps> steps_in, BranchId branch_in)
      : steps(std::move(steps_in)), branch(branch_in) {}
  ~Step() {
    if (!called) steps->complete(branch, tl::unexpected(no_answer()));
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// Returns an error whose text is so short that a string allocates nothing for it.
  static Error no_answer() { return {Stage::kRun, ErrorCode::kInternal, {}, "no answer"}; }

  const std::shared_ptr<AsyncSteps> steps;
  const BranchId branch;
  const std::shared_ptr<AbandonHook> hook = std::make_shared<AbandonHook>();
  std::atomic<bool> called{false};
};

void AbandonHook::set(std::function<void()> cancel) {
  {
    const MutexLock lock(mutex_);
    if (!called_) {
      cancel_ = std::move(cancel);
      return;
    }
  }
  cancel();
}

void AbandonHook::call() noexcept {
  std::function<void()> cancel;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(called_, true)) return;
    cancel.swap(cancel_);
  }
  if (cancel != nullptr) cancel();
}

Completion::Completion(std::shared_ptr<AsyncSteps> steps, BranchId branch)
    : step_(std::make_shared<Step>(std::move(steps), branch)) {}

void Completion::operator()(Status status) const {
  if (step_->called.exchange(true)) return;
  step_->steps->complete(step_->branch, std::move(status));
}

void Completion::lost(Error error) const noexcept {
  if (step_->called.exchange(true)) return;
  step_->steps->fail(step_->branch, std::move(error));
}

void Completion::copied(ValueId value, bool to_device, std::int64_t bytes,
                        std::chrono::steady_clock::time_point begin) const noexcept {
  step_->steps->copied(step_->branch, {value, to_device, bytes, begin});
}

const std::shared_ptr<AbandonHook>& Completion::hook() const { return step_->hook; }

void Completion::on_abandon(std::function<void()> cancel) const {
  step_->hook->set(std::move(cancel));
}

bool Completion::is_wanted() const { return step_->steps->has_begun(step_->branch); }

void AsyncSteps::set_listener(StepListener* listener) {
  const MutexLock lock(mutex_);
  listener_ = listener;
}

/// Adds a pending step. REQUIRES: the run has not failed.
Completion AsyncSteps::add_begun(Run& run, BranchId branch, RegionId region, Device& device) {
  const bool is_own = branch.valid() && &run == &run_;
  const BranchId number = is_own ? branch : BranchId{next_number_--};
  // Allocate first: if this throws later, the destructor of the Completion would lock the mutex.
  abandoned_.reserve(abandoned_.size() + begun_.size() + 1);
  ending_.reserve(ending_.size() + begun_.size() + 1);
  begun_.reserve(begun_.size() + 1);
  Completion done(shared_from_this(), number);
  begun_.push_back({number, &run, branch, region, &device,
                    std::chrono::steady_clock::now() + region_time_, done.hook()});
  return done;
}

bool AsyncSteps::begin(Run& run, BranchId branch, Device& device, RegionRun region) {
  std::optional<Completion> done;
  {
    const MutexLock lock(mutex_);
    // A thread that cancels a run stops it before it abandons steps here.
    if (run_.failed()) return false;
    done.emplace(add_begun(run, branch, region.region, device));
  }
  try {
    device.start(std::move(region), *done);
  } catch (...) {
    (*done)(tl::unexpected(caught(Stage::kRun)));
  }
  return true;
}

void AsyncSteps::begin_copy(Run& run, RegionId region, Device& device, DeviceRun& of,
                            const RegionTensor& value) {
  std::optional<Completion> done;
  {
    const MutexLock lock(mutex_);
    if (run_.failed()) return;
    done.emplace(add_begun(run, BranchId{}, region, device));
  }
  try {
    device.start_copy(of, value, *done);
  } catch (...) {
    (*done)(tl::unexpected(caught(Stage::kRun)));
  }
}

void AsyncSteps::complete(BranchId number, Status status) noexcept {
  std::unique_ptr<Memory> memory;  // freed without the mutex
  std::optional<Begun> step;
  {
    const MutexLock lock(mutex_);
    step = take_begun(number);
    if (!step) memory = take_answered(number);
  }
  if (step) end(*step, std::move(status));
}

void AsyncSteps::fail(BranchId number, Error error) noexcept {
  std::optional<Begun> step;
  {
    const MutexLock lock(mutex_);
    step = take_begun(number);
    if (step) late_ = true;
  }
  if (!step) return complete(number, tl::unexpected(std::move(error)));
  step->device->late(step->region, error);
  step->run->fail_branch(step->branch, error);
  end(*step, tl::unexpected(std::move(error)));
}

/// Ends a step, and begins the next region on this thread: waking a thread of the pool would cost
/// more. If the device answers inside a start() that begin_next() called, the pool begins the next
/// region, so that calls nest at most once.
void AsyncSteps::end(const Begun& step, Status status) noexcept {
  const bool again = !step.copies() && step.run->end_region(step.branch, std::move(status));
  if (StepListener* const listener = listener_of(step)) {
    const BranchId next = listener->step_ended(step.branch, again);
    if (next.valid()) begin_next(next, *listener);
  }
  let_go({&step, 1});
}

void AsyncSteps::begin_next(BranchId branch, StepListener& listener) noexcept {
  if (begins_next) return listener.leave_to_pool(branch);
  begins_next = true;
  const bool begun = run_.begin_region(branch);
  begins_next = false;
  if (!begun) listener.leave_to_pool(branch);
}

/// Returns the listener for this step, or null.
StepListener* AsyncSteps::listener_of(const Begun& step) const {
  const MutexLock lock(mutex_);
  return step.run == &run_ && !step.copies() ? listener_ : nullptr;
}

/// Declares that the calling thread no longer accesses the run, which may be destroyed from now on.
void AsyncSteps::let_go(std::span<const Begun> steps) noexcept {
  const MutexLock lock(mutex_);
  for (const Begun& step : steps) ending_.erase(std::ranges::find(ending_, step.run));
  changed_.notify_all();
}

void AsyncSteps::copied(BranchId number, const CopyOfValue& copy) noexcept {
  if (!traced_) return;
  const MutexLock lock(mutex_);
  const auto step = std::ranges::find(begun_, number, &Begun::number);
  if (step != begun_.end()) step->run->trace_copy(step->region, copy);
}

bool AsyncSteps::has_begun(BranchId number) const {
  const MutexLock lock(mutex_);
  return std::ranges::find(begun_, number, &Begun::number) != begun_.end();
}

/// Removes a pending step, which the caller must end before it calls let_go().
std::optional<AsyncSteps::Begun> AsyncSteps::take_begun(BranchId number) {
  const auto found = std::ranges::find(begun_, number, &Begun::number);
  if (found == begun_.end()) return std::nullopt;
  Begun step = std::move(*found);
  begun_.erase(found);
  ending_.push_back(step.run);  // add_begun() has reserved it
  return step;
}

/// Returns the memory that was kept for the device once it has answered every abandoned step.
std::unique_ptr<AsyncSteps::Memory> AsyncSteps::take_answered(BranchId number) {
  const bool last = std::erase(abandoned_, number) > 0 && abandoned_.empty();
  return last && memory_->lease ? std::move(memory_) : nullptr;
}

void AsyncSteps::abandon(Error error) noexcept {
  Abandoned abandoned;
  {
    const MutexLock lock(mutex_);
    abandoned.steps = take_all(std::move(error));
  }
  end_abandoned(abandoned);
}

/// Removes all pending steps; fails the run with `error` if there are any.
std::vector<AsyncSteps::Begun> AsyncSteps::take_all(Error error) {
  if (begun_.empty()) return {};
  const auto region = std::ranges::find_if(begun_, [](const Begun& s) { return !s.copies(); });
  // A cancellation concerns no particular node.
  if (error.code == ErrorCode::kCancelled || region == begun_.end()) {
    run_.fail(NodeId{}, std::move(error));
  } else {
    region->run->fail_branch(region->branch, std::move(error));
  }
  for (const Begun& step : begun_) {
    abandoned_.push_back(step.number);
    ending_.push_back(step.run);
  }
  return std::exchange(begun_, {});
}

void AsyncSteps::end_abandoned(const Abandoned& abandoned) noexcept {
  // Before the run ends: the caller's next run then finds the device's regions failed.
  if (abandoned.late) {
    const Begun& late = abandoned.steps.front();
    late.device->late(late.region, *abandoned.late);
  }
  for (const Begun& step : abandoned.steps)
    if (StepListener* const listener = listener_of(step))
      (void)listener->step_ended(step.branch, false);  // a failed run begins nothing
  let_go(abandoned.steps);
  for (const Begun& step : abandoned.steps) step.hook->call();
}

/// Removes all pending steps if one has exceeded its time; otherwise returns nullopt.
std::optional<AsyncSteps::Abandoned> AsyncSteps::take_late() {
  if (region_time_.count() == 0) return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  const auto step = std::ranges::find_if(begun_, [&](const Begun& s) { return s.until <= now; });
  if (step == begun_.end()) return std::nullopt;
  const double seconds = std::chrono::duration<double>(region_time_).count();
  Abandoned abandoned;
  abandoned.late = Error{Stage::kRun,
                         ErrorCode::kLimitExceeded,
                         {},
                         fmt::format("the delegate did not answer within {:g} s", seconds)};
  Error error = *abandoned.late;
  late_ = true;
  std::rotate(begun_.begin(), step, step + 1);  // the error of the run names it
  abandoned.steps = take_all(std::move(error));
  return abandoned;
}

void AsyncSteps::wait(const Deadline& deadline, const Run* only) {
  while (const std::optional<Abandoned> abandoned = wait_for(deadline, only))
    end_abandoned(*abandoned);
}

bool AsyncSteps::is_left(const Run* only) const {
  if (only == nullptr) return !begun_.empty() || !ending_.empty();
  return std::ranges::find(begun_, only, &Begun::run) != begun_.end() ||
         std::ranges::find(ending_, only) != ending_.end();
}

/// Waits. Returns the steps to abandon; nullopt if no step is pending.
std::optional<AsyncSteps::Abandoned> AsyncSteps::wait_for(const Deadline& deadline,
                                                          const Run* only) {
  const MutexLock lock(mutex_);
  // A caller that cancels the run abandons its steps.
  while (is_left(only)) {
    if (begun_.empty()) {  // other threads are ending their steps
      changed_.wait(mutex_);
      continue;
    }
    Deadline next = deadline;
    if (region_time_.count() > 0) {
      const auto first = std::ranges::min(begun_, {}, &Begun::until).until;
      next.time = std::min(deadline.time.value_or(first), first);
    }
    if (wait_within(next, mutex_, changed_)) continue;
    if (auto late = take_late()) return late;
    if (Status status = check_deadline(deadline); !status)
      return Abandoned{take_all(std::move(status).error())};
  }
  return std::nullopt;
}

std::optional<Deadline::Time> AsyncSteps::patience(const Deadline& deadline) const {
  if (region_time_.count() == 0) return deadline.time;
  // Steps begin while the caller sleeps: it checks for late ones eight times per time limit.
  const auto next = std::chrono::steady_clock::now() +
                    std::chrono::duration_cast<Deadline::Time::duration>(region_time_ / 8);
  return std::min(deadline.time.value_or(next), next);
}

void AsyncSteps::look(const Deadline& deadline) {
  if (Status status = check_deadline(deadline); !status) return abandon(std::move(status).error());
  std::optional<Abandoned> late;
  {
    const MutexLock lock(mutex_);
    late = take_late();
  }
  if (late) end_abandoned(*late);
}

void AsyncSteps::keep(RunMemory::Lease& lease, std::shared_ptr<const void> owner) {
  decltype(Memory::arenas) answered;  // freed without the mutex
  const MutexLock lock(mutex_);
  if (abandoned_.empty()) {
    // All devices answered while the run was being destroyed.
    answered = std::move(memory_->arenas);
    return lease.release(std::exchange(memory_->arena_bytes, 0));
  }
  memory_->owner = std::move(owner);
  memory_->lease.emplace(std::move(lease));
  memory_->lease->set_aside(memory_->arena_bytes);
}

void AsyncSteps::take_over(IdVector<BranchId, std::unique_ptr<DynamicArena>>& arenas) {
  const MutexLock lock(mutex_);
  if (abandoned_.empty()) return;
  for (const auto& arena : arenas)
    if (arena != nullptr) memory_->arena_bytes += arena->leave_pool();
  memory_->arenas = std::move(arenas);
}

}  // namespace parallax
