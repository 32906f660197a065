// Runs a Program by one of three executors, each of which obeys Plan::waits:
//
//   sequential  one branch after the other, in the order of the plan's steps;
//   layers      the branches of a step at once, a barrier after each step;
//   dataflow    a branch as soon as those that it waits for are done, those with the most work left
//               behind them first. Where `waits` leave one order only, it is the sequential one.
//
// A branch runs node after node; threads without a branch take tiles of nodes that run elsewhere.
//
// Outputs have the same bits whatever the plan and the number of threads, because tiles depend on
// shapes only. Thread-safety: execute() may run the same Program several times at once, each call
// with a lease of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "execute/budget_watch.h"
#include "execute/deadline.h"
#include "execute/program.h"
#include "execute/run_memory.h"
#include "execute/worker_pool.h"
#include "parallax/options.h"
#include "parallax/report.h"

namespace parallax {

/// Says where graph output `output` goes: memory for a tensor of those dims, aligned to its element
/// size, valid until execute() returns. Called once per output, on the calling thread: before the
/// first node runs where dims are known by then, after the last one otherwise. Null is allowed
/// where there are no elements.
using PlaceOutput = std::function<Result<std::byte*>(int output, DType dtype, const Dims& dims)>;

struct ExecuteOptions {
  /// Overwrite memory before it is made and after it is dead, for tests.
  bool poison = false;
  RunTrace* trace = nullptr;
  /// Asked before branches start; null: the budget stays what it was.
  BudgetWatch* watch = nullptr;
  Scheduler scheduler = Scheduler::kDataflow;
  std::int64_t max_loop_trips = kDefaultLoopTrips;
  Deadline deadline = {};
};

/// `inputs`: one pointer per graph input, aligned to its element size. `lease` holds at least
/// program.bytes. Errors: of kernels and of data-dependent allocation, stage kExecute, with the
/// name of the node that failed first; nothing of the pool or the program is damaged by one.
Status execute(const Program& program, std::span<const std::byte* const> inputs,
               const PlaceOutput& place, WorkerPool& pool, RunMemory::Lease& lease,
               const ExecuteOptions& options);

}  // namespace parallax
