#include "run/outside_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "run/run.h"

namespace parallax {
namespace {

/// This thread has ended a step and begins the next.
thread_local bool begins_next = false;

}  // namespace

struct Completion::Step {
  Step(std::shared_ptr<OutsideSteps> steps_in, BranchId branch_in, Copies copies_in)
      : steps(std::move(steps_in)), branch(branch_in), copies(std::move(copies_in)) {}
  ~Step() {
    if (!called) complete(tl::unexpected(no_answer()));
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// The text is so short that a string needs no memory for it.
  static Error no_answer() { return {Stage::kExecute, ErrorCode::kInternal, {}, "no answer"}; }

  /// Whatever has become of the run: what this writes is kept until the step is complete.
  Status copy_back() const {
    try {
      for (const CopyBack& output : copies.outputs)
        PX_RETURN_IF_ERROR(copies.memory->read(output.to, output.from.get(), output.bytes));
    } catch (...) {
      return tl::unexpected(caught(Stage::kExecute));
    }
    return {};
  }

  /// The device's memory goes first: the run does not wait for the last copy of a Completion.
  void complete(Status status) noexcept {
    copies = {};
    steps->complete(branch, std::move(status));
  }

  const std::shared_ptr<OutsideSteps> steps;
  const BranchId branch;
  const std::shared_ptr<AbandonHook> hook = std::make_shared<AbandonHook>();
  Copies copies;
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

Completion::Completion(std::shared_ptr<OutsideSteps> steps, BranchId branch, Copies copies)
    : step_(std::make_shared<Step>(std::move(steps), branch, std::move(copies))) {}

void Completion::operator()(Status status) const {
  if (step_->called.exchange(true)) return;
  if (status) status = step_->copy_back();
  step_->complete(std::move(status));
}

void Completion::lost(Error error) const noexcept {
  if (step_->called.exchange(true)) return;
  step_->copies = {};
  step_->steps->lose(step_->branch, std::move(error));
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

void OutsideSteps::tell(StepListener* listener) {
  const MutexLock lock(mutex_);
  listener_ = listener;
}

/// REQUIRES: the run has not failed.
Completion OutsideSteps::add_begun(Run& run, BranchId branch, RegionId region, Device& device,
                                   Completion::Copies copies) {
  const bool is_own = branch.valid() && &run == &run_;
  const BranchId number = is_own ? branch : BranchId{next_number_--};
  // First what may throw: a Completion that goes without an answer takes the mutex.
  abandoned_.reserve(abandoned_.size() + begun_.size() + 1);
  hooks_.reserve(hooks_.size() + begun_.size() + 1);
  begun_.reserve(begun_.size() + 1);
  Completion done(shared_from_this(), number, std::move(copies));
  begun_.push_back({number, &run, branch, region, &device,
                    std::chrono::steady_clock::now() + region_time_, done.hook()});
  return done;
}

bool OutsideSteps::begin(Run& run, BranchId branch, Device& device, RegionRun region,
                         Completion::Copies copies) {
  std::optional<Completion> done;
  {
    const MutexLock lock(mutex_);
    // A thread that cancels a run stops it before it looks for steps here.
    if (run_.failed()) return false;
    done.emplace(add_begun(run, branch, region.region, device, std::move(copies)));
  }
  try {
    device.start(std::move(region), *done);
  } catch (...) {
    (*done)(tl::unexpected(caught(Stage::kExecute)));
  }
  return true;
}

void OutsideSteps::begin_copy(Run& run, RegionId region, Device& device, DeviceRun& of,
                              const RegionTensor& value) {
  std::optional<Completion> done;
  {
    const MutexLock lock(mutex_);
    if (run_.failed()) return;
    done.emplace(add_begun(run, BranchId{}, region, device, {}));
  }
  try {
    device.start_copy(of, value, *done);
  } catch (...) {
    (*done)(tl::unexpected(caught(Stage::kExecute)));
  }
}

void OutsideSteps::complete(BranchId number, Status status) noexcept {
  std::unique_ptr<Memory> memory;  // goes back without the mutex
  BranchId next;
  {
    const MutexLock lock(mutex_);
    if (const std::optional<Begun> step = take_begun(number)) {
      next = end_begun(*step, std::move(status));
    } else if (std::erase(abandoned_, number) > 0 && abandoned_.empty() && memory_->lease) {
      memory = std::move(memory_);
    }
  }
  if (next.valid()) begin_next(next);
}

/// What this thread is to begin. A device that answers at once does not begin all its regions one
/// inside the other.
BranchId OutsideSteps::end_begun(const Begun& step, Status status) {
  const bool again = !step.copies() && step.run->end_region(step.branch, std::move(status));
  const BranchId next = end(step, again);
  if (!next.valid()) return {};
  if (begins_next) {
    listener_->leave_to_pool(next);
    return {};
  }
  ++beginning_;
  return next;
}

/// To hand it to the pool would cost a thread that wakes and looks for it. The run goes on, and its
/// device stays, until `beginning_` is 0.
void OutsideSteps::begin_next(BranchId branch) noexcept {
  begins_next = true;
  const bool begun = run_.begin_region(branch);
  begins_next = false;
  const MutexLock lock(mutex_);
  if (!begun) listener_->leave_to_pool(branch);
  --beginning_;
  changed_.notify_all();
}

void OutsideSteps::lose(BranchId number, Error error) noexcept {
  {
    const MutexLock lock(mutex_);
    const auto step = std::ranges::find(begun_, number, &Begun::number);
    if (step != begun_.end()) {
      late_ = true;
      step->device->late(step->region, error);
      step->run->fail_branch(step->branch, error);
    }
  }
  complete(number, tl::unexpected(std::move(error)));
}

void OutsideSteps::copied(BranchId number, const CopyOfValue& copy) noexcept {
  if (!traced_) return;
  const MutexLock lock(mutex_);
  const auto step = std::ranges::find(begun_, number, &Begun::number);
  if (step != begun_.end()) step->run->trace_copy(step->region, copy);
}

bool OutsideSteps::has_begun(BranchId number) const {
  const MutexLock lock(mutex_);
  return std::ranges::find(begun_, number, &Begun::number) != begun_.end();
}

std::optional<OutsideSteps::Begun> OutsideSteps::take_begun(BranchId number) {
  const auto found = std::ranges::find(begun_, number, &Begun::number);
  if (found == begun_.end()) return std::nullopt;
  Begun step = std::move(*found);
  begun_.erase(found);
  return step;
}

BranchId OutsideSteps::end(const Begun& step, bool again) {
  BranchId next;
  if (listener_ != nullptr && step.run == &run_ && !step.copies())
    next = listener_->step_ended(step.branch, again);
  changed_.notify_all();
  return next;
}

void OutsideSteps::abandon(Error error) noexcept {
  {
    const MutexLock lock(mutex_);
    abandon_all(std::move(error));
  }
  call_hooks();
}

void OutsideSteps::call_hooks() noexcept {
  std::vector<std::shared_ptr<AbandonHook>> hooks;
  {
    const MutexLock lock(mutex_);
    hooks.swap(hooks_);
  }
  for (const auto& hook : hooks) hook->call();
}

void OutsideSteps::abandon_all(Error error) {
  if (begun_.empty()) return;
  const auto region = std::ranges::find_if(begun_, [](const Begun& s) { return !s.copies(); });
  // A caller who cancels the run does not mean a node.
  if (error.code == ErrorCode::kCancelled || region == begun_.end()) {
    run_.fail(NodeId{}, std::move(error));
  } else {
    region->run->fail_branch(region->branch, std::move(error));
  }
  while (!begun_.empty()) {
    Begun step = std::move(begun_.back());
    begun_.pop_back();
    hooks_.push_back(std::move(step.hook));
    abandoned_.push_back(step.number);
    (void)end(step, false);  // what has failed begins nothing
  }
}

/// True where a step has taken too long.
bool OutsideSteps::abandon_late() {
  if (region_time_.count() == 0) return false;
  const auto now = std::chrono::steady_clock::now();
  const auto step = std::ranges::find_if(begun_, [&](const Begun& s) { return s.until <= now; });
  if (step == begun_.end()) return false;
  const double seconds = std::chrono::duration<double>(region_time_).count();
  const Error error{Stage::kExecute,
                    ErrorCode::kLimitExceeded,
                    {},
                    fmt::format("the delegate gave no answer within {:g} s", seconds)};
  late_ = true;
  step->device->late(step->region, error);
  std::rotate(begun_.begin(), step, step + 1);  // the run ends with its name
  abandon_all(error);
  return true;
}

void OutsideSteps::wait(const Deadline& deadline, const Run* only) {
  wait_for(deadline, only);
  call_hooks();
}

bool OutsideSteps::is_left(const Run* only) const {
  if (only == nullptr) return !begun_.empty();
  return std::ranges::find(begun_, only, &Begun::run) != begun_.end();
}

void OutsideSteps::wait_for(const Deadline& deadline, const Run* only) {
  const MutexLock lock(mutex_);
  // A caller who cancels the run abandons its steps.
  while (is_left(only)) {
    Deadline next = deadline;
    if (region_time_.count() > 0) {
      const auto first = std::ranges::min(begun_, {}, &Begun::until).until;
      next.time = std::min(deadline.time.value_or(first), first);
    }
    if (wait_within(next, mutex_, changed_) || abandon_late()) continue;
    if (Status status = check_deadline(deadline); !status) abandon_all(std::move(status).error());
  }
}

std::optional<Deadline::Time> OutsideSteps::patience(const Deadline& deadline) const {
  if (region_time_.count() == 0) return deadline.time;
  // Steps begin while the caller sleeps: it looks for late ones eight times as often as one can be.
  const auto next = std::chrono::steady_clock::now() +
                    std::chrono::duration_cast<Deadline::Time::duration>(region_time_ / 8);
  return std::min(deadline.time.value_or(next), next);
}

void OutsideSteps::look(const Deadline& deadline) {
  if (Status status = check_deadline(deadline); !status) return abandon(std::move(status).error());
  bool late = false;
  {
    const MutexLock lock(mutex_);
    late = abandon_late();
  }
  if (late) call_hooks();
}

void OutsideSteps::keep(RunMemory::Lease& lease, std::shared_ptr<const void> owner) {
  decltype(Memory::arenas) answered;  // freed without the mutex
  const MutexLock lock(mutex_);
  if (abandoned_.empty()) {
    // They answered when the run was going.
    answered = std::move(memory_->arenas);
    return lease.release(std::exchange(memory_->arena_bytes, 0));
  }
  memory_->owner = std::move(owner);
  memory_->lease.emplace(std::move(lease));
  memory_->lease->set_aside(memory_->arena_bytes);
}

void OutsideSteps::take_over(IdVector<BranchId, std::unique_ptr<DynamicArena>>& arenas) {
  const MutexLock lock(mutex_);
  if (abandoned_.empty()) return;
  for (const auto& arena : arenas)
    if (arena != nullptr) memory_->arena_bytes += arena->leave_pool();
  memory_->arenas = std::move(arenas);
}

}  // namespace parallax
