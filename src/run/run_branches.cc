// The executors: three orders in which to run the branches of a plan.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "run/run.h"

namespace parallax {
namespace {

/// The branches of one step, except those that a device runs.
class StepBranches final : public SharedWork {
 public:
  StepBranches(Run& run, const std::vector<BranchId>& branches) : run_(run), branches_(branches) {}
  void run(std::int64_t index, Participant& self) override {
    const BranchId branch = branches_[static_cast<std::size_t>(index)];
    if (!run_.on_device(branch)) (void)run_.run_branch(branch, self);
  }

 private:
  Run& run_;
  const std::vector<BranchId>& branches_;
};

/// All branches, in the order that their waits allow. An index is a ticket: the thread that takes
/// it runs the first of the ready branches, of which there are always at least as many as tickets.
/// While memory does not allow concurrent branches, ready branches get no ticket, and a thread that
/// ends a branch while others run gives up its ticket; the last thread continues alone. A branch
/// that a device runs needs a ticket only to begin; the thread that completes it issues the tickets
/// of the branches that waited for it.
class ReadyBranches final : public GrowingWork, public StepListener {
 public:
  /// Uses the parts of `buffers` that count branches.
  ReadyBranches(Run& run, const Program& program, RunBuffers& buffers)
      : run_(run),
        order_(program.order),
        nanoseconds_(program.branch_ns),
        waits_(buffers.waits.get()),
        left_(static_cast<std::int64_t>(order_.waits.size())),
        ready_(buffers.ready) {
    for (const BranchId branch : order_.waits.ids())
      waits_[static_cast<std::size_t>(branch.value)].store(order_.waits[branch],
                                                           std::memory_order_relaxed);
    for (const BranchId branch : order_.ready) push(order_.rank[branch]);
    tickets_ = run.allows_parallel() ? ready_.size() : std::min<std::size_t>(ready_.size(), 1);
    held_.store(ready_.size() - tickets_, std::memory_order_relaxed);
    if (run_.async_steps() != nullptr) run_.async_steps()->set_listener(this);
  }
  ~ReadyBranches() override {
    if (run_.async_steps() != nullptr) run_.async_steps()->set_listener(nullptr);
  }
  ReadyBranches(const ReadyBranches&) = delete;
  ReadyBranches& operator=(const ReadyBranches&) = delete;

  /// The number of tickets at first.
  std::int64_t tickets() const {
    const MutexLock lock(mutex_);
    return static_cast<std::int64_t>(tickets_);
  }

  void run(std::int64_t, Participant& self) override {
    std::int32_t rank = take();
    while (rank != kNone) {
      const BranchId branch = order_.by_rank[static_cast<std::size_t>(rank)];
      rank = run_.run_branch(branch, self) ? after(branch, self) : go_on_with(kNone, 0, 0, self);
    }
  }

  void begins(const Growth& growth) override { growth_ = growth; }
  bool finished() const override {
    if (left_.load() > 0) return false;
    if (run_.async_steps() != nullptr) run_.async_steps()->settle();  // `growth_` is no longer used
    return true;
  }
  std::optional<Deadline::Time> patience() const override {
    return run_.async_steps() == nullptr ? std::nullopt
                                         : run_.async_steps()->patience(run_.deadline());
  }
  void waited() override {
    if (run_.async_steps() != nullptr) run_.async_steps()->look(run_.deadline());
  }

  /// Called after a branch that a device ran, on any thread.
  BranchId step_ended(BranchId branch, bool again) override {
    const bool parallel = run_.allows_parallel();
    std::int32_t next = kNone;
    std::size_t more = 0;
    {
      const MutexLock lock(mutex_);
      std::size_t ready = 0;
      if (again) {
        push(order_.rank[branch]);
        ++ready;
      }
      for (const BranchId waiting : order_.waiting(branch)) {
        if (again || !is_last(waiting)) continue;
        std::int32_t rank = order_.rank[waiting];
        if (parallel && (next == kNone || rank < next) && run_.begins_anywhere(waiting))
          std::swap(rank, next);
        if (rank == kNone) continue;
        push(rank);
        ++ready;
      }
      more = hand_out(ready, parallel);
    }
    const bool last = !again && left_.fetch_sub(1) == 1;
    if (more > 0 || last) growth_.add(static_cast<std::int64_t>(more));
    return next == kNone ? BranchId{} : order_.by_rank[static_cast<std::size_t>(next)];
  }
  void leave_to_pool(BranchId branch) override {
    const bool parallel = run_.allows_parallel();
    std::size_t more = 0;
    {
      const MutexLock lock(mutex_);
      push(order_.rank[branch]);
      more = hand_out(1, parallel);
    }
    growth_.add(static_cast<std::int64_t>(more));
  }

 private:
  static constexpr std::int32_t kNone = -1;

  /// Issues tickets for `ready` more branches, which are in ready_, and for those without a ticket.
  /// Returns their number.
  std::size_t hand_out(std::size_t ready, bool parallel) PX_REQUIRES(mutex_) {
    ready += held_.load(std::memory_order_relaxed);
    const std::size_t more = parallel ? ready : std::min<std::size_t>(ready, tickets_ == 0 ? 1 : 0);
    tickets_ += more;
    held_.store(ready - more, std::memory_order_relaxed);
    return more;
  }

  /// Releases the branches that waited for `branch`. Returns the one that this thread runs next.
  std::int32_t after(BranchId branch, Participant& self) {
    std::int32_t next = kNone;
    std::size_t others = 0;
    double others_ns = 0;
    for (const BranchId waiting : order_.waiting(branch)) {
      if (!is_last(waiting)) continue;
      std::int32_t rank = order_.rank[waiting];
      if (next != kNone) {
        if (rank < next) std::swap(rank, next);
        const MutexLock lock(mutex_);
        push(rank);
        ++others;
        others_ns += nanoseconds_[order_.by_rank[static_cast<std::size_t>(rank)]];
      } else {
        next = rank;
      }
    }
    next = go_on_with(next, others, others_ns, self);
    if (left_.fetch_sub(1) == 1) self.finish();
    return next;
  }

  /// Counts down the waits of `waiting`. Returns whether this branch was the last it waited for.
  bool is_last(BranchId waiting) {
    return waits_[static_cast<std::size_t>(waiting.value)].fetch_sub(
               1, std::memory_order_acq_rel) == 1;
  }

  /// Returns the branch that this thread runs next if `others` have become ready as well as `next`.
  std::int32_t go_on_with(std::int32_t next, std::size_t others, double others_ns,
                          Participant& self) {
    return run_.allows_parallel() ? go_on(next, others, others_ns, self)
                                  : go_on_alone(next, others);
  }

  /// Returns the branch that this thread runs next. A thread that makes one branch ready continues
  /// with it, on the data in its cache, without a lock; unless ready branches precede it.
  std::int32_t go_on(std::int32_t next, std::size_t others, double others_ns, Participant& self) {
    const bool held = held_.load(std::memory_order_relaxed) > 0;
    const std::int32_t first = first_.load(std::memory_order_relaxed);
    if (next != kNone && others == 0 && !held && (first == kNone || first > next)) return next;
    std::int64_t more = 0;
    {
      const MutexLock lock(mutex_);
      others += held_.exchange(0, std::memory_order_relaxed);
      if (held) others_ns = kLong;
      if (next != kNone) {
        push(next);
      } else if (others > 0) {
        --others;
      } else {
        --tickets_;
        return kNone;
      }
      next = pop();
      tickets_ += others;
      more = static_cast<std::int64_t>(others);
    }
    if (more > 0) self.grow(more, others_ns);
    return next;
  }

  std::int32_t go_on_alone(std::int32_t next, std::size_t others) {
    const MutexLock lock(mutex_);
    if (next != kNone) push(next);
    std::size_t held = held_.load(std::memory_order_relaxed) + others + (next != kNone ? 1 : 0);
    if (tickets_ > 1 || held == 0) {
      --tickets_;
      next = kNone;
    } else {
      --held;
      next = pop();
    }
    held_.store(held, std::memory_order_relaxed);
    return next;
  }

  std::int32_t take() {
    const MutexLock lock(mutex_);
    return pop();
  }

  void push(std::int32_t rank) PX_REQUIRES(mutex_) {
    ready_.push_back(rank);
    std::push_heap(ready_.begin(), ready_.end(), std::greater<>{});
    first_.store(ready_.front(), std::memory_order_relaxed);
  }

  std::int32_t pop() PX_REQUIRES(mutex_) {
    std::pop_heap(ready_.begin(), ready_.end(), std::greater<>{});
    const std::int32_t rank = ready_.back();
    ready_.pop_back();
    first_.store(ready_.empty() ? kNone : ready_.front(), std::memory_order_relaxed);
    return rank;
  }

  Run& run_;
  const BranchOrder& order_;
  const IdVector<BranchId, double>& nanoseconds_;  // predicted, by branch
  std::atomic<std::int32_t>* const waits_;         // waits that are left, by branch
  std::atomic<std::int64_t> left_;                 // branches that are not done
  std::atomic<std::int32_t> first_{kNone};         // the first of ready_, perhaps outdated
  mutable Mutex mutex_;
  std::vector<std::int32_t>& ready_ PX_GUARDED_BY(mutex_);  // a heap of ranks
  // Tickets that are not taken yet, or whose holder runs branches.
  std::size_t tickets_ PX_GUARDED_BY(mutex_) = 0;
  // Ready branches without a ticket: changed with the mutex held, read without it.
  std::atomic<std::size_t> held_{0};
  Growth growth_;
};

}  // namespace

Status Run::run_branches(Participant& self) {
  switch (options_.scheduler) {
    case Scheduler::kDataflow:
      run_faster(self);
      break;
    case Scheduler::kLayers:
      run_layers(self);
      break;
    case Scheduler::kSequential:
      run_in_order(self);
      break;
  }
  // Wait for copies that no region needed.
  if (async_steps_ != nullptr) async_steps_->wait(deadline());
  return limits_->status();
}

void Run::run_faster(Participant& self) {
  if (!program_.order.concurrent) return run_in_order(self);
  if (async_steps_ != nullptr) return run_dataflow(self);
  if (program_.threads <= 1) return run_in_order(self);
  const SchedulerAutotuner::Order order = program_.faster.next();
  const std::int64_t start = now();
  if (order == SchedulerAutotuner::Order::kDataflow) {
    run_dataflow(self);
  } else {
    run_in_order(self);
  }
  if (!failed()) program_.faster.record(order, now() - start);
}

void Run::run_in_order(Participant& self) {
  for (const auto& step : program_.plan.steps) {
    for (const BranchId branch : step) {
      (void)allows_parallel();  // applies the current budget to allocations from now on
      run_and_wait(branch, self);
    }
  }
}

void Run::run_layers(Participant& self) {
  for (const auto& step : program_.plan.steps) {
    if (!allows_parallel()) {
      for (const BranchId branch : step) run_and_wait(branch, self);
      continue;
    }
    // Begin regions first: the device works concurrently with the CPU.
    if (async_steps_ != nullptr)
      for (const BranchId branch : step)
        if (on_device(branch)) (void)run_branch(branch, self);
    StepBranches branches(*this, step);
    self.share(WorkLevel::kBranches, static_cast<std::int64_t>(step.size()), branches);
    if (async_steps_ == nullptr) continue;
    async_steps_->wait(deadline());
    for (const BranchId branch : step)
      if (substitute_[branch] == Substitute::kWanted) (void)run_branch(branch, self);
  }
}

void Run::run_dataflow(Participant& self) {
  ReadyBranches branches(*this, program_, buffers_);
  double nanoseconds = 0;
  for (const BranchId branch : program_.order.ready) nanoseconds += program_.branch_ns[branch];
  self.share_growing(branches.tickets(), branches, nanoseconds);
}

}  // namespace parallax
